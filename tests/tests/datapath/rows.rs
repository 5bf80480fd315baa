//! Rings in rows: which flows of a client stay together.

use std::collections::{BTreeMap, BTreeSet};

use lb_common::Descriptor;
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::{CLIENT, Packet, syn, syn_from, syn_v6},
};

/// An edge with targets 1 to 3, whose ring has these slots in rows of `columns`; 0 for one row.
fn edge(packet: &Packet, slots: &[u16], columns: u32) -> Edge {
    let mut edge = Edge::serving(&Settings::default(), packet);
    for backend in 2..=3 {
        edge.set_target(backend.into(), edge::target(backend));
    }
    edge.set_ring(WEB.row, 640, slots);
    let length = u32::try_from(slots.len()).expect("few slots");
    let ring = match columns {
        0 => Descriptor::new(640, length),
        columns => Descriptor::in_rows(640, length, columns),
    };
    edge.set("RINGS", WEB.row.first(), ring);
    edge
}

/// Flows by the backend that they go to.
fn spread(edge: &Edge, flows: impl Iterator<Item = Packet>) -> BTreeMap<u8, u32> {
    let mut spread = BTreeMap::new();
    for flow in flows {
        *spread
            .entry(edge.backend(&flow).expect("a backend"))
            .or_default() += 1;
    }
    spread
}

/// A flow of a client of many.
fn flow_of(client: u32, port: u16) -> Packet {
    let [_, a, b, c] = client.to_be_bytes();
    syn().from(([10, a, b, c].into(), port))
}

#[test]
fn t235_100_000_connections_are_spread_3_to_7() {
    let slots: Vec<u16> = (0..16_380)
        .map(|slot| if slot % 10 < 3 { 1 } else { 2 })
        .collect();
    let spread = spread(&edge(&syn(), &slots, 0), (0..100_000).map(syn_from));
    assert!((29_000..=31_000).contains(&spread[&1]), "{spread:?}");
    assert_eq!(spread[&1] + spread[&2], 100_000);
}

#[test]
fn t236_each_client_uses_two_of_three_backends_and_each_backend_gets_a_third() {
    // Each row has two of the three, in turn: 16,380 rows of two slots.
    let pairs = [[1, 2], [2, 3], [3, 1]];
    let slots: Vec<u16> = pairs
        .iter()
        .copied()
        .cycle()
        .take(16_380)
        .flatten()
        .collect();
    let edge = edge(&syn(), &slots, 2);
    let mut all = BTreeMap::<u8, u32>::new();
    for client in 0..10_000 {
        let mut used = BTreeSet::new();
        // That 24 flows of a row of two all take one happens to one client in eight million.
        for port in 1..=24 {
            let backend = edge
                .backend(&flow_of(client, 4000 * (port % 12) + port))
                .unwrap();
            used.insert(backend);
            *all.entry(backend).or_default() += 1;
        }
        assert_eq!(used.len(), 2, "client {client}: {used:?}");
    }
    for (backend, flows) in &all {
        let part = f64::from(*flows) / 240_000.;
        assert!((part - 1. / 3.).abs() < 0.02, "{backend}: {part}");
    }
}

#[test]
fn t237_all_connections_of_a_client_go_to_one_backend_and_clients_are_spread() {
    let slots: Vec<u16> = (0..16_380).map(|slot| 1 + slot % 2).collect();
    for packet in [syn(), syn_v6()] {
        let edge = edge(&packet, &slots, 1);
        let client = if packet.tuple().client.is_v4() {
            "203.0.113.9".parse().unwrap()
        } else {
            "2001:db8:9::9".parse().unwrap()
        };
        let flows = (0..100).map(|i| packet.clone().from((client, 1024 + 77 * i)));
        let spread = spread(&edge, flows);
        assert_eq!(spread.values().copied().collect::<Vec<_>>(), [100]);
    }
    let edge = edge(&syn(), &slots, 1);
    let clients = spread(&edge, (0..10_000).map(|client| flow_of(client, CLIENT.1)));
    assert!((4800..=5200).contains(&clients[&1]), "{clients:?}");
}

#[test]
fn clients_of_one_ipv6_network_are_one_client() {
    let slots: Vec<u16> = (0..16_380).map(|slot| 1 + slot % 3).collect();
    let edge = edge(&syn_v6(), &slots, 1);
    let host = |network: u16, host: u16| {
        let address = format!("2001:db8:5:{network:x}::{host:x}");
        syn_v6().from((address.parse().unwrap(), 1024 + host))
    };
    let of_network = |network| spread(&edge, (0..50).map(move |it| host(network, it)));
    let mut used = BTreeSet::new();
    for network in 0..20 {
        let spread = of_network(network);
        assert_eq!(spread.len(), 1, "{spread:?}");
        used.extend(spread.into_keys());
    }
    assert_eq!(used.len(), 3);
}
