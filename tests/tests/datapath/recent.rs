//! What a CPU keeps in mind of the flows that it has just sent packets of.

use std::{thread, time::Duration};

use lb_common::{Bucket, Entry, FlowEvent, Recent, Target, TargetState, WAYS};
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::{ACK, Packet, SYN, first_of_each, syn, syn_from, syn_v6},
    stay_on_one_cpu,
};

use crate::{
    full_nat,
    stale::{bucket_with, with_entry_on},
};

/// Longer than a period of any kernel.
const OVER: Duration = Duration::from_millis(400);

/// How often something is tried that a new period, or the turn of another program, can spoil.
const TRIES: usize = 50;

/// An edge on which the connection of a SYN goes to target 1, while new ones go to target 2.
fn with_connection(packet: &Packet) -> Edge {
    stay_on_one_cpu();
    let mut edge = Edge::serving(&Settings::default(), packet);
    assert_eq!(edge.backend(packet), Some(1));
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 200, &[2; 10]);
    edge
}

/// Takes the only entry out of the flow table, where only the next look-up sees it.
fn take_out(edge: &mut Edge) -> (u32, Entry) {
    let (bucket, entry) = edge.only_entry();
    edge.set("FLOWS", bucket, Bucket([Entry::default(); WAYS]));
    (bucket, entry)
}

#[test]
fn for_a_moment_a_flow_needs_no_entry_and_then_it_does() {
    for packet in first_of_each() {
        let mut edge = with_connection(&packet);
        let next = packet.flags(ACK).payload(10);
        let is_remembered = (0..TRIES).any(|_| {
            assert_eq!(edge.backend(&next), Some(1));
            let (bucket, entry) = take_out(&mut edge);
            let sent_to = edge.backend(&next);
            edge.forget_flows();
            edge.set_bucket(bucket, bucket_with(0, entry));
            sent_to == Some(1)
        });
        assert!(is_remembered, "{:?}", next.tuple());
        assert_eq!(edge.backend(&next), Some(1));
        thread::sleep(OVER);
        let misses = edge.events(FlowEvent::Miss);
        take_out(&mut edge);
        assert_eq!(edge.backend(&next), Some(2), "{:?}", next.tuple());
        assert_eq!(edge.events(FlowEvent::Miss), misses + 1);
    }
}

#[test]
fn whatever_changes_in_the_tables_counts_for_the_next_packet() {
    for packet in first_of_each() {
        let mut edge = with_connection(&packet);
        let next = packet.flags(ACK).payload(10);
        for _ in 0..TRIES {
            assert_eq!(edge.backend(&next), Some(1));
            let (bucket, entry) = take_out(&mut edge);
            edge.set_target(7, edge::target(7));
            assert_eq!(edge.backend(&next), Some(2));
            edge.forget_flows();
            edge.set_bucket(bucket, bucket_with(0, entry));
        }
        edge.set_target(1, Target::FREE);
        assert_eq!(edge.backend(&next), Some(2));
    }
}

#[test]
fn a_connection_that_begins_anew_elsewhere_stays_there() {
    for packet in [syn(), syn_v6()] {
        let mut edge = with_connection(&packet);
        let next = packet.clone().flags(ACK);
        edge.set_target(
            1,
            Target {
                state: TargetState(0),
                ..edge::target(1)
            },
        );
        for _ in 0..3 {
            assert_eq!(edge.backend(&next), Some(1));
        }
        assert_eq!(edge.backend(&packet.flags(SYN)), Some(2));
        for _ in 0..3 {
            assert_eq!(edge.backend(&next), Some(2));
        }
    }
}

#[test]
fn the_entry_of_a_busy_flow_stays_young() {
    stay_on_one_cpu();
    // Ticks of 67 ms: two thirds of a second.
    let (edge, ..) = with_entry_on(&Settings {
        idle: [10; 4],
        ..Settings::default()
    });
    for _ in 0..100 {
        assert_eq!(edge.backend(&syn().flags(ACK)), Some(1));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(edge.events(FlowEvent::Hit), 100);
}

#[test]
fn flows_that_meet_in_one_set_all_go_their_ways() {
    stay_on_one_cpu();
    let mut edge = Edge::with_web(&Settings::default());
    let ids: Vec<u16> = (1..=10).collect();
    for id in &ids {
        edge.set_target(*id, edge::target(u8::try_from(*id).expect("ids are small")));
    }
    edge.set_ring(WEB.row, 200, &ids);
    let set = Recent::set(&syn_from(0).tuple());
    let flows: Vec<Packet> = (0..200_000)
        .map(syn_from)
        .filter(|flow| Recent::set(&flow.tuple()) == set)
        .collect();
    let sent_to: Vec<Option<u8>> = flows.iter().map(|flow| edge.backend(flow)).collect();
    assert!(flows.len() > 10, "{}", flows.len());
    assert!(sent_to.iter().any(|it| *it != sent_to[0]), "{sent_to:?}");
    for _ in 0..20 {
        for (flow, sent_to) in flows.iter().zip(&sent_to) {
            assert_eq!(edge.backend(&flow.clone().flags(ACK)), *sent_to);
        }
    }
    assert_eq!(edge.events(FlowEvent::Hit), 20 * flows.len() as u64);
}

#[test]
fn answers_go_to_the_station_that_the_last_packet_came_from() {
    stay_on_one_cpu();
    for packet in first_of_each() {
        let edge = full_nat::edge(&Settings::default(), &packet);
        let first = edge.run(&packet.bytes());
        assert_eq!(first.action, edge::XDP_TX);
        let answer = full_nat::answer(&edge, &packet.clone().flags(ACK)).bytes();
        let stations = [0xa1, 0xa1, 0xa1, 0xa2, 0xa2, 0xa1, 0xa2];
        for station in stations.repeat(TRIES) {
            let mut frame = packet.clone().flags(ACK).bytes();
            frame[11] = station;
            let there = edge.run(&frame);
            assert_eq!(there.action, edge::XDP_TX);
            assert_eq!(edge.run(&answer).frame[5], station);
        }
    }
}
