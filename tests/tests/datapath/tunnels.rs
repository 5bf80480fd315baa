//! What is set for all tunnels.

use std::collections::BTreeSet;

use lb_common::{Outer, Target, Verdict};
use lb_tests::datapath::{
    edge::{self, ENDS_V4, Edge, Settings, XDP_TX},
    packet::{ACK, first_of_each},
};

use super::answers::sum;

/// The tunnels, whose outer headers come from a prefix.
fn tunnels() -> [(&'static str, Target); 4] {
    let v4 = |target| Target {
        outer: Outer::v4([10, 200, 0, 0], ENDS_V4[1]),
        ..target
    };
    let v6 = |target| Target {
        outer: Outer::v6([0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 0]),
        ..target
    };
    [
        ("ipip over v4", v4(edge::through_v4(edge::target(1)))),
        ("ipip over v6", v6(edge::through_v6(edge::target(1)))),
        ("gue over v4", v4(edge::gue_v4(edge::target(1)))),
        ("gue over v6", v6(edge::gue_v6(edge::target(1)))),
    ]
}

/// Where in a frame the last two bytes of its sender's address are, and where its outer header ends.
fn places(frame: &[u8]) -> (usize, usize) {
    match frame[12..14] {
        [8, 0] => (28, 34),
        _ => (36, 54),
    }
}

#[test]
fn each_flow_in_tunnels_comes_from_one_of_the_addresses_that_are_set() {
    for packet in first_of_each() {
        let [mut spread, mut plain] = [[0xffff, 0xff], [0; 2]].map(|more_sources| {
            let settings = Settings {
                more_sources,
                ..Settings::default()
            };
            Edge::serving(&settings, &packet)
        });
        for (mode, target) in tunnels() {
            for edge in [&mut spread, &mut plain] {
                edge.set_target(1, target);
            }
            let mut sources = BTreeSet::new();
            for port in 1..=300 {
                let client = packet.tuple().client.into();
                let packet = packet.clone().from((client, port));
                let frames = [packet.clone(), packet.flags(ACK).payload(100)];
                let sent = frames.map(|it| (spread.run(&it.bytes()), plain.run(&it.bytes())));
                let [first, second] = sent.map(|(spread, mut plain)| {
                    let (at, end) = places(&plain.frame);
                    let source = [spread.frame[at], spread.frame[at + 1]];
                    plain.frame[at..at + 2].copy_from_slice(&source);
                    if end == 34 {
                        assert_eq!(sum(&[&spread.frame[14..34]]), 0xffff, "{mode}");
                        plain.frame[24..26].copy_from_slice(&spread.frame[24..26]);
                    }
                    assert_eq!(spread, plain, "{mode}: nothing else differs");
                    source
                });
                assert_eq!(first, second, "{mode}: a flow comes from one address");
                sources.insert(first);
            }
            // Of 65,536 and of 256.
            let (fewest, within) = match mode.ends_with("v4") {
                true => (250, true),
                false => (100, sources.iter().all(|[high, _]| *high == 0)),
            };
            assert!(sources.len() > fewest, "{mode}: {}", sources.len());
            assert!(within, "{mode}: {sources:?}");
        }
    }
}

#[test]
fn a_tunnel_that_is_no_hop_leaves_what_is_inside_as_it_is() {
    for packet in first_of_each() {
        let settings = Settings {
            tunnel_hops: 0,
            ..Settings::default()
        };
        let mut edge = Edge::serving(&settings, &packet);
        for (mode, target) in tunnels() {
            edge.set_target(1, target);
            for ttl in [1, 2, 64, 255] {
                let frame = packet.clone().ttl(ttl).bytes();
                let ran = edge.run(&frame);
                assert_eq!(ran.action, XDP_TX, "{mode}, {ttl}");
                assert!(ran.frame.ends_with(&frame[14..]), "{mode}, {ttl}");
            }
        }
        edge.set_target(1, edge::target(1));
        edge.run(&packet.clone().ttl(1).bytes());
        let expired = edge.verdict(Verdict::TtlExpired).packets;
        assert_eq!(expired, 1, "other ways are hops all the same");
    }
}

#[test]
fn datagrams_of_gue_have_a_checksum_if_that_is_set() {
    for packet in first_of_each() {
        let [mut summed, mut plain] = [true, false].map(|tunnel_checksum| {
            let settings = Settings {
                tunnel_checksum,
                ..Settings::default()
            };
            Edge::serving(&settings, &packet)
        });
        for (mode, target) in tunnels() {
            for edge in [&mut summed, &mut plain] {
                edge.set_target(1, target);
            }
            for (length, padding) in [(0, 0), (0, 6), (1, 0), (63, 1), (64, 0), (65, 5), (1300, 9)]
            {
                let mut frame = packet.clone().payload(length).bytes();
                // What a checksum of the packet inside does not even out.
                *frame.last_mut().unwrap() ^= 0x5a;
                frame.resize(frame.len() + padding, 0xa5);
                let (ran, without) = (summed.run(&frame), plain.run(&frame));
                assert_eq!((ran.action, without.action), (XDP_TX, XDP_TX), "{mode}");
                if mode.starts_with("ipip") {
                    assert_eq!(ran, without, "{mode}");
                    continue;
                }
                let (ends, start) = places(&ran.frame);
                let ends = match start {
                    34 => 26..34,
                    _ => ends - 14..54,
                };
                let (ends, datagram) = (&ran.frame[ends], &ran.frame[start..]);
                let total = sum(&[ends, &[0, 17], &datagram[4..6], datagram]);
                assert_eq!(total, 0xffff, "{mode}, {length} bytes");
                assert_ne!(datagram[6..8], [0, 0], "{mode}, {length} bytes");
                let mut expected = without.frame;
                expected.truncate(expected.len() - padding);
                expected[start + 6..start + 8].copy_from_slice(&datagram[6..8]);
                assert_eq!(ran.frame, expected, "{mode}: nothing else differs");
            }
        }
    }
}
