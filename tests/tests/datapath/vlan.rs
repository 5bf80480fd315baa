//! VLAN tags in and out, targets that leave by another interface, and those that are the edge itself.

use lb_common::{Exit, ForwardMode, Station, Tags, Target, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, LOOPBACK, Ran, Settings, WEB, XDP_DROP, XDP_PASS, XDP_REDIRECT, XDP_TX},
    packet::{ACK, FIN, MORE_FRAGMENTS, Packet, RST, syn, syn_v6},
};

use super::{
    control::message,
    fragments::fragment,
    full_nat::{self, answer, translating},
};

const CUSTOMER: [u8; 4] = [0x81, 0, 0, 10];
const PROVIDER: [u8; 4] = [0x88, 0xa8, 0x01, 0x2c];
/// With the highest priority, and the mark of what may be dropped.
const URGENT: [u8; 4] = [0x81, 0, 0xf0, 10];

/// All combinations of tags that are taken off.
fn all_tags() -> [Vec<u8>; 5] {
    [
        CUSTOMER.to_vec(),
        PROVIDER.to_vec(),
        URGENT.to_vec(),
        [PROVIDER, CUSTOMER].concat(),
        [CUSTOMER, URGENT].concat(),
    ]
}

fn tagged(frame: &[u8], tags: &[u8]) -> Vec<u8> {
    [&frame[..12], tags, &frame[12..]].concat()
}

fn packets() -> [Packet; 4] {
    [syn(), syn().udp(), syn_v6(), syn_v6().udp()]
}

/// The target in a VLAN, or in one within a provider's.
fn in_vlans(target: Target, outer: Option<u16>, vlan: u16) -> Target {
    let inner = Tags::single(Tags::CUSTOMER, vlan);
    let tags = match outer {
        None => inner,
        Some(outer) => inner
            .within(Tags::single(Tags::PROVIDER, outer))
            .expect("two"),
    };
    Target {
        forward: target.forward.elsewhere(),
        exit: Exit { tags, ..Exit::SAME },
        ..target
    }
}

fn by(target: Target, interface: u32) -> Target {
    Target {
        forward: target.forward.elsewhere(),
        exit: Exit {
            interface,
            ..target.exit
        },
        ..target
    }
}

fn edge_with(packet: &Packet, target: Target) -> Edge {
    let mut edge = Edge::serving(&Settings::default(), packet);
    edge.set_target(1, target);
    edge
}

#[test]
fn tags_are_taken_off_and_a_target_gets_those_that_it_is_to_have() {
    for packet in packets() {
        let mut edge = edge_with(&packet, edge::target(1));
        for (mode, through) in edge::THROUGH {
            let plain = through(edge::target(1));
            let frames = [
                packet.bytes(),
                packet.clone().flags(ACK).payload(700).bytes(),
                packet.clone().flags(ACK | FIN).padded_to(100).bytes(),
            ];
            let mut came = all_tags().to_vec();
            came.push(Vec::new());
            for came in &came {
                let priority = came.get(2).map_or(0, |byte| byte & 0xf0);
                let one = [0x81, 0, priority, 200];
                let two = [[0x88, 0xa8, priority | 0x0f, 0xfe], [0x81, 0, 0, 200]].concat();
                for (target, leaves) in [
                    (plain, &[][..]),
                    (in_vlans(plain, None, 200), &one),
                    (in_vlans(plain, Some(4094), 200), &two),
                    (by(in_vlans(plain, None, 200), LOOPBACK), &one),
                ] {
                    edge.set_target(1, target);
                    for frame in &frames {
                        let ran = edge.run(&tagged(frame, came));
                        let expected = tagged(&edge::forwarded(frame, &plain), leaves);
                        assert_eq!(ran.action, XDP_TX, "{mode}, {came:x?}, {leaves:x?}");
                        assert_eq!(ran.frame, expected, "{mode}, {came:x?}, {leaves:x?}");
                    }
                }
            }
        }
        assert_eq!(edge.verdict(Verdict::Forwarded).packets, 5 * 6 * 4 * 3);
        assert_eq!(edge.entries().len(), 1, "tags are no part of a flow");
    }
}

#[test]
fn what_is_not_ours_keeps_its_tags() {
    let edge = edge_with(&syn(), edge::target(1));
    let mut arp = syn().station([0xff; 6]).padded_to(60).bytes();
    arp[12..14].copy_from_slice(&[8, 6]);
    let frames = [
        syn().to((syn().tuple().service.into(), 81)).bytes(),
        syn_v6().bytes(),
        syn().station([2, 0, 0, 0, 0, 9]).bytes(),
        syn().station([0xff; 6]).bytes(),
        arp,
        syn().bytes()[..30].to_vec(),
        syn().bytes()[..14].to_vec(),
    ];
    let three = [PROVIDER, CUSTOMER, CUSTOMER].concat();
    for frame in &frames {
        for tags in all_tags().iter().chain([&three, &vec![0x91, 0, 0, 1]]) {
            let frame = tagged(frame, tags);
            let expected = Ran {
                action: XDP_PASS,
                frame: frame.clone(),
            };
            assert_eq!(edge.run(&frame), expected, "{tags:x?}");
        }
    }
    let whole = tagged(&syn().bytes(), &three);
    assert_eq!(edge.run(&whole).action, XDP_PASS, "three tags");
    assert_eq!(edge.entries(), []);
    assert_eq!(edge.verdict(Verdict::Forwarded).packets, 0);
}

#[test]
fn replies_go_back_with_the_tags_that_they_answer() {
    for packet in packets() {
        let mut edge = edge_with(&packet, edge::target(1));
        let tuple = packet.tuple();
        let is_v4 = tuple.client.is_v4();
        let octets = |it| super::control::octets(it, is_v4);
        let echo = message(
            &octets(tuple.client),
            &octets(tuple.service),
            [if is_v4 { 8 } else { 128 }, 0],
            7,
            &[1, 2, 3, 4],
        );
        let data = packet.clone().flags(ACK);
        let small = Target {
            mtu: 600,
            ..edge::target(1)
        };
        for target in [small, in_vlans(small, None, 200)] {
            edge.set_target(1, target);
            let cases = [
                (Verdict::EchoAnswered, echo.clone()),
                (Verdict::TooBig, data.clone().payload(1000).bytes()),
                (Verdict::TtlExpired, data.clone().ttl(1).payload(9).bytes()),
            ];
            for (verdict, frame) in cases {
                let before = edge.verdict(verdict).packets;
                let plain = edge.run(&frame);
                assert_eq!(plain.action, XDP_TX, "{verdict:?}");
                for tags in all_tags() {
                    let expected = Ran {
                        action: XDP_TX,
                        frame: tagged(&plain.frame, &tags),
                    };
                    assert_eq!(edge.run(&tagged(&frame, &tags)), expected, "{verdict:?}");
                }
                assert_eq!(edge.verdict(verdict).packets, before + 6);
            }
        }
    }
}

#[test]
fn a_packet_that_is_dropped_leaves_no_tags_to_the_next_one() {
    let mut edge = edge_with(&syn(), edge::target(1));
    let unresolved = Target {
        next_hop: [0; 6],
        ..edge::target(1)
    };
    edge.set_target(1, unresolved);
    let ran = edge.run(&tagged(&syn().bytes(), &CUSTOMER));
    assert_eq!(ran.action, XDP_DROP);
    edge.set_target(1, in_vlans(edge::target(1), None, 200));
    let expected = tagged(
        &edge::forwarded(&syn().bytes(), &edge::target(1)),
        &[0x81, 0, 0, 200],
    );
    assert_eq!(edge.run(&syn().bytes()).frame, expected, "no priority");
}

#[test]
fn fragments_in_a_vlan_follow_the_first_of_their_packet() {
    for packet in packets() {
        let plain = edge::target(1);
        let edge = edge_with(&packet, in_vlans(plain, None, 200));
        let whole = packet.clone().flags(ACK).payload(64);
        let first = packet.clone().fragment(MORE_FRAGMENTS).payload(64).bytes();
        let parts = [(0, true), (8, true), (16, false)];
        let parts = parts.map(|(at, more)| fragment(&whole, 3, at, more));
        for frame in [first].iter().chain(&parts) {
            let ran = edge.run(&tagged(frame, &URGENT));
            let expected = tagged(&edge::forwarded(frame, &plain), &[0x81, 0, 0xf0, 200]);
            assert_eq!((ran.action, ran.frame), (XDP_TX, expected));
        }
    }
}

#[test]
fn translated_flows_go_there_in_the_vlan_of_the_backend_and_back_in_that_of_the_client() {
    for packet in packets() {
        let plain = translating(edge::target(1), &packet, 0);
        let twin = full_nat::edge(&Settings::default(), &packet);
        let mut edge = full_nat::edge(&Settings::default(), &packet);
        for (target, there) in [
            (plain, &[][..]),
            (in_vlans(plain, None, 200), &[0x81, 0, 0, 200]),
        ] {
            for came in all_tags().iter().chain([&Vec::new()]) {
                edge.set_target(1, target);
                let ran = edge.run(&tagged(&packet.bytes(), came));
                let priority = came.get(2).map_or(0, |byte| byte & 0xf0);
                let mut there = there.to_vec();
                if let Some(byte) = there.get_mut(2) {
                    *byte |= priority;
                }
                let expected = tagged(&twin.run(&packet.bytes()).frame, &there);
                assert_eq!((ran.action, ran.frame), (XDP_TX, expected), "{came:x?}");

                let answers = [
                    answer(&edge, &packet).flags(ACK).payload(33),
                    answer(&edge, &packet).flags(ACK | RST),
                ];
                for answer in answers {
                    let answer = answer.bytes();
                    let plain = twin.run(&answer);
                    assert_eq!(plain.action, XDP_TX);
                    let ran = edge.run(&tagged(&answer, &there));
                    // The priority of the client's first packet is part of its tags, but that of the answer
                    // counts.
                    let mut back = came.clone();
                    if let Some(byte) = back.get_mut(2) {
                        *byte = *byte & 0x0f | there.get(2).map_or(0, |byte| byte & 0xf0);
                    }
                    let expected = tagged(&plain.frame, &back);
                    assert_eq!((ran.action, ran.frame), (XDP_TX, expected), "{came:x?}");
                }
            }
        }
    }
}

#[test]
fn a_client_that_moves_to_another_vlan_gets_its_answers_there() {
    let packet = syn();
    let target = in_vlans(translating(edge::target(1), &packet, 0), None, 200);
    let edge = edge_with(&packet, target);
    for vlan in [10, 11, 12] {
        let tag = [0x81, 0, 0, vlan];
        edge.run(&tagged(&packet.bytes(), &tag));
        let answer = answer(&edge, &packet).flags(ACK).bytes();
        let ran = edge.run(&tagged(&answer, &[0x81, 0, 0, 200]));
        assert_eq!(ran.frame[12..16], tag);
    }
    edge.run(&packet.bytes());
    let answer = answer(&edge, &packet).flags(ACK).bytes();
    let ran = edge.run(&tagged(&answer, &[0x81, 0, 0, 200]));
    assert_eq!(ran.frame[12..14], [8, 0], "untagged as its last packet");
}

#[test]
fn a_target_behind_another_interface_is_redirected_to_and_its_frames_come_from_that() {
    const OTHER: u32 = 77;
    let source = [2, 0, 0, 0, 0, 0x77];
    for packet in packets() {
        let mut edge = edge_with(&packet, edge::target(1));
        for (mode, through) in edge::THROUGH {
            let plain = Target {
                source,
                ..through(edge::target(1))
            };
            edge.set_target(1, by(plain, OTHER));
            let ran = edge.run(&packet.bytes());
            let mut expected = edge::forwarded(&packet.bytes(), &plain);
            expected[6..12].copy_from_slice(&source);
            assert_eq!((ran.action, ran.frame), (XDP_REDIRECT, expected), "{mode}");
            let for_the_other = packet.clone().station(source).bytes();
            let ran = edge.run(&for_the_other);
            let expected = (XDP_PASS, for_the_other);
            assert_eq!((ran.action, ran.frame), expected, "it came by this one");
        }
    }
}

#[test]
fn what_a_backend_behind_another_interface_answers_goes_back_by_the_first() {
    // The backend is behind the only interface that there is, and the client's packets came by another.
    let packet = syn();
    let target = by(translating(edge::target(1), &packet, 0), LOOPBACK);
    let mut edge = edge_with(&packet, target);
    let twin = full_nat::edge(&Settings::default(), &packet);
    for edge in [&edge, &twin] {
        edge.run(&packet.bytes());
    }
    let (key, mut translation) = edge.translations()[0];
    assert_eq!(translation.exit.interface, LOOPBACK);
    translation.exit.interface = 78;
    edge.insert("TRANSLATIONS", key, translation);
    let answer = answer(&edge, &packet).flags(ACK).payload(5).bytes();
    let ran = edge.run(&answer);
    assert_eq!(
        (ran.action, ran.frame),
        (XDP_REDIRECT, twin.run(&answer).frame)
    );
}

#[test]
fn packets_for_a_backend_on_the_edge_itself_go_up_as_they_came_and_their_flow_is_known() {
    for packet in packets() {
        let mut edge = edge_with(&packet, edge::target(1));
        for (mode, through) in edge::THROUGH {
            let target = through(edge::target(1));
            edge.set_target(
                1,
                Target {
                    forward: ForwardMode::HOST.elsewhere(),
                    ..target
                },
            );
            for tags in all_tags().iter().chain([&Vec::new()]) {
                for packet in [packet.clone(), packet.clone().flags(ACK).ttl(1).payload(99)] {
                    let frame = tagged(&packet.bytes(), tags);
                    let ran = edge.run(&frame);
                    assert_eq!((ran.action, ran.frame), (XDP_PASS, frame), "{mode}");
                }
            }
        }
        assert_eq!(edge.verdict(Verdict::Forwarded).packets, 5 * 12);
        assert_eq!(edge.service(WEB.id).packets, 5 * 12);
        assert_eq!(edge.entries().len(), 1);
        let elsewhere = packet.clone().station([2, 0, 0, 0, 0, 9]).bytes();
        assert_eq!(edge.run(&elsewhere).action, XDP_PASS);
        assert_eq!(edge.verdict(Verdict::NotOurs).packets, 1);
    }
}

#[test]
fn an_edge_that_does_not_know_its_interface_serves_nothing_elsewhere() {
    let mut edge = edge_with(&syn(), by(edge::target(1), 77));
    edge.remove::<u32, Station>("STATIONS", LOOPBACK);
    assert_eq!(edge.run(&syn().bytes()).action, XDP_PASS);
    for station in [[0; 6], [0xff; 6]] {
        let frame = syn().station(station).bytes();
        assert_eq!(edge.run(&frame).action, XDP_PASS, "{station:?}");
    }
}
