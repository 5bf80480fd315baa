//! The limit that stands before every insert.

use lb_common::{FlowEvent, Target, TargetState, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::{data, syn, syn_from},
    stay_on_one_cpu,
};

use crate::stale::bucket_with;

const LIMIT: u32 = 5;
const FLOOD: u32 = 64;

#[test]
fn a_flood_of_new_flows_is_forwarded_but_remembered_only_up_to_the_limit() {
    // The limit is per CPU.
    stay_on_one_cpu();
    let edge = Edge::with_web(&Settings {
        insert_limit: LIMIT,
        ..Settings::default()
    });
    // A flood that a tick's end divides proves nothing, so it is begun with a tick and repeated.
    for round in 0..100 {
        let tick = next_tick();
        let limited = edge.events(FlowEvent::Limited);
        let inserted = edge.events(FlowEvent::Inserted) + edge.events(FlowEvent::Evicted);
        for client in 0..FLOOD {
            let packet = syn_from(round * FLOOD + client);
            assert_eq!(edge.backend(&packet), Some(1));
        }
        if edge::now() != tick {
            continue;
        }
        let now_inserted = edge.events(FlowEvent::Inserted) + edge.events(FlowEvent::Evicted);
        assert_eq!(now_inserted - inserted, u64::from(LIMIT));
        let now_limited = edge.events(FlowEvent::Limited);
        assert_eq!(now_limited - limited, u64::from(FLOOD - LIMIT));
        return;
    }
    panic!("{FLOOD} packets never fit into one tick");
}

#[test]
fn a_limit_of_zero_leaves_the_ring_alone_to_choose() {
    let edge = Edge::with_web(&Settings {
        insert_limit: 0,
        ..Settings::default()
    });
    for client in 0..100 {
        assert_eq!(edge.backend(&syn_from(client)), Some(1));
    }
    assert_eq!(edge.entries(), []);
    assert_eq!(edge.events(FlowEvent::Limited), 100);
    assert_eq!(edge.verdict(Verdict::Forwarded).packets, 100);
}

/// Were the old entry left there, the second packet of the connection would follow it.
#[test]
fn a_flow_that_moves_is_remembered_though_the_limit_is_reached() {
    let unlimited = Edge::with_web(&Settings::default());
    assert_eq!(unlimited.backend(&syn()), Some(1));
    let (bucket, entry) = unlimited.only_entry();
    let mut edge = Edge::with_web(&Settings {
        insert_limit: 0,
        ..Settings::default()
    });
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 200, &[2; 10]);
    for state in [0, TargetState::DEAD] {
        let left = Target {
            state: TargetState(state),
            ..edge::target(1)
        };
        edge.set_target(1, left);
        edge.set_bucket(bucket, bucket_with(3, entry));
        assert_eq!(edge.backend(&data()), Some(1), "running");
        assert_eq!(edge.backend(&syn()), Some(2), "new connection");
        assert_eq!(edge.backend(&data()), Some(2), "its second packet");
    }
    assert_eq!(edge.events(FlowEvent::Left), 2);
    assert_eq!(edge.events(FlowEvent::Inserted), 2);
    assert_eq!(edge.events(FlowEvent::Limited), 0);
}

fn next_tick() -> u32 {
    let now = edge::now();
    loop {
        if edge::now() != now {
            return edge::now();
        }
        std::hint::spin_loop();
    }
}
