//! The class of a client decides which ring its flows go by, and rules stand in place of rings.

use std::net::IpAddr;

use aya::maps::lpm_trie::Key;
use lb_common::{
    Address, Descriptor, LONG_NETWORKS, LongNetwork, Place, Row, Service, ServiceGroup, Target,
    Verdict,
};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Ran, Settings, WEB, XDP_DROP, XDP_PASS},
    packet::{ACK, CLIENT, Packet, syn, syn_v6},
};

/// Of each class 0 to 3 the target's last MAC byte.
const BACKENDS: [u8; 4] = [10, 11, 12, 13];

/// A service with four classes, class `c` with a ring of its own target.
fn edge(packet: &Packet) -> Edge {
    let mut edge = Edge::serving(&Settings::default(), packet);
    let row = Row::new(20, 4);
    let address = packet.tuple().service;
    edge.publish(
        packet,
        Service {
            address,
            row,
            ..WEB
        },
    );
    for (class, backend) in (0..).zip(BACKENDS) {
        let id = 10 + class as u16;
        edge.set_target(id, edge::target(backend));
        let ring = Row::new(row.first() + class, 1);
        edge.set_ring(ring, 64 * class, &[id; 64]);
    }
    edge
}

fn from(packet: &Packet, client: &str) -> Packet {
    let client: IpAddr = client.parse().expect("an address");
    packet.clone().from((client, 40_000))
}

fn use_buffer(edge: &Edge, buffer: u32) {
    let control = lb_common::Control {
        clients: buffer,
        ..edge::control(&Settings::default())
    };
    edge.tables.control.store(0, &control);
}

#[test]
fn ipv4_clients_are_told_apart_by_24_bits_or_by_all() {
    let mut edge = edge(&syn());
    let last = u16::try_from(LONG_NETWORKS - 1).expect("15 bits");
    for (buffer, shift) in [(0, 0), (1, 1)] {
        let networks = [
            ([192, 0, 2], Place::class(1 + shift)),
            ([198, 51, 100], Place::long(last)),
        ];
        edge.set_networks(buffer, &networks);
        let mut long = LongNetwork([0; 256]);
        long.0[7] = 2 - shift;
        long.0[255] = 3;
        edge.set(
            "CLIENTS_V4_LONG",
            buffer * LONG_NETWORKS + u32::from(last),
            long,
        );
    }
    for (buffer, shift) in [(0, 0), (1, 1), (0, 0)] {
        use_buffer(&edge, buffer);
        for (client, class) in [
            ("192.0.2.0", 1 + shift),
            ("192.0.2.255", 1 + shift),
            ("192.0.3.0", 0),
            ("198.51.100.7", 2 - shift),
            ("198.51.100.8", 0),
            ("198.51.100.255", 3),
            ("0.0.0.0", 0),
            ("255.255.255.255", 0),
        ] {
            edge.forget_flows();
            let backend = edge.backend(&from(&syn(), client));
            assert_eq!(backend, Some(BACKENDS[class]), "{client}, buffer {buffer}");
        }
    }
}

#[test]
fn ipv6_clients_are_told_apart_by_their_longest_prefix() {
    let mut edge = edge(&syn_v6());
    let prefix = |text: &str, length| {
        let address: IpAddr = text.parse().expect("an address");
        Key::new(length, Address::from(address))
    };
    for (map, shift) in [("CLIENTS_V6_0", 0_u32), ("CLIENTS_V6_1", 1)] {
        edge.set_prefix(map, &prefix("2001:db8:1::", 48), 1 + shift);
        edge.set_prefix(map, &prefix("2001:db8:1:2::", 64), 2 - shift);
        edge.set_prefix(map, &prefix("2001:db8:1:2::7", 128), 3);
    }
    for (buffer, shift) in [(0, 0), (1, 1), (0, 0)] {
        use_buffer(&edge, buffer);
        for (client, class) in [
            ("2001:db8:1::1", 1 + shift),
            ("2001:db8:1:3::1", 1 + shift),
            ("2001:db8:1:2::1", 2 - shift),
            ("2001:db8:1:2::7", 3),
            ("2001:db8:2::1", 0),
        ] {
            edge.forget_flows();
            let backend = edge.backend(&from(&syn_v6(), client));
            assert_eq!(backend, Some(BACKENDS[class]), "{client}, buffer {buffer}");
        }
    }
}

#[test]
fn a_flow_keeps_its_target_when_its_client_changes_class() {
    let mut edge = edge(&syn());
    assert_eq!(edge.backend(&syn()), Some(10));
    edge.set_networks(0, &[([192, 0, 2], Place::class(2))]);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(10));
    let other = syn().from((CLIENT.0, 50_000));
    assert_eq!(edge.backend(&other), Some(12));
}

#[test]
fn a_rule_drops_or_passes_in_place_of_a_ring() {
    for (packet, client) in [(syn(), "192.0.2.1"), (syn_v6().udp(), "2001:db8:99::1")] {
        let mut edge = edge(&packet);
        let frame = from(&packet, client).bytes();
        for (rule, verdict, action) in [
            (Descriptor::DROP, Verdict::PolicyDropped, XDP_DROP),
            (Descriptor::PASS, Verdict::PolicyPassed, XDP_PASS),
            (Descriptor::NO_ANSWER, Verdict::NoAnswer, XDP_DROP),
        ] {
            edge.set("RINGS", 20, rule);
            let expected = Ran {
                action,
                frame: frame.clone(),
            };
            assert_eq!(edge.run(&frame), expected, "{verdict:?}");
            assert_eq!(edge.verdict(verdict).packets, 1);
        }
        assert_eq!(edge.entries(), []);
        assert_eq!(edge.service(WEB.id).packets, 3);
    }
}

#[test]
fn a_class_behind_the_last_one_is_no_target() {
    let mut edge = edge(&syn());
    for class in [4, 0x7fff] {
        edge.set_networks(0, &[([192, 0, 2], Place::class(class))]);
        let before = edge.verdict(Verdict::NoTarget).packets;
        assert_eq!(edge.backend(&syn()), None);
        assert_eq!(edge.verdict(Verdict::NoTarget).packets, before + 1);
    }
}

#[test]
fn a_service_without_classes_looks_no_client_up() {
    let mut edge = Edge::with_web(&Settings::default());
    edge.set_networks(0, &[([192, 0, 2], Place::class(3))]);
    assert_eq!(edge.backend(&syn()), Some(1));
}

#[test]
fn a_further_group_may_serve_where_the_service_names_it() {
    let mut edge = edge(&syn());
    let further = Target {
        group: GROUP + 1,
        ..edge::target(11)
    };
    edge.set_target(11, further);
    edge.set_networks(0, &[([192, 0, 2], Place::class(1))]);
    assert_eq!(edge.backend(&syn()), None);
    assert_eq!(edge.verdict(Verdict::NoTarget).packets, 1);
    let key = ServiceGroup {
        service: WEB.id,
        group: GROUP + 1,
    };
    edge.insert("SERVICE_GROUPS", key, 1_u32);
    assert_eq!(edge.backend(&syn()), Some(11));
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(11));
    assert_eq!(edge.events(lb_common::FlowEvent::Hit), 1);
    edge.remove::<_, u32>("SERVICE_GROUPS", key);
    assert_eq!(edge.backend(&syn().flags(ACK)), None);
    assert_eq!(edge.events(lb_common::FlowEvent::Foreign), 1);
}
