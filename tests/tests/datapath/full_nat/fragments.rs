//! Fragments of translated packets.

use std::net::IpAddr;

use lb_common::Verdict;
use lb_tests::datapath::{
    edge::{Ran, STATION, Settings, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{End, Packet, set_ip_checksum},
};

use super::{
    super::fragments::fragment, CLIENT_STATION, answer, edge, ends, only_port, packet_service,
    packets, sent,
};

/// The three fragments of a packet.
fn fragments(packet: &Packet) -> [Vec<u8>; 3] {
    [(0, true), (125, true), (250, false)].map(|(at, more)| fragment(packet, 7, at, more))
}

/// The fragments of a packet as they leave with other ends: the first has them in its ports and sums too,
/// of the others the IP header alone is changed.
fn leaving(packet: &Packet, [from, to]: [End; 2], station: [u8; 6]) -> [Vec<u8>; 3] {
    let changed = packet.clone().from(from).to(to).ttl(63);
    let [first, _, _] = fragments(&changed);
    let [_, second, third] = fragments(packet);
    let mut frames = [first, second, third];
    for frame in &mut frames[1..] {
        match (from.0, to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                frame[22] -= 1;
                frame[26..30].copy_from_slice(&from.octets());
                frame[30..34].copy_from_slice(&to.octets());
                set_ip_checksum(&mut frame[14..]);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                frame[21] -= 1;
                frame[22..38].copy_from_slice(&from.octets());
                frame[38..54].copy_from_slice(&to.octets());
            }
            ends => panic!("{ends:?}"),
        }
    }
    for frame in &mut frames {
        frame[..6].copy_from_slice(&station);
        frame[6..12].copy_from_slice(&STATION);
    }
    frames
}

#[test]
fn case_12_fragments_go_there_and_come_back() {
    for (name, packet) in packets() {
        let packet = packet.payload(992);
        let edge = edge(&Settings::default(), &packet);
        let [ours, backend] = ends(&packet);
        // A SYN or a datagram opens the flow.
        edge.run(&packet.bytes());
        let port = only_port(&edge);
        let there = [(ours, port), (backend, 80)];
        let next_hop = edge::target(1).next_hop;
        let expected = leaving(&packet, there, next_hop);
        for (i, (frame, expected)) in fragments(&packet).iter().zip(expected).enumerate() {
            assert_eq!(edge.run(frame), sent(expected), "{name}, {i}");
        }
        let client = (packet.tuple().client.into(), packet.tuple().ports.client());
        let answer = packet.clone().from((backend, 80)).to((ours, port));
        let expected = leaving(&answer, [packet_service(&packet), client], CLIENT_STATION);
        for (i, (frame, expected)) in fragments(&answer).iter().zip(expected).enumerate() {
            assert_eq!(edge.run(frame), sent(expected), "{name} back, {i}");
        }
        assert_eq!(edge.verdict(Verdict::Forwarded).packets, 4, "{name}");
        assert_eq!(edge.verdict(Verdict::Returned).packets, 3, "{name}");
        assert_eq!(edge.translations().len(), 1, "{name}");
    }
}

#[test]
fn fragments_of_which_the_first_was_not_seen_are_dropped_or_the_host_s() {
    for (name, packet) in packets() {
        let packet = packet.payload(992);
        let edge = edge(&Settings::default(), &packet);
        edge.run(&packet.bytes());
        let answer = answer(&edge, &packet);
        for (packet, action) in [(&packet, XDP_DROP), (&answer, XDP_PASS)] {
            let [_, frame, _] = fragments(packet);
            assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}");
        }
        // The host's own, of which no part is ours.
        let [_, backend] = ends(&packet);
        let own = answer.clone().from((backend, 81));
        for frame in fragments(&own) {
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}");
        }
    }
}

#[test]
fn the_first_fragment_of_a_new_flow_opens_it_if_it_may() {
    for (name, packet) in packets() {
        let edge = edge(&Settings::default(), &packet);
        let [frame, ..] = fragments(&packet.clone().payload(992));
        assert_eq!(edge.run(&frame).action, XDP_TX, "{name}");
        assert_eq!(edge.translations().len(), 1, "{name}");
    }
}
