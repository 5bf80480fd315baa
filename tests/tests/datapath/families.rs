//! Both families, both protocols and both ways to forward, through one table of cases.

use lb_common::{
    Descriptor, FlowEvent, FlowState, Outer, Protocol, Row, Service, Target, TargetState, Verdict,
};
use lb_tests::datapath::{
    edge::{self, Edge, Ran, Settings, Through, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    narrow::Narrow,
    packet::{ACK, FIN, MORE_FRAGMENTS, Packet, RST, SERVICE, SERVICE_V6, SYN, syn, syn_v6},
};

use super::answers::error;

/// A packet of each family and protocol, with how far a target is.
fn ways() -> Vec<(String, Packet, Through)> {
    let packets = [
        ("v4 tcp", syn()),
        ("v4 udp", syn().udp()),
        ("v6 tcp", syn_v6()),
        ("v6 udp", syn_v6().udp()),
    ];
    let with = |(name, packet): (&str, Packet)| {
        edge::THROUGH.map(|(mode, through)| (format!("{name} {mode}"), packet.clone(), through))
    };
    packets.into_iter().flat_map(with).collect()
}

/// An edge on which `packet` is for a service with one target.
fn edge(packet: &Packet, target: Target) -> Edge {
    let mut edge = Edge::serving(&Settings::default(), packet);
    edge.set_target(1, target);
    edge
}

fn is_v4(packet: &Packet) -> bool {
    packet.bytes()[14] >> 4 == 4
}

/// An extension header of eight bytes.
fn extension(next: u8) -> Vec<u8> {
    vec![next, 0, 1, 4, 0, 0, 0, 0]
}

#[test]
fn every_shape_leaves_as_the_mode_says_and_counts() {
    for (name, packet, through) in ways() {
        let target = through(edge::target(1));
        let edge = edge(&packet, target);
        let first = packet.tuple().protocol.0;
        let shapes = [
            packet.clone(),
            packet.clone().flags(ACK).payload(1000),
            packet.clone().flags(ACK | FIN).payload(1).padded_to(90),
            packet.clone().class(0xb9).label(0xfedcb).ttl(2),
            packet.clone().flags(RST).tcp_options(12),
            packet.clone().ip_options(40).class(0xff),
            packet.clone().extensions(Some((60, extension(first)))),
        ];
        let mut bytes = 0;
        for (i, shape) in shapes.iter().enumerate() {
            let frame = shape.bytes();
            let expected = Ran {
                action: XDP_TX,
                frame: edge::forwarded(&frame, &target),
            };
            assert_eq!(edge.run(&frame), expected, "{name}, shape {i}");
            bytes += frame.len() as u64;
        }
        for counter in [
            edge.verdict(Verdict::Forwarded),
            edge.service(WEB.id),
            edge.target(1),
        ] {
            assert_eq!((counter.packets, counter.bytes), (7, bytes), "{name}");
        }
        assert_eq!(edge.events(FlowEvent::Miss), 1, "{name}");
        assert_eq!(edge.events(FlowEvent::Hit), 6, "{name}");
    }
}

#[test]
fn what_can_not_be_sent_is_told_or_dropped_as_it_came_under_its_own_verdict() {
    for (name, packet, through) in ways() {
        let target = through(edge::target(1));
        let mut edge = edge(&packet, target);
        let headers = packet.bytes().len() - 14;
        let full = usize::from(target.mtu) - headers;
        assert_eq!(
            edge.run(&packet.clone().payload(full).bytes()).action,
            XDP_TX
        );
        let no_next_hop = Target {
            next_hop: [0; 6],
            ..target
        };
        let (too_big, expired) = match is_v4(&packet) {
            true => ((3, 4, target.mtu.into()), (11, 0, 0)),
            false => ((2, 0, target.mtu.into()), (3, 0, 0)),
        };
        for (packet, verdict, expected) in [
            (packet.clone().payload(full + 1), Verdict::TooBig, too_big),
            (packet.clone().ttl(1), Verdict::TtlExpired, expired),
            (packet.clone().ttl(0), Verdict::TtlExpired, expired),
        ] {
            let before = edge.verdict(verdict).packets;
            let frame = packet.bytes();
            let told = error(&frame, &edge.run(&frame));
            assert_eq!(told, expected, "{name} {verdict:?}");
            assert_eq!(edge.verdict(verdict).packets, before + 1, "{name}");
        }
        edge.set_target(1, no_next_hop);
        let frame = packet.bytes();
        let action = XDP_DROP;
        assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}");
        assert_eq!(edge.verdict(Verdict::NoNextHop).packets, 1, "{name}");
    }
}

#[test]
fn without_room_for_the_growth_a_packet_is_dropped_and_others_go_on() {
    let frame = |packet: &Packet| packet.clone().padded_to(Narrow::LENGTH).bytes();
    let mut narrow = Narrow::load();
    for (name, packet, through) in ways() {
        let target = through(edge::target(1));
        let edge = edge(&packet, target);
        // An IPv4 header and no more.
        let fits = target.mtu >= 1480;
        for known in 0..2 {
            let frame = frame(&packet);
            let ran = narrow.run(&edge, &frame);
            if fits {
                let frame = edge::forwarded(&frame, &target);
                let action = XDP_TX;
                assert_eq!(ran, Ran { action, frame }, "{name}");
            } else {
                assert_eq!(ran.action, XDP_DROP, "{name}");
                assert_eq!(edge.verdict(Verdict::NoHeadroom).packets, known + 1);
                assert_eq!(edge.target(1).packets, 0, "{name}");
            }
        }
        assert_eq!(edge.events(FlowEvent::Miss), 1, "{name}");
    }
}

/// The outer checksum is made from a sum that the daemon has worked out: every source shows it.
#[test]
fn the_outer_header_holds_the_source_that_the_target_names() {
    let packet = syn();
    let mut edge = edge(&packet, edge::target(1));
    for last in 0..=255 {
        let source = [last, 255 - last, last, 0xff];
        let backend = [10, 1, 0, 9];
        let target = Target {
            outer: Outer::v4(source, backend),
            ..edge::through_v4(edge::target(1))
        };
        edge.set_target(1, target);
        let frame = edge.run(&packet.bytes()).frame;
        assert_eq!(frame[26..34], [source, backend].concat());
        let words = frame[14..34].as_chunks().0.iter().copied();
        let sum: u32 = words.map(u16::from_be_bytes).map(u32::from).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{source:?}");
    }
}

#[test]
fn everything_else_passes_untouched_in_both_families() {
    for packet in [syn(), syn().udp(), syn_v6(), syn_v6().udp()] {
        let edge = edge(&packet, edge::target(1));
        let end = if is_v4(&packet) { SERVICE } else { SERVICE_V6 };
        let other_protocol = match packet.tuple().protocol {
            Protocol::TCP => packet.clone().udp(),
            _ => packet.clone().protocol(Protocol::TCP),
        };
        let (hidden, nothing) = (Protocol(58), Protocol(59));
        for (name, packet) in [
            ("other port", packet.clone().to((end.0, 81))),
            ("other protocol", other_protocol),
            ("ICMPv6", packet.clone().protocol(hidden)),
            ("nothing", packet.clone().protocol(nothing)),
            (
                "another station",
                packet.clone().station([2, 9, 9, 9, 9, 9]),
            ),
            ("multicast", packet.clone().station([1, 0, 0x5e, 0, 0, 1])),
            ("broadcast", packet.clone().station([0xff; 6])),
            ("VLAN", packet.clone().ether_type(Some(0x8100))),
        ] {
            let frame = packet.bytes();
            let passed = Ran {
                action: XDP_PASS,
                frame: frame.clone(),
            };
            assert_eq!(edge.run(&frame), passed, "{name}");
        }
        assert_eq!(edge.verdict(Verdict::NotOurs).packets, 8);
        assert_eq!(edge.entries(), []);
    }
}

#[test]
fn what_is_a_fragment_is_told_in_both_families() {
    let v6 = |next, word: u16| {
        let [high, low] = word.to_be_bytes();
        syn_v6().extensions(Some((44, vec![next, 0, high, low, 0, 0, 0, 7])))
    };
    for (packet, verdict) in [
        (syn().fragment(MORE_FRAGMENTS), Verdict::Forwarded),
        (syn().udp().fragment(5), Verdict::FragmentUnknown),
        (v6(6, 1), Verdict::Forwarded),
        (v6(17, 8), Verdict::FragmentUnknown),
        (v6(60, 1), Verdict::FragmentUnknown),
        (v6(60, 8), Verdict::FragmentUnknown),
        (v6(58, 1), Verdict::NotOurs),
        (v6(6, 0), Verdict::Forwarded),
        (v6(6, 1).to((CLIENT_OF_NOTHING, 80)), Verdict::NotOurs),
    ] {
        let service = if is_v4(&packet) { syn() } else { syn_v6() };
        let edge = edge(&service, edge::target(1));
        edge.run(&packet.bytes());
        assert_eq!(edge.verdict(verdict).packets, 1, "{verdict:?}");
    }
}

/// 2001:db8:1::1, which has no service.
const CLIENT_OF_NOTHING: std::net::IpAddr =
    std::net::IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1));

/// The kernel runs no frame that is shorter than an Ethernet header.
#[test]
fn a_packet_cut_at_any_length_passes_untouched_in_both_families() {
    let walked = [extension(60), extension(17)].concat();
    for packet in [
        syn().udp().payload(20),
        syn_v6().payload(20),
        syn_v6().udp().payload(20).extensions(Some((0, walked))),
    ] {
        let edge = edge(&packet, edge::target(1));
        let whole = packet.bytes();
        for length in 14..whole.len() {
            let ran = edge.run(&whole[..length]);
            assert_eq!((ran.action, &ran.frame[..]), (XDP_PASS, &whole[..length]));
        }
        assert_eq!(edge.run(&whole).action, XDP_TX);
    }
}

#[test]
fn udp_leaves_a_dead_target_at_once_and_tcp_stays() {
    for (packet, moves) in [
        (syn().flags(ACK), false),
        (syn().udp(), true),
        (syn_v6().flags(ACK), false),
        (syn_v6().udp(), true),
    ] {
        let mut edge = edge(&packet, edge::target(1));
        assert_eq!(edge.backend(&packet), Some(1));
        edge.set_target(2, edge::target(2));
        edge.set_ring(WEB.row, 200, &[2; 10]);
        for (state, left) in [
            (TargetState::TAKES_NEW, false),
            (0, false),
            (TargetState::DEAD, moves),
        ] {
            let state = TargetState(state);
            edge.set_target(
                1,
                Target {
                    state,
                    ..edge::target(1)
                },
            );
            let expected = if left { 2 } else { 1 };
            assert_eq!(edge.backend(&packet), Some(expected), "{state:?}");
        }
        assert_eq!(edge.events(FlowEvent::Left), u64::from(moves));
        // One packet proves nothing, where the flow goes now either.
        edge.backend(&packet);
        let (_, entry) = edge.only_entry();
        let udp = packet.tuple().protocol == Protocol::UDP;
        assert_eq!(entry.state() == FlowState::DATAGRAM, udp);
    }
}

#[test]
fn flows_that_differ_in_family_protocol_or_end_are_told_apart() {
    let packets = [syn(), syn().udp(), syn_v6(), syn_v6().udp()];
    let mut edge = Edge::load(&Settings::default());
    edge.set_target(1, edge::target(1));
    edge.set_ring(WEB.row, 100, &[1; 10]);
    for (count, packet) in packets.iter().enumerate() {
        // Each of them alone, for a port has one element for both protocols.
        let address = packet.tuple().service;
        edge.publish(packet, Service { address, ..WEB });
        for flags in [SYN, ACK] {
            assert_eq!(edge.backend(&packet.clone().flags(flags)), Some(1));
        }
        assert_eq!(edge.entries().len(), count + 1);
    }
}

/// The port names the first of them, and the others are found by their address.
#[test]
fn services_that_share_a_port_are_told_apart_by_their_address() {
    let packets = [syn(), syn_v6(), syn().to((OTHER_ADDRESS, 80))];
    let mut edge = Edge::load(&Settings::default());
    for (id, packet) in (1..).zip(&packets) {
        let service = Service {
            address: packet.tuple().service,
            group: id,
            id,
            row: Row::new(id, 1),
        };
        let group = id;
        let target = edge::target(id as u8);
        edge.publish(packet, service);
        edge.set_target(id as u16, Target { group, ..target });
        edge.set_ring(service.row, 64 * id, &[id as u16; 64]);
    }
    for _ in ["new", "known"] {
        for (id, packet) in (1..).zip(&packets) {
            assert_eq!(edge.backend(packet), Some(id));
        }
    }
    let neither = syn_v6().to((CLIENT_OF_NOTHING, 80));
    assert_eq!(edge.backend(&neither), None);
    assert_eq!(edge.verdict(Verdict::NotOurs).packets, 1);
}

const OTHER_ADDRESS: std::net::IpAddr =
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 99));

#[test]
fn edges_agree_on_the_slot_of_a_flow_of_ipv6() {
    let mut edge = edge(&syn_v6(), edge::target(1));
    edge.set_target(2, edge::target(2));
    let slots: Vec<u16> = (0..997).map(|slot| slot % 2 + 1).collect();
    edge.set_ring(WEB.row, 0, &slots);
    let key = edge::control(&Settings::default()).ring_key;
    for packet in [syn_v6(), syn_v6().udp()] {
        let service = Service {
            address: packet.tuple().service,
            ..WEB
        };
        edge.publish(&packet, service);
        for port in 1..500 {
            let packet = packet.clone().from((CLIENT_OF_NOTHING, port));
            let slot = Descriptor::new(0, 997).slot(&packet.tuple(), &key);
            let chosen = slots[slot as usize] as u8;
            assert_eq!(edge.backend(&packet), Some(chosen), "port {port}");
        }
    }
}
