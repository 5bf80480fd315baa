//! The limit that stands before every insert.

use lb_common::{FlowEvent, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, Settings},
    packet::syn_from,
    stay_on_one_cpu,
};

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

fn next_tick() -> u32 {
    let now = edge::now();
    loop {
        if edge::now() != now {
            return edge::now();
        }
        std::hint::spin_loop();
    }
}
