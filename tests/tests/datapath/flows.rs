//! A flow keeps its target.

use lb_common::{FlowEvent, FlowState, Target, TargetState};
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::{ACK, FIN, RST, SYN, data, syn, syn_from},
};

/// Targets 1 and 2 stand; flows that are new go to 2; `state` is what target 1 is used for now.
fn moved_to_2(edge: &mut Edge, state: u8) {
    let state = TargetState(state);
    edge.set_target(
        1,
        Target {
            state,
            ..edge::target(1)
        },
    );
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 200, &[2; 10]);
}

#[test]
fn a_flow_keeps_its_target_when_the_ring_changes() {
    let mut edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    moved_to_2(&mut edge, TargetState::TAKES_NEW);
    assert_eq!(edge.backend(&data()), Some(1));
    assert_eq!(edge.backend(&syn_from(5)), Some(2));
    assert_eq!(edge.events(FlowEvent::Miss), 2);
    assert_eq!(edge.events(FlowEvent::Inserted), 2);
    assert_eq!(edge.events(FlowEvent::Hit), 1);
}

#[test]
fn a_repeated_syn_stays_while_the_target_takes_new_flows() {
    let mut edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    moved_to_2(&mut edge, TargetState::TAKES_NEW);
    assert_eq!(edge.backend(&syn()), Some(1));
    assert_eq!(edge.events(FlowEvent::Left), 0);
}

#[test]
fn a_reused_source_port_to_a_dead_backend_reaches_a_live_one() {
    let mut edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    moved_to_2(&mut edge, TargetState::DEAD);
    assert_eq!(edge.backend(&data()), Some(1), "running");
    assert_eq!(edge.backend(&syn()), Some(2), "new connection");
    assert_eq!(edge.events(FlowEvent::Left), 1);
    assert_eq!(edge.backend(&data()), Some(2), "its second");
    let (_, entry) = edge.only_entry();
    assert_eq!(entry.target(), 2);
}

#[test]
fn a_draining_target_keeps_its_flows_and_gets_no_new_one() {
    let mut edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    moved_to_2(&mut edge, 0);
    for flags in [ACK, ACK | FIN, RST] {
        assert_eq!(edge.backend(&syn().flags(flags)), Some(1));
    }
    assert_eq!(edge.backend(&syn()), Some(2));
}

#[test]
fn a_reset_is_forwarded_and_never_remembered() {
    let edge = Edge::with_web(&Settings::default());
    for client in 0..100 {
        let packet = syn_from(client).flags(RST | ACK);
        assert_eq!(edge.backend(&packet), Some(1));
    }
    assert_eq!(edge.entries(), []);
    assert_eq!(edge.events(FlowEvent::Inserted), 0);
    assert_eq!(edge.events(FlowEvent::Miss), 100);
}

#[test]
fn the_state_of_an_entry_follows_the_connection() {
    let edge = Edge::with_web(&Settings::default());
    for (flags, state) in [
        (SYN, FlowState::OPENING),
        (ACK, FlowState::ESTABLISHED),
        (ACK, FlowState::ESTABLISHED),
        (ACK | FIN, FlowState::CLOSING),
        (ACK, FlowState::CLOSING),
        (SYN, FlowState::OPENING),
        (RST, FlowState::CLOSING),
    ] {
        let before = edge::now();
        assert_eq!(edge.backend(&syn().flags(flags)), Some(1));
        let (_, entry) = edge.only_entry();
        assert_eq!(entry.state(), state, "after {flags:#x}");
        assert!((before..=edge::now()).contains(&entry.last_seen()));
    }
    assert_eq!(edge.events(FlowEvent::Inserted), 1);
}
