//! Edges that share a service address send a flow to the same backend.

use lb_common::{Descriptor, FlowEvent};
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::syn_from,
};

const LENGTH: u16 = 16_381;
const FLOWS: u32 = 100_000;
const BUCKETS: u32 = 1 << 16;

/// The backend in a slot, the same on every edge: 1, 2 or 3, in no order.
fn backend(slot: u32) -> u8 {
    (slot.wrapping_mul(0x9e37_79b1) >> 16) as u8 % 3 + 1
}

/// An edge that calls backend `b` target `first + b`.
fn edge(secret: u64, first: u16) -> Edge {
    let mut edge = Edge::with_web(&Settings {
        buckets: BUCKETS,
        secret,
        ..Settings::default()
    });
    for backend in 1..=3 {
        edge.set_target(first + u16::from(backend), edge::target(backend));
    }
    edge
}

fn set_ring(edge: &mut Edge, offset: u32, first: u16) {
    let slots: Vec<u16> = (0..u32::from(LENGTH))
        .map(|slot| first + u16::from(backend(slot)))
        .collect();
    edge.set_ring(WEB.row, offset, &slots);
}

#[test]
fn edges_with_other_secrets_and_histories_choose_the_same_backends() {
    let mut young = edge(1, 100);
    set_ring(&mut young, 0, 100);

    // This one has served other flows by another ring, which stood elsewhere in the pool.
    let mut old = edge(99, 3000);
    old.set_ring(WEB.row, 0, &[3003; 10]);
    for client in 0..20_000 {
        assert_eq!(old.backend(&syn_from(FLOWS + client)), Some(3));
    }
    set_ring(&mut old, 40_000, 3000);

    let ring = Descriptor::new(0, LENGTH.into());
    let key = edge::control(&Settings::default()).ring_key;
    let mut flows_per_backend = [0; 4];
    for client in 0..FLOWS {
        let packet = syn_from(client);
        let chosen = backend(ring.slot(&packet.tuple(), &key));
        assert_eq!(young.backend(&packet), Some(chosen), "flow {client}");
        assert_eq!(old.backend(&packet), Some(chosen), "flow {client}");
        flows_per_backend[usize::from(chosen)] += 1;
    }
    assert_eq!(young.events(FlowEvent::Miss), u64::from(FLOWS));
    assert!(
        flows_per_backend[1..]
            .iter()
            .all(|flows| *flows > FLOWS / 5)
    );
    // The history is still there: only flows that are new go by the new ring.
    assert_eq!(old.backend(&syn_from(FLOWS)), Some(3));
}
