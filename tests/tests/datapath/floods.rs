//! Floods from random senders, with no limit of what is remembered of them.

use std::net::IpAddr;

use lb_common::FlowEvent;
use lb_tests::{
    datapath::{
        edge::{Edge, Settings},
        packet::{ACK, FIN, Packet, RST, SYN, syn, syn_v6},
    },
    random::Random,
};

/// Flows that are there before: an eighth of the table.
const FLOWS: u16 = 1024;

/// Eight times as many entries as there are.
const FLOOD: usize = 8 * 8192;

fn flow(packet: &Packet, port: u16) -> Packet {
    let client = IpAddr::from(packet.tuple().client);
    packet.clone().from((client, port))
}

/// A packet from nobody.
fn forged(packet: &Packet, random: &mut Random) -> Packet {
    let bytes = [random.draw(), random.draw()].map(u64::to_le_bytes);
    let [[a, b, c, d, ..], [e, f, g, h, ..]] = bytes;
    let from = match packet.tuple().client.is_v4() {
        true => IpAddr::from([10, a, b, c]),
        false => IpAddr::from([0x20, 1, 0x0d, 0xb8, a, b, c, d, e, f, g, h, 1, 2, 3, 4]),
    };
    packet.clone().from((from, u16::from_le_bytes([g, h])))
}

/// What part of the flows follows its entry after a flood of such packets.
fn left(service: &Packet, flood: &Packet) -> f64 {
    let settings = Settings {
        buckets: 1024,
        ..Settings::default()
    };
    let edge = Edge::serving(&settings, service);
    let all = || (1..=FLOWS).map(|port| flow(service, port));
    for packet in all() {
        edge.run(&packet.bytes());
        edge.run(&packet.flags(ACK).bytes());
    }
    let mut random = Random(7);
    for _ in 0..FLOOD {
        edge.run(&forged(flood, &mut random).bytes());
    }
    let hits = edge.events(FlowEvent::Hit);
    for packet in all() {
        edge.run(&packet.flags(ACK).bytes());
    }
    (edge.events(FlowEvent::Hit) - hits) as f64 / f64::from(FLOWS)
}

#[test]
fn case_43_a_flood_of_any_kind_leaves_old_flows_their_entries() {
    for flags in [SYN, ACK, FIN | ACK, RST] {
        let left = left(&syn(), &syn().flags(flags));
        assert!(left > 0.99, "flags {flags:#x}: {left}");
    }
    let datagram = syn().udp();
    assert!(left(&datagram, &datagram) > 0.99);
    assert!(left(&syn_v6(), &syn_v6()) > 0.99);
}
