//! New flows of a client go where its last one went.

use std::{collections::BTreeSet, net::IpAddr};

use lb_common::{
    Affinity, Answer, FlowEvent, Pin, PinKey, Row, Scope, Service, ServiceGroup, Target,
    TargetState, Verdict, tick,
};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Settings, WEB, XDP_DROP, XDP_TX},
    packet::{Packet, RST, data, syn, syn_v6},
};

const SECOND: u64 = 1_000_000_000;

/// Four targets, one slot each in turn.
const FOUR: [u16; 64] = {
    let mut slots = [0; 64];
    let mut slot = 0;
    while slot < 64 {
        slots[slot] = 1 + slot as u16 % 4;
        slot += 1;
    }
    slots
};

/// The affinity of a group unless something else is configured.
fn default(scope: Scope) -> Affinity {
    Affinity::new(120, 32, 128, scope).within(GROUP)
}

/// An edge whose service, the one that `packet` is addressed to, has four backends and affinity.
fn edge_for(settings: &Settings, packet: &Packet, affinity: Affinity) -> Edge {
    let mut edge = Edge::serving(settings, packet);
    for id in 1..=4 {
        edge.set_target(id, edge::target(id as u8));
    }
    edge.set_pinning_ring(WEB.row, 128, affinity, &FOUR);
    edge
}

fn edge(affinity: Affinity) -> Edge {
    edge_for(&Settings::default(), &syn(), affinity)
}

/// The packet of a client with this source port.
fn from(packet: Packet, client: &str, port: u16) -> Packet {
    let client: IpAddr = client.parse().expect("an address");
    packet.from((client, port))
}

/// The backends that some flows of a client go to.
fn backends(edge: &Edge, packet: &Packet, client: &str) -> BTreeSet<Option<u8>> {
    let flows = (1000..1040).map(|port| from(packet.clone(), client, port));
    flows.map(|flow| edge.backend(&flow)).collect()
}

/// Says when the only pin was last used: so long ago, in nanoseconds.
fn age(edge: &mut Edge, ago: u64) {
    let pins = edge.pins();
    let [(key, pin)] = pins[..] else {
        panic!("{pins:?}")
    };
    let then = edge::now().wrapping_sub(tick(ago));
    let aged = Pin::new(pin.target(), pin.identity, then);
    edge.insert("AFFINITY_PINS", key, aged);
}

#[test]
fn case_42_a_client_stays_with_its_backend_whatever_its_ports() {
    for packet in [syn(), syn().udp(), syn_v6(), syn_v6().udp()] {
        let affinity = default(Scope::Eligible);
        let edge = edge_for(&Settings::default(), &packet, affinity);
        let mut seen = BTreeSet::new();
        for last in 1..=20 {
            let client = match packet.tuple().client.is_v4() {
                true => format!("198.51.100.{last}"),
                false => format!("2001:db8:7::{last:x}"),
            };
            let backends = backends(&edge, &packet, &client);
            assert_eq!(backends.len(), 1, "{client}");
            seen.extend(backends);
        }
        assert_eq!(seen.len(), 4, "clients are spread over all backends");
        assert_eq!(edge.events(FlowEvent::PinSet), 20);
        assert_eq!(edge.events(FlowEvent::Pinned), 20 * 39);
        assert_eq!(edge.events(FlowEvent::Miss), 20 * 40);
        assert_eq!(edge.verdict(Verdict::Forwarded).packets, 20 * 40);
        assert_eq!(edge.service(WEB.id).packets, 20 * 40);
    }
}

#[test]
fn without_affinity_no_client_is_pinned() {
    let mut edge = edge(default(Scope::Eligible));
    edge.set_ring(WEB.row, 1024, &FOUR);
    assert_eq!(backends(&edge, &syn(), "198.51.100.7").len(), 4);
    assert_eq!(edge.pins(), []);
}

#[test]
fn t150_and_t151_a_pin_that_was_idle_for_119_seconds_holds_and_for_120_does_not() {
    let mut edge = edge(default(Scope::Eligible));
    let flow = |port| from(syn(), "198.51.100.7", port);
    let first = edge.backend(&flow(1));
    age(&mut edge, 119 * SECOND);
    assert_eq!(edge.backend(&flow(2)), first);
    assert_eq!(edge.events(FlowEvent::Pinned), 1);
    let [(_, refreshed)] = edge.pins()[..] else {
        panic!()
    };
    assert!(
        edge::now().wrapping_sub(refreshed.last_used()) < 100,
        "it is used"
    );
    age(&mut edge, 120 * SECOND);
    // The ring has another one for some flow.
    let all: Vec<_> = (3..40)
        .map(|port| {
            age(&mut edge, 120 * SECOND);
            edge.backend(&flow(port))
        })
        .collect();
    assert!(all.iter().any(|it| *it != first), "{all:?}");
    assert_eq!(edge.events(FlowEvent::Pinned), 1);
}

#[test]
fn t152_and_t153_clients_of_one_prefix_share_a_pin_and_those_of_the_next_do_not() {
    let affinity = Affinity::new(120, 24, 56, Scope::Eligible).within(GROUP);
    for (packet, same, other) in [
        (syn(), ["198.51.100.7", "198.51.100.200"], "198.51.101.1"),
        (
            syn_v6(),
            ["2001:db8:7:1::1", "2001:db8:7:ff::9"],
            "2001:db8:7:100::1",
        ),
    ] {
        let edge = edge_for(&Settings::default(), &packet, affinity);
        let both: BTreeSet<_> = same
            .iter()
            .flat_map(|client| backends(&edge, &packet, client))
            .collect();
        assert_eq!(both.len(), 1);
        assert_eq!(edge.pins().len(), 1);
        edge.backend(&from(packet, other, 1));
        assert_eq!(edge.pins().len(), 2);
        assert_eq!(edge.events(FlowEvent::PinSet), 2);
    }
}

/// A client that is pinned to target 2 by a flow that goes on, and the packets of that flow.
fn pinned_to_2(edge: &Edge) -> (String, Packet) {
    for last in 1..100 {
        let client = format!("198.51.100.{last}");
        if edge.backend(&from(syn(), &client, 9)) == Some(2) {
            return (client.clone(), from(data(), &client, 9));
        }
    }
    panic!("nobody is pinned to target 2")
}

#[test]
fn a_pinned_target_that_leaves_the_ring_is_left_where_it_must_be_eligible() {
    let mut edge = edge(default(Scope::Eligible));
    let (client, open) = pinned_to_2(&edge);
    edge.set_pinning_ring(WEB.row, 1024, default(Scope::Eligible), &[1; 64]);
    assert_eq!(edge.backend(&from(syn(), &client, 10)), Some(1));
    assert_eq!(edge.backend(&open), Some(2), "open connections stay");
    // Back in the ring, the old target has lost its clients.
    edge.set_pinning_ring(WEB.row, 2048, default(Scope::Eligible), &FOUR);
    let backends = backends(&edge, &syn(), &client);
    assert_eq!(backends, BTreeSet::from([Some(1)]));
}

#[test]
fn a_pinned_target_that_leaves_the_ring_is_kept_where_it_need_only_be_healthy() {
    let mut edge = edge(default(Scope::Healthy));
    let (client, _) = pinned_to_2(&edge);
    edge.set_pinning_ring(WEB.row, 1024, default(Scope::Healthy), &[1; 64]);
    // It stands in no ring, and so takes no new flow but those of pins.
    edge.set_target(
        2,
        Target {
            state: TargetState(0),
            ..edge::target(2)
        },
    );
    let backends = backends(&edge, &syn(), &client);
    assert_eq!(backends, BTreeSet::from([Some(2)]));
}

#[test]
fn a_pinned_target_that_is_disabled_is_left_and_its_open_connections_run_on() {
    for scope in [Scope::Eligible, Scope::Healthy] {
        let mut edge = edge(default(scope));
        let (client, open) = pinned_to_2(&edge);
        edge.set_pinning_ring(WEB.row, 1024, default(scope), &[1; 64]);
        edge.set_target(
            2,
            Target {
                state: TargetState(TargetState::DEAD),
                ..edge::target(2)
            },
        );
        let sent = backends(&edge, &syn(), &client);
        assert_eq!(sent, BTreeSet::from([Some(1)]), "{scope:?}");
        assert_eq!(edge.backend(&open), Some(2), "{scope:?}");
        // It moved, and does not come back when the target does.
        edge.set_target(2, edge::target(2));
        let sent = backends(&edge, &syn(), &client);
        assert_eq!(sent, BTreeSet::from([Some(1)]), "{scope:?}");
    }
}

#[test]
fn an_id_that_went_to_another_backend_has_lost_its_pins() {
    for scope in [Scope::Eligible, Scope::Healthy] {
        let mut edge = edge(default(scope));
        let (client, _) = pinned_to_2(&edge);
        edge.set_target(
            2,
            Target {
                identity: 77,
                ..edge::target(2)
            },
        );
        let sent: Vec<_> = (50..60)
            .map(|port| edge.backend(&from(syn(), &client, port)))
            .collect();
        assert_eq!(edge.events(FlowEvent::Pinned), 9, "{scope:?}: {sent:?}");
    }
}

#[test]
fn services_and_groups_have_pins_of_their_own() {
    let mut edge = edge(default(Scope::Healthy));
    let other = syn().to((syn().tuple().service.into(), 81));
    edge.publish(
        &other,
        Service {
            id: 4,
            row: Row::new(9, 1),
            ..WEB
        },
    );
    edge.set_pinning_ring(Row::new(9, 1), 1024, default(Scope::Healthy), &[3; 64]);
    let (client, _) = pinned_to_2(&edge);
    assert_eq!(edge.backend(&from(other, &client, 9)), Some(3));
    // A rule now sends the client to another group.
    let group = GROUP + 1;
    let service = WEB.id;
    edge.insert("SERVICE_GROUPS", ServiceGroup { service, group }, 1_u32);
    edge.set_target(
        5,
        Target {
            group,
            ..edge::target(5)
        },
    );
    let affinity = default(Scope::Healthy).within(group);
    edge.set_pinning_ring(WEB.row, 2048, affinity, &[5; 64]);
    assert_eq!(edge.backend(&from(syn(), &client, 10)), Some(5));
    edge.set_pinning_ring(WEB.row, 4096, default(Scope::Healthy), &FOUR);
    assert_eq!(edge.backend(&from(syn(), &client, 11)), Some(2));
}

#[test]
fn neither_resets_nor_frames_for_other_hosts_pin_a_client() {
    let edge = edge(default(Scope::Eligible));
    let client = "198.51.100.7";
    edge.run(&from(syn().flags(RST), client, 1).bytes());
    let foreign = from(syn().station([2, 0, 0, 0, 0, 0x77]), client, 2);
    edge.run(&foreign.bytes());
    assert_eq!(edge.pins(), []);
    assert_eq!(edge.service(WEB.id).packets, 1, "the reset alone is ours");
}

#[test]
fn a_client_is_not_pinned_to_an_answer() {
    let mut edge = edge(default(Scope::Healthy));
    let mut slots = FOUR;
    for slot in &mut slots {
        if *slot != 2 {
            *slot = Answer::REJECT.slot();
        }
    }
    edge.set_pinning_ring(WEB.row, 1024, default(Scope::Healthy), &slots);
    let verdicts: Vec<_> = (0..40_u16)
        .map(|i| {
            let flow = from(syn(), &format!("198.51.100.{i}"), 40_000 + i);
            edge.run(&flow.bytes()).action
        })
        .collect();
    assert!(verdicts.iter().all(|action| *action == XDP_TX));
    let rejected = edge.verdict(Verdict::Rejected).packets;
    let forwarded = edge.verdict(Verdict::Forwarded).packets;
    assert_eq!(rejected + forwarded, 40);
    assert!(rejected > 0 && forwarded > 0);
    assert_eq!(edge.pins().len() as u64, forwarded);
    let pinned = |(_, pin): &(PinKey, Pin)| pin.target() == 2;
    assert!(edge.pins().iter().all(pinned));
    edge.set("RINGS", WEB.row.first(), lb_common::Descriptor::DROP);
    assert_eq!(edge.run(&syn().bytes()).action, XDP_DROP);
}

#[test]
fn beyond_the_insert_limit_clients_are_served_without_a_pin() {
    let settings = Settings {
        insert_limit: 0,
        ..Settings::default()
    };
    let edge = edge_for(&settings, &syn(), default(Scope::Eligible));
    assert_eq!(backends(&edge, &syn(), "198.51.100.7").len(), 4);
    assert_eq!(edge.events(FlowEvent::PinLimited), 40);
    assert_eq!(edge.pins(), []);
}

#[test]
fn a_known_flow_follows_its_entry_and_not_the_pin() {
    let mut edge = edge(default(Scope::Healthy));
    let (client, open) = pinned_to_2(&edge);
    let [(key, _)] = edge
        .pins()
        .into_iter()
        .filter(|(key, _)| IpAddr::from(key.clients).to_string() == client)
        .collect::<Vec<_>>()[..]
    else {
        panic!()
    };
    let pin = Pin::new(3, edge::target(3).identity, edge::now());
    edge.insert("AFFINITY_PINS", key, pin);
    assert_eq!(edge.backend(&open), Some(2));
    assert_eq!(edge.backend(&from(syn(), &client, 10)), Some(3));
    // Packets of a known flow do not keep a pin alive.
    let before = edge.pins();
    edge.backend(&open);
    assert_eq!(edge.pins(), before);
}
