//! One packet, one verdict, and what leaves.

use std::net::Ipv4Addr;

use lb_common::{Descriptor, FlowEvent, ForwardMode, Protocol, Target, VERDICTS, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, Ran, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{ACK, CLIENT, FIN, MORE_FRAGMENTS, Packet, RST, SERVICE, SYN, data, syn},
};

use super::answers::error;

/// A packet and what must become of it. What is neither forwarded nor answered must be as it came.
struct Case {
    name: &'static str,
    frame: Vec<u8>,
    verdict: Verdict,
}

fn case(name: &'static str, verdict: Verdict, packet: &Packet) -> Case {
    let frame = packet.bytes();
    Case {
        name,
        frame,
        verdict,
    }
}

/// Runs the case, and checks the action, the whole frame and every counter of verdicts and of the
/// service.
fn check(edge: &Edge, case: &Case, target: &Target) {
    let Case {
        name,
        frame,
        verdict,
    } = case;
    let counters = || VERDICTS.iter().map(|verdict| edge.verdict(*verdict));
    let mut expected: Vec<_> = counters().collect();
    let mut service = edge.service(WEB.id);
    let bytes = frame.len() as u64;
    expected[*verdict as usize].packets += 1;
    expected[*verdict as usize].bytes += bytes;
    let ran = edge.run(frame);
    let (action, out) = match verdict {
        Verdict::TooBig => {
            assert_eq!(error(frame, &ran), (3, 4, target.mtu.into()), "{name}");
            (XDP_TX, ran.frame.clone())
        }
        Verdict::TtlExpired => {
            assert_eq!(error(frame, &ran), (11, 0, 0), "{name}");
            (XDP_TX, ran.frame.clone())
        }
        Verdict::NotOurs => (XDP_PASS, frame.clone()),
        Verdict::Forwarded => (XDP_TX, edge::forwarded(frame, target)),
        _ => (XDP_DROP, frame.clone()),
    };
    if !matches!(verdict, Verdict::NotOurs | Verdict::FragmentUnknown) {
        service.packets += 1;
        service.bytes += bytes;
    }
    assert_eq!(ran, Ran { action, frame: out }, "{name}");
    assert_eq!(counters().collect::<Vec<_>>(), expected, "{name}");
    assert_eq!(edge.service(WEB.id), service, "{name}");
}

#[test]
fn packets_to_the_service_are_forwarded_whatever_their_shape() {
    let edge = Edge::with_web(&Settings::default());
    let cases = [
        ("SYN", syn()),
        ("SYN-ACK", syn().flags(SYN | ACK)),
        ("ACK", data()),
        ("FIN", syn().flags(FIN | ACK)),
        ("RST", syn().flags(RST)),
        ("no flag", syn().flags(0)),
        ("payload", data().payload(1460)),
        ("IP options", data().ip_options(4)),
        ("all IP options", data().ip_options(40)),
        ("TCP options", data().tcp_options(12)),
        (
            "all options",
            data().ip_options(40).tcp_options(40).payload(7),
        ),
        ("padding", syn().padded_to(60)),
        ("the reserved flag of IP", syn().fragment(0x8000)),
        ("do not fragment", syn().fragment(0x4000)),
    ];
    let mut bytes = 0;
    for (name, packet) in &cases {
        let case = case(name, Verdict::Forwarded, packet);
        check(&edge, &case, &edge::target(1));
        bytes += case.frame.len() as u64;
    }
    let counter = edge.target(1);
    assert_eq!(
        (counter.packets, counter.bytes),
        (cases.len() as u64, bytes)
    );
}

#[test]
fn everything_else_passes_untouched() {
    let edge = Edge::with_web(&Settings::default());
    let elsewhere = (Ipv4Addr::new(203, 0, 113, 11).into(), 80);
    for (name, packet) in [
        ("other port", syn().to((SERVICE.0, 81))),
        ("other address", syn().to(elsewhere)),
        ("from the service", syn().from(SERVICE).to(CLIENT)),
        (
            "first fragment elsewhere",
            syn().to(elsewhere).fragment(MORE_FRAGMENTS),
        ),
        ("last fragment elsewhere", syn().to(elsewhere).fragment(5)),
        ("UDP to the service's port", syn().udp()),
        ("ICMP", syn().protocol(Protocol(1))),
        ("fragment of ICMP", syn().protocol(Protocol(1)).fragment(5)),
        ("ARP", syn().ether_type(Some(0x0806))),
        ("another version", syn().ether_type(Some(0x86dd))),
    ] {
        check(&edge, &case(name, Verdict::NotOurs, &packet), &Target::FREE);
    }
    for (name, frame) in [
        ("zeros", vec![0; 64]),
        ("ones", vec![0xff; 64]),
        ("an Ethernet header alone", vec![0x08; 14]),
    ] {
        let verdict = Verdict::NotOurs;
        check(
            &edge,
            &Case {
                name,
                frame,
                verdict,
            },
            &Target::FREE,
        );
    }
    assert_eq!(edge.entries(), []);
}

#[test]
fn a_frame_for_another_station_passes_untouched_and_leaves_no_trace() {
    let edge = Edge::with_web(&Settings::default());
    let flooded = |packet: Packet| packet.station([2, 0, 0, 0, 0, 2]);
    let cases = || {
        [
            ("SYN", syn()),
            ("data", data()),
            ("RST", syn().flags(RST)),
            ("too big", data().payload(1461)),
            ("TTL 1", data().ttl(1)),
        ]
        .map(|(name, packet)| case(name, Verdict::NotOurs, &flooded(packet)))
    };
    for case in cases() {
        check(&edge, &case, &Target::FREE);
    }
    assert_eq!(edge.entries(), []);
    check(
        &edge,
        &case("to the edge", Verdict::Forwarded, &syn()),
        &edge::target(1),
    );
    let entry = edge.only_entry();
    for case in cases() {
        check(&edge, &case, &Target::FREE);
    }
    assert_eq!(edge.only_entry(), entry);
    assert_eq!(edge.target(1).packets, 1);
}

/// The kernel runs no frame that is shorter than an Ethernet header.
#[test]
fn a_packet_cut_at_any_length_passes_untouched() {
    let edge = Edge::with_web(&Settings::default());
    let packet = syn().ip_options(8).tcp_options(12).payload(30);
    let whole = packet.bytes();
    for length in 14..whole.len() {
        let ran = edge.run(&whole[..length]);
        let frame = whole[..length].to_vec();
        let passed = Ran {
            action: XDP_PASS,
            frame,
        };
        assert_eq!(ran, passed, "cut at {length}");
    }
    assert_eq!(edge.run(&whole).action, XDP_TX);
}

#[test]
fn case_1_a_packet_larger_than_the_way_out_is_answered_by_the_mtu() {
    let edge = Edge::with_web(&Settings::default());
    let of_length = |length: usize| syn().payload(length - 40);
    let target = edge::target(1);
    check(
        &edge,
        &case("1501", Verdict::TooBig, &of_length(1501)),
        &target,
    );
    assert_eq!(edge.entries(), [], "a packet that is not sent has no flow");
    for bits in [0x4000, 0x8000] {
        let packet = of_length(1600).fragment(bits);
        check(&edge, &case("1600", Verdict::TooBig, &packet), &target);
    }
    check(
        &edge,
        &case("1500", Verdict::Forwarded, &of_length(1500)),
        &target,
    );
    check(
        &edge,
        &case("1501 of a known flow", Verdict::TooBig, &of_length(1501)),
        &target,
    );
}

#[test]
fn case_2_a_packet_goes_one_hop_further_and_none_leaves_without_time_to_live() {
    let edge = Edge::with_web(&Settings::default());
    for (name, ttl, verdict) in [
        ("TTL 0", 0, Verdict::TtlExpired),
        ("TTL 1", 1, Verdict::TtlExpired),
        ("TTL 2", 2, Verdict::Forwarded),
        ("TTL 255", 255, Verdict::Forwarded),
        ("TTL 1 of a known flow", 1, Verdict::TtlExpired),
    ] {
        for packet in [syn(), syn().ip_options(40)] {
            check(
                &edge,
                &case(name, verdict, &packet.ttl(ttl)),
                &edge::target(1),
            );
        }
    }
    assert_eq!(
        edge.events(FlowEvent::Miss),
        2 + 2 + 1,
        "none is remembered"
    );
}

#[test]
fn a_service_without_an_answer_drops() {
    let mut edge = Edge::with_web(&Settings::default());
    edge.set("RINGS", WEB.row.first(), Descriptor::NO_ANSWER);
    check(
        &edge,
        &case("no ring", Verdict::NoAnswer, &syn()),
        &Target::FREE,
    );
}

#[test]
fn a_target_without_a_next_hop_drops_and_remembers_no_flow() {
    let mut edge = Edge::with_web(&Settings::default());
    let unresolved = Target {
        next_hop: [0; 6],
        ..edge::target(1)
    };
    edge.set_target(1, unresolved);
    check(
        &edge,
        &case("no next hop", Verdict::NoNextHop, &syn()),
        &unresolved,
    );
    assert_eq!(edge.entries(), []);
}

#[test]
fn tables_that_contradict_each_other_drop() {
    let target = edge::target(1);
    for (name, id, target) in [
        ("slot 0", 0, target),
        ("free id", 2, Target::FREE),
        (
            "no identity",
            2,
            Target {
                identity: 0,
                ..target
            },
        ),
        ("id behind the table", 5000, Target::FREE),
        ("target of another group", 2, Target { group: 8, ..target }),
        (
            "unknown forward mode",
            2,
            Target {
                forward: ForwardMode(9),
                ..target
            },
        ),
    ] {
        let mut edge = Edge::with_web(&Settings::default());
        if id < 4096 {
            edge.set_target(id, target);
        }
        edge.set_ring(WEB.row, 0, &[id; 10]);
        check(&edge, &case(name, Verdict::NoTarget, &syn()), &target);
        assert_eq!(edge.entries(), [], "{name}");
    }
    for (name, descriptor) in [
        ("ring behind the pool", Descriptor::new(1 << 24, 10)),
        (
            "ring at the end of numbers",
            Descriptor::new(u32::MAX, u32::MAX),
        ),
    ] {
        let mut edge = Edge::with_web(&Settings::default());
        edge.set("RINGS", WEB.row.first(), descriptor);
        check(&edge, &case(name, Verdict::NoTarget, &syn()), &Target::FREE);
    }
}
