//! Fragments follow the first of their packet, which goes as any packet of its flow.

use std::{collections::BTreeSet, net::IpAddr};

use aya::maps::{HashMap, MapData};
use lb_common::{
    Affinity, Descriptor, FlowEvent, FragmentKey, FragmentRoute, Scope, Target, TargetState,
    Verdict, tick,
};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Ran, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{ACK, MORE_FRAGMENTS, Packet, syn, syn_v6},
};

use super::answers::error;

/// The fragment of a packet that begins after so many words of eight bytes.
pub(crate) fn fragment(packet: &Packet, id: u8, offset: u16, more: bool) -> Vec<u8> {
    let tuple = packet.tuple();
    if tuple.client.is_v4() {
        let flags = if more { MORE_FRAGMENTS } else { 0 };
        let mut frame = packet.clone().fragment(flags | offset).bytes();
        // The sum changes by as much.
        frame[19] ^= id;
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        let changed = i32::from(frame[19]) - i32::from(frame[19] ^ id);
        let sum = (i32::from(sum) - changed).rem_euclid(0xffff) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        return frame;
    }
    let [high, low] = (offset << 3 | u16::from(more)).to_be_bytes();
    let header = vec![tuple.protocol.0, 0, high, low, 0, 0, 0, id];
    packet.clone().extensions(Some((44, header))).bytes()
}

/// All fragments of a packet.
fn fragments(packet: &Packet, id: u8) -> [Vec<u8>; 3] {
    [(0, true), (185, true), (370, false)].map(|(offset, more)| fragment(packet, id, offset, more))
}

fn packets() -> [Packet; 4] {
    [
        syn().flags(ACK).payload(1300),
        syn().udp().payload(1300),
        syn_v6().flags(ACK).payload(1300),
        syn_v6().udp().payload(1300),
    ]
}

/// The packet of a client with this source port.
fn from_port(packet: &Packet, port: u16) -> Packet {
    let client = IpAddr::from(packet.tuple().client);
    packet.clone().from((client, port))
}

fn routes(edge: &Edge) -> Vec<(FragmentKey, FragmentRoute)> {
    let routes: HashMap<&MapData, _, _> = edge.map("FRAGMENTS").try_into().expect("a hash");
    routes.iter().map(Result::unwrap).collect()
}

#[test]
fn case_12_all_fragments_of_a_packet_go_to_one_backend_as_the_mode_says() {
    for packet in packets() {
        for (mode, through) in edge::THROUGH {
            let mut edge = Edge::serving(&Settings::default(), &packet);
            let target = |id: u16| through(edge::target(id as u8));
            for id in 1..=4 {
                edge.set_target(id, target(id));
            }
            let slots: Vec<u16> = (0..64).map(|slot| 1 + slot % 4).collect();
            edge.set_ring(WEB.row, 1024, &slots);
            let mut seen = BTreeSet::new();
            for (port, id) in (2000..2040).zip(0..) {
                let frames = fragments(&from_port(&packet, port), id);
                let first = edge.run(&frames[0]);
                let is_expected =
                    |id: &u16| edge::forwarded(&frames[0], &target(*id)) == first.frame;
                let backend = (1..=4).find(is_expected).expect("one of the four");
                for frame in &frames[1..] {
                    let expected = Ran {
                        action: XDP_TX,
                        frame: edge::forwarded(frame, &target(backend)),
                    };
                    assert_eq!(edge.run(frame), expected, "{mode}");
                }
                seen.insert(backend);
            }
            assert_eq!(seen.len(), 4, "{mode}");
            assert_eq!(edge.verdict(Verdict::Forwarded).packets, 120);
            assert_eq!(edge.service(WEB.id).packets, 120);
            assert_eq!(edge.events(FlowEvent::Miss), 40);
            assert_eq!(edge.entries().len(), 40, "the first makes its flow known");
        }
    }
}

#[test]
fn fragments_of_which_the_first_was_not_seen_are_dropped_as_they_came() {
    for packet in packets() {
        let edge = Edge::serving(&Settings::default(), &packet);
        edge.run(&fragments(&packet, 1)[0]);
        let of_another = packet.clone().from(match packet.tuple().client.is_v4() {
            true => ("192.0.2.9".parse().expect("an address"), 40_000),
            false => ("2001:db8:99::9".parse().expect("an address"), 40_000),
        });
        let mut frames = vec![
            fragments(&packet, 2)[1].clone(),
            fragments(&packet, 3)[2].clone(),
            fragments(&of_another, 1)[1].clone(),
        ];
        if packet.tuple().client.is_v4() {
            let other = syn().udp().payload(1300);
            let other = if packet.tuple() == other.tuple() {
                syn()
            } else {
                other
            };
            frames.push(fragments(&other, 1)[1].clone());
        }
        for frame in &frames {
            let expected = Ran {
                action: XDP_DROP,
                frame: frame.clone(),
            };
            assert_eq!(edge.run(frame), expected);
        }
        let unknown = edge.verdict(Verdict::FragmentUnknown).packets;
        assert_eq!(unknown, frames.len() as u64);
        assert_eq!(edge.service(WEB.id).packets, 1);
    }
}

#[test]
fn a_first_fragment_without_a_whole_header_is_dropped() {
    for packet in packets() {
        let edge = Edge::serving(&Settings::default(), &packet);
        let is_v4 = packet.tuple().client.is_v4();
        let whole = fragment(&packet, 1, 0, true);
        let headers = if is_v4 { 34 } else { 62 };
        for length in headers..headers + 8 {
            // What is padding does not belong to it, whatever it says.
            for mut frame in [whole[..length].to_vec(), whole.clone()] {
                let payload = (length - 14) as u16;
                match is_v4 {
                    true => frame[16..18].copy_from_slice(&payload.to_be_bytes()),
                    false => frame[18..20].copy_from_slice(&(payload - 40).to_be_bytes()),
                }
                let action = XDP_DROP;
                assert_eq!(edge.run(&frame), Ran { action, frame });
            }
        }
        assert_eq!(routes(&edge), []);
    }
}

#[test]
fn fragments_for_the_host_itself_pass() {
    for packet in packets() {
        let edge = Edge::serving(&Settings::default(), &packet);
        let elsewhere = packet.clone().to((packet.tuple().service.into(), 4242));
        for frame in fragments(&elsewhere, 1) {
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame });
        }
        assert_eq!(edge.verdict(Verdict::NotOurs).packets, 3);
        assert_eq!(edge.entries(), []);
    }
}

#[test]
fn fragments_in_frames_for_another_station_pass_and_leave_no_trace() {
    for packet in packets() {
        let edge = Edge::serving(&Settings::default(), &packet);
        for frame in fragments(&packet.clone().station([2, 0, 0, 0, 0, 9]), 1) {
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame });
        }
        assert_eq!((edge.entries(), routes(&edge)), (vec![], vec![]));
        assert_eq!(edge.service(WEB.id).packets, 0);
    }
}

#[test]
fn the_first_fragment_of_a_known_flow_follows_the_flow() {
    for packet in packets() {
        let mut edge = Edge::serving(&Settings::default(), &packet);
        assert_eq!(edge.backend(&packet.clone().payload(1)), Some(1));
        edge.set_target(2, edge::target(2));
        edge.set_ring(WEB.row, 1024, &[2; 64]);
        for frame in fragments(&packet, 1) {
            assert_eq!(edge.run(&frame).frame[5], 1);
        }
        let other = from_port(&packet, 9);
        for frame in fragments(&other, 2) {
            assert_eq!(edge.run(&frame).frame[5], 2);
        }
        assert_eq!(edge.entries().len(), 2);
    }
}

#[test]
fn a_client_that_is_pinned_has_its_fragments_there_too() {
    for packet in packets() {
        let mut edge = Edge::serving(&Settings::default(), &packet);
        for id in 2..=3 {
            edge.set_target(id, edge::target(id as u8));
        }
        let affinity = Affinity::new(120, 32, 128, Scope::Healthy).within(GROUP);
        edge.set_pinning_ring(WEB.row, 1024, affinity, &[2; 64]);
        edge.run(&fragments(&packet, 1)[0]);
        assert_eq!(edge.pins().len(), 1);
        edge.set_pinning_ring(WEB.row, 2048, affinity, &[3; 64]);
        for frame in fragments(&from_port(&packet, 9), 2) {
            assert_eq!(edge.run(&frame).frame[5], 2);
        }
    }
}

#[test]
fn a_packet_is_lost_beyond_the_insert_limit() {
    let settings = Settings {
        insert_limit: 0,
        ..Settings::default()
    };
    for packet in packets() {
        let edge = Edge::serving(&settings, &packet);
        for frame in fragments(&packet, 1) {
            assert_eq!(edge.run(&frame).action, XDP_DROP);
        }
        assert_eq!(edge.verdict(Verdict::FragmentUnknown).packets, 3);
        assert_eq!(edge.events(FlowEvent::Limited), 2, "flow and packet");
    }
}

#[test]
fn a_route_ends_with_its_target_and_after_half_a_minute() {
    for packet in packets() {
        let mut edge = Edge::serving(&Settings::default(), &packet);
        let [first, middle, last] = fragments(&packet, 1);
        edge.run(&first);
        assert_eq!(edge.run(&middle).action, XDP_TX);
        edge.set_target(
            1,
            Target {
                identity: 77,
                ..edge::target(1)
            },
        );
        assert_eq!(edge.run(&middle).action, XDP_DROP);
        edge.set_target(1, edge::target(1));
        assert_eq!(edge.run(&last).action, XDP_TX);
        let [(key, _)] = routes(&edge)[..] else {
            panic!()
        };
        for (age, action) in [(29, XDP_TX), (31, XDP_DROP)] {
            let then = edge::now().wrapping_sub(tick(age * 1_000_000_000));
            let route = FragmentRoute::new(WEB.id, 1, edge::target(1).identity, then);
            edge.insert("FRAGMENTS", key, route);
            assert_eq!(edge.run(&last).action, action, "after {age} s");
        }
    }
}

#[test]
fn of_fragments_that_can_not_go_on_the_first_is_told() {
    for packet in packets() {
        let mut edge = Edge::serving(&Settings::default(), &packet);
        let frames = fragments(&packet, 1);
        edge.set_target(
            1,
            Target {
                mtu: 100,
                ..edge::target(1)
            },
        );
        let what = if packet.tuple().client.is_v4() {
            (3, 4, 100)
        } else {
            (2, 0, 100)
        };
        assert_eq!(error(&frames[0], &edge.run(&frames[0])), what);
        assert_eq!(edge.verdict(Verdict::TooBig).packets, 1);
        for frame in frames[1..].iter().cloned() {
            let action = XDP_DROP;
            assert_eq!(edge.run(&frame), Ran { action, frame });
        }
        assert_eq!(edge.verdict(Verdict::ReplySilent).packets, 2);
        edge.set("RINGS", WEB.row.first(), Descriptor::REJECT);
        let other = fragments(&from_port(&packet, 9), 2);
        assert_eq!(edge.run(&other[0]).action, XDP_TX);
        assert_eq!(edge.verdict(Verdict::Rejected).packets, 1);
        assert_eq!(edge.run(&other[1]).action, XDP_DROP);
        assert_eq!(edge.verdict(Verdict::FragmentUnknown).packets, 1);
    }
}

#[test]
fn fragments_of_a_connection_that_ends_with_its_target_are_answered_by_one_reset() {
    let packet = syn().flags(ACK).payload(1300);
    let mut edge = Edge::serving(&Settings::default(), &packet);
    assert_eq!(edge.backend(&syn()), Some(1));
    let state = TargetState(TargetState::DEAD | TargetState::TCP_ENDS);
    let dead = Target {
        state,
        ..edge::target(1)
    };
    edge.set_target(1, dead);
    let [first, middle, last] = fragments(&packet, 1).map(|frame| edge.run(&frame).action);
    assert_eq!([first, middle, last], [XDP_TX, XDP_DROP, XDP_DROP]);
    assert_eq!(edge.verdict(Verdict::BackendDown).packets, 1);
    assert_eq!(edge.verdict(Verdict::FragmentUnknown).packets, 2);
    assert_eq!(edge.events(FlowEvent::Ended), 1);
}
