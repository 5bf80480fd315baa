//! Flows to `full-nat` targets: there with the edge's address, and back with the service's.

mod errors;
mod fragments;
mod ports;

use std::net::IpAddr;

use lb_common::{
    Address, Entry, FlowState, ForwardMode, Nat, Protocol, Target, Translation, Verdict, tick,
};
use lb_tests::datapath::{
    edge::{self, Edge, Ran, STATION, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{ACK, End, FIN, Packet, RST, SYN, syn, syn_v6},
};

use super::answers::error;

const SECOND: u64 = 1_000_000_000;

/// Where all frames of tests come from.
const CLIENT_STATION: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];

/// The edge and the backend, of the family of `packet`.
fn ends(packet: &Packet) -> [IpAddr; 2] {
    match packet.tuple().client.is_v4() {
        true => ["198.51.100.1", "198.51.100.9"].map(|it| it.parse().expect("an address")),
        false => ["2001:db8:1::1", "2001:db8:1::9"].map(|it| it.parse().expect("an address")),
    }
}

/// The target as one whose packets are translated, to this port.
pub(crate) fn translating(target: Target, packet: &Packet, port: u16) -> Target {
    let [edge, backend] = ends(packet).map(Address::from);
    Target {
        forward: ForwardMode::FULL_NAT,
        address: backend,
        nat: Nat {
            source: edge,
            port: port.to_be_bytes(),
            ..Nat::NONE
        },
        ..target
    }
}

/// An edge on which `packet` is for a service with one such target, which keeps the port.
pub(crate) fn edge(settings: &Settings, packet: &Packet) -> Edge {
    let mut edge = Edge::serving(settings, packet);
    edge.set_target(1, translating(edge::target(1), packet, 0));
    edge
}

/// The edge's port of the only translation.
fn only_port(edge: &Edge) -> u16 {
    let translations = edge.translations();
    let [(key, _)] = &translations[..] else {
        panic!("{translations:x?}")
    };
    key.port()
}

/// What the backend sends in answer to the only flow, which began with `packet`.
pub(crate) fn answer(edge: &Edge, packet: &Packet) -> Packet {
    let [ours, backend] = ends(packet);
    let answer = packet.clone().from((backend, 80));
    answer.to((ours, only_port(edge)))
}

/// The frame of a packet, as it leaves for this station.
fn leaving(packet: Packet, to: [u8; 6]) -> Vec<u8> {
    let mut frame = packet.station(to).bytes();
    frame[6..12].copy_from_slice(&STATION);
    frame
}

fn sent(frame: Vec<u8>) -> Ran {
    Ran {
        action: XDP_TX,
        frame,
    }
}

fn packets() -> [(&'static str, Packet); 4] {
    [
        ("v4 tcp", syn()),
        ("v4 udp", syn().udp()),
        ("v6 tcp", syn_v6()),
        ("v6 udp", syn_v6().udp()),
    ]
}

/// An extension header of eight bytes.
fn extension(next: u8) -> Vec<u8> {
    vec![next, 0, 1, 4, 0, 0, 0, 0]
}

fn packet_service(packet: &Packet) -> End {
    (
        packet.tuple().service.into(),
        packet.tuple().ports.service(),
    )
}

#[test]
fn every_shape_goes_there_and_comes_back_with_the_right_addresses_and_sums() {
    for (name, packet) in packets() {
        for backend_port in [0, 8080] {
            let [ours, backend] = ends(&packet);
            let mut edge = edge(&Settings::default(), &packet);
            let target = translating(edge::target(1), &packet, backend_port);
            edge.set_target(1, target);
            let client: End = (packet.tuple().client.into(), packet.tuple().ports.client());
            let service: End = (
                packet.tuple().service.into(),
                packet.tuple().ports.service(),
            );
            edge.run(&packet.bytes());
            let port = only_port(&edge);
            let there = (backend, if backend_port == 0 { 80 } else { backend_port });
            let first = packet.tuple().protocol.0;
            let shapes = [
                packet.clone(),
                packet.clone().flags(ACK).payload(1000),
                packet.clone().flags(ACK).payload(1).padded_to(90),
                packet.clone().flags(ACK).payload(1460 - 20),
                packet.clone().class(0xb9).label(0xfedcb).ttl(2),
                packet.clone().flags(ACK).tcp_options(12).payload(7),
                packet.clone().ip_options(40).class(0xff).flags(ACK | FIN),
                packet.clone().extensions(Some((60, extension(first)))),
            ];
            for (i, shape) in shapes.into_iter().enumerate() {
                let ttl = shape.bytes()[if packet.tuple().client.is_v4() {
                    22
                } else {
                    21
                }];
                let expected = shape.clone().from((ours, port)).to(there).ttl(ttl - 1);
                let expected = sent(leaving(expected, target.next_hop));
                let name = format!("{name}, shape {i}");
                assert_eq!(edge.run(&shape.bytes()), expected, "{name}");
                let answer = shape.clone().from(there).to((ours, port)).flags(ACK);
                let expected = shape.from(service).to(client).ttl(ttl - 1).flags(ACK);
                let expected = sent(leaving(expected, CLIENT_STATION));
                assert_eq!(edge.run(&answer.bytes()), expected, "{name}, back");
            }
            for verdict in [Verdict::Forwarded, Verdict::Returned] {
                let first = u64::from(verdict == Verdict::Forwarded);
                assert_eq!(edge.verdict(verdict).packets, 8 + first, "{name}");
            }
            assert_eq!(edge.service(WEB.id).packets, 9, "{name}");
            assert_eq!(edge.target(1).packets, 9, "{name}");
            assert_eq!(only_port(&edge), port, "{name}");
        }
    }
}

#[test]
fn case_17_a_wrong_sum_stays_wrong_and_a_datagram_without_one_has_none() {
    for (name, packet) in packets() {
        let edge = edge(&Settings::default(), &packet);
        let right = edge.run(&packet.bytes()).frame;
        let udp = packet.tuple().protocol == Protocol::UDP;
        let at = packet.bytes().len() - if udp { 2 } else { 4 };
        for wrong in [1, 0x8000_u16] {
            let [high, low] = wrong.to_be_bytes();
            let mut frame = packet.bytes();
            frame[at] ^= high;
            frame[at + 1] ^= low;
            let sent = edge.run(&frame).frame;
            assert_ne!(sent[at..at + 2], right[at..at + 2], "{name}");
            assert_eq!(sent[..at], right[..at], "{name}");
        }
        if udp {
            let mut frame = packet.bytes();
            frame[at..at + 2].fill(0);
            assert_eq!(edge.run(&frame).frame[at..at + 2], [0, 0], "{name}");
        }
    }
}

#[test]
fn a_segment_without_a_translation_is_told_so_and_makes_none() {
    for packet in [syn(), syn_v6()] {
        let edge = edge(&Settings::default(), &packet);
        for flags in [ACK, ACK | FIN] {
            let ran = edge.run(&packet.clone().flags(flags).bytes());
            assert_eq!(ran.action, XDP_TX);
            let tcp = ran.frame.len() - 20;
            assert_eq!(ran.frame[tcp + 13] & RST, RST, "a reset");
            assert_eq!(ran.frame[..6], CLIENT_STATION);
        }
        assert_eq!(edge.verdict(Verdict::Untranslated).packets, 2);
        let reset = edge.run(&packet.clone().flags(RST).bytes());
        assert_eq!(reset.action, XDP_DROP);
        assert_eq!(edge.verdict(Verdict::ReplySilent).packets, 1);
        assert_eq!(edge.translations(), []);
    }
}

#[test]
fn what_no_backend_answers_is_the_host_s() {
    for (name, packet) in packets() {
        let edge = edge(&Settings::default(), &packet);
        edge.run(&packet.bytes());
        let [ours, backend] = ends(&packet);
        let port = only_port(&edge);
        let answer = packet
            .clone()
            .from((backend, 80))
            .to((ours, port))
            .flags(ACK);
        let others = [
            answer.clone().to((ours, port ^ 1)),
            answer.clone().to((ours, 60_999)),
            answer.clone().to((backend, port)),
            answer.clone().from((backend, 81)),
            answer.clone().from((ours, 80)),
            answer.clone().station([2, 0, 0, 0, 0, 7]),
            answer.clone().protocol(Protocol(132)),
        ];
        for (i, other) in others.iter().enumerate() {
            let frame = other.bytes();
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}, {i}");
        }
        assert_eq!(edge.verdict(Verdict::NotOurs).packets, 7, "{name}");
        assert_eq!(edge.run(&answer.bytes()).action, XDP_TX, "{name}");
    }
}

#[test]
fn answers_end_a_flow_but_do_not_establish_it() {
    let packet = syn();
    let edge = edge(&Settings::default(), &packet);
    let [ours, backend] = ends(&packet);
    let state = || edge.translations()[0].1.state();
    edge.run(&packet.bytes());
    let port = only_port(&edge);
    let answer = |flags| {
        let answer = packet.clone().from((backend, 80)).to((ours, port));
        assert_eq!(edge.run(&answer.flags(flags).bytes()).action, XDP_TX);
    };
    answer(SYN | ACK);
    assert_eq!(state(), FlowState::OPENING);
    edge.run(&packet.clone().flags(ACK).bytes());
    assert_eq!(state(), FlowState::ESTABLISHED);
    answer(ACK | FIN);
    assert_eq!(state(), FlowState::CLOSING);
    edge.run(&packet.clone().flags(ACK).bytes());
    assert_eq!(state(), FlowState::CLOSING);
    edge.run(&packet.bytes());
    assert_eq!(
        state(),
        FlowState::OPENING,
        "the client's port is used anew"
    );
    assert_eq!(only_port(&edge), port);
}

#[test]
fn what_was_idle_for_too_long_is_not_returned() {
    let packet = syn().udp();
    let mut edge = edge(&Settings::default(), &packet);
    let [ours, backend] = ends(&packet);
    edge.run(&packet.bytes());
    let answer = packet.from((backend, 80)).to((ours, only_port(&edge)));
    for (ago, action) in [(119, XDP_TX), (121, XDP_PASS)] {
        let (key, translation) = edge.translations()[0];
        let then = edge::now().wrapping_sub(tick(ago * SECOND));
        let life = Entry::life(then, FlowState::DATAGRAM);
        edge.insert(
            "TRANSLATIONS",
            key,
            Translation {
                life,
                ..translation
            },
        );
        assert_eq!(edge.run(&answer.bytes()).action, action, "{ago}");
    }
}

#[test]
fn a_time_to_live_that_ends_here_is_told_to_the_client_alone() {
    for (name, packet) in packets() {
        let edge = edge(&Settings::default(), &packet);
        let frame = packet.clone().ttl(1).bytes();
        let expected = match packet.tuple().client.is_v4() {
            true => (11, 0, 0),
            false => (3, 0, 0),
        };
        assert_eq!(error(&frame, &edge.run(&frame)), expected, "{name}");
        assert_eq!(edge.translations(), [], "{name}");
        edge.run(&packet.bytes());
        let answer = answer(&edge, &packet);
        let ran = edge.run(&answer.flags(ACK).ttl(1).bytes());
        assert_eq!(ran.action, XDP_DROP, "{name}");
    }
}

#[test]
fn answers_follow_the_client_s_packets_to_another_router() {
    let packet = syn();
    let edge = edge(&Settings::default(), &packet);
    edge.run(&packet.bytes());
    let answer = answer(&edge, &packet);
    let mut moved = packet.flags(ACK).bytes();
    moved[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0xfd]);
    edge.run(&moved);
    let back = edge.run(&answer.flags(ACK).bytes());
    assert_eq!(back.frame[..6], [2, 0, 0, 0, 0, 0xfd]);
}
