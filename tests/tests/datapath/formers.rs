//! For a while after a ring has changed, packets of connections that no entry knows go by the one before.

use lb_common::{
    Affinity, Answer, Descriptor, FlowEvent, FormerRing, Proof, Row, Scope, Service, ServiceGroup,
    Target, TargetState, Verdict,
};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Settings, WEB},
    packet::{ACK, FIN, Packet, RST, SYN, syn, syn_v6},
};

use super::{control::error_about, fragments::fragment};

/// Where the ring before stands, all of target 2; the present one is all of target 1.
const BEFORE: u32 = 640;

/// An edge whose service, the one that `packet` is addressed to, changed its ring, which counts for so
/// many ticks from now on.
fn edge(packet: &Packet, ticks: u32) -> Edge {
    edge_of(&Settings::default(), packet, ticks)
}

fn edge_of(settings: &Settings, packet: &Packet, ticks: u32) -> Edge {
    let mut edge = Edge::serving(settings, packet);
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, BEFORE, &[2; 10]);
    edge.set_ring(WEB.row, 100, &[1; 10]);
    let until = edge::now().wrapping_add(ticks);
    edge.set("FORMER_RINGS", WEB.row.first(), former(until));
    edge
}

fn former(until: u32) -> FormerRing {
    FormerRing::new(Descriptor::new(BEFORE, 10), until)
}

/// Long enough for a test.
const LONG: u32 = 10_000;

fn packets() -> [Packet; 2] {
    [syn(), syn_v6()]
}

#[test]
fn a_new_connection_goes_by_the_new_ring_and_an_unknown_one_by_the_old_one() {
    for packet in packets() {
        for (flags, backend) in [(SYN, 1), (ACK, 2), (SYN | ACK, 2), (FIN | ACK, 2), (RST, 2)] {
            let edge = edge(&packet, LONG);
            let sent = packet.clone().flags(flags);
            assert_eq!(edge.backend(&sent), Some(backend), "{flags:#x}");
            let by_former = u64::from(backend == 2);
            assert_eq!(edge.events(FlowEvent::Former), by_former);
            assert_eq!(edge.events(FlowEvent::Miss), 1);
            assert_eq!(edge.verdict(Verdict::Forwarded).packets, 1);
            assert_eq!(edge.service(WEB.id).packets, 1);
            assert_eq!(edge.target(backend.into()).packets, 1);
        }
    }
}

#[test]
fn a_connection_that_went_by_the_old_ring_stays_there_when_the_grace_is_over() {
    for packet in packets() {
        let mut edge = edge(&packet, LONG);
        let data = packet.clone().flags(ACK);
        assert_eq!(edge.backend(&data), Some(2));
        assert_eq!(edge.only_entry().1.target(), 2);
        edge.set("FORMER_RINGS", WEB.row.first(), FormerRing::NONE);
        assert_eq!(edge.backend(&data), Some(2));
        assert_eq!(edge.backend(&packet), Some(2), "its entry, as of any flow");
        assert_eq!(edge.events(FlowEvent::Former), 1);
    }
}

#[test]
fn after_the_grace_all_go_by_the_new_ring() {
    for packet in packets() {
        for until in [0, 1, LONG] {
            let mut edge = edge(&packet, 0);
            let over = edge::now().wrapping_sub(until);
            edge.set("FORMER_RINGS", WEB.row.first(), former(over));
            assert_eq!(edge.backend(&packet.clone().flags(ACK)), Some(1), "{until}");
            assert_eq!(edge.events(FlowEvent::Former), 0);
        }
    }
}

#[test]
fn an_element_without_a_ring_leads_nowhere() {
    for none in [Descriptor::NO_ANSWER, Descriptor::REJECT, Descriptor::PASS] {
        let mut edge = edge(&syn(), LONG);
        let until = edge::now().wrapping_add(LONG);
        let former = FormerRing::new(none, until);
        edge.set("FORMER_RINGS", WEB.row.first(), former);
        assert_eq!(edge.backend(&syn().flags(ACK)), Some(1));
    }
}

#[test]
fn a_target_that_takes_no_new_flows_goes_on_with_what_it_had() {
    let mut edge = edge(&syn(), LONG);
    let draining = Target {
        state: TargetState(0),
        ..edge::target(2)
    };
    edge.set_target(2, draining);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(2));
}

#[test]
fn a_target_that_is_dead_removed_flushed_unreachable_or_another_group_s_is_left_to_the_new_ring() {
    let target = edge::target(2);
    let others = [
        Target {
            state: TargetState(TargetState::DEAD),
            ..target
        },
        Target { epoch: 1, ..target },
        Target {
            group: GROUP + 1,
            ..target
        },
        Target {
            next_hop: [0; 6],
            ..target
        },
        Target::FREE,
    ];
    for packet in packets() {
        for other in others {
            let mut edge = edge(&packet, LONG);
            edge.set_target(2, other);
            let data = packet.clone().flags(ACK);
            assert_eq!(edge.backend(&data), Some(1), "{other:?}");
            assert_eq!(edge.events(FlowEvent::Former), 0);
            assert_eq!(edge.only_entry().1.target(), 1);
        }
    }
}

#[test]
fn a_target_of_a_group_that_still_serves_goes_on() {
    let mut edge = edge(&syn(), LONG);
    let group = GROUP + 1;
    edge.set_target(
        2,
        Target {
            group,
            ..edge::target(2)
        },
    );
    let service = WEB.id;
    edge.insert("SERVICE_GROUPS", ServiceGroup { service, group }, 1_u32);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(2));
}

#[test]
fn a_slot_of_an_answer_is_left_to_the_new_ring_and_an_empty_new_ring_to_the_old_one() {
    let mut edge = edge(&syn(), LONG);
    edge.set("RINGS", WEB.row.first(), Descriptor::NO_ANSWER);
    assert_eq!(edge.backend(&syn()), None);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(2));
    edge.forget_flows();
    edge.set_ring(WEB.row, BEFORE, &[Answer::DROP.slot(); 10]);
    // Whose numbers have the same low bits as those of answers.
    for id in 4093..4096 {
        edge.set_target(id, edge::target(9));
    }
    edge.set_ring(WEB.row, 100, &[1; 10]);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(1));
}

#[test]
fn a_proof_tells_how_a_new_connection_goes() {
    let settings = Settings {
        proof: true,
        ..Settings::default()
    };
    let edge = edge_of(&settings, &syn(), LONG);
    for packet in [syn(), syn().flags(ACK)] {
        let ran = edge.run(&packet.bytes());
        let (proof, _) = Proof::take(&ran.frame).expect("a proof");
        assert_eq!(proof.target, 1);
    }
    assert_eq!(edge.events(FlowEvent::Former), 0);
}

#[test]
fn datagrams_go_by_the_new_ring() {
    for packet in packets() {
        let packet = packet.udp();
        let edge = edge(&packet, LONG);
        assert_eq!(edge.backend(&packet), Some(1));
        assert_eq!(edge.events(FlowEvent::Former), 0);
    }
}

#[test]
fn each_class_of_clients_has_a_former_ring_of_its_own() {
    let mut edge = edge(&syn(), LONG);
    let address = syn().tuple().service;
    let row = Row::new(WEB.row.first(), 2);
    edge.publish(
        &syn(),
        Service {
            address,
            row,
            ..WEB
        },
    );
    // All clients are of class 0; it is the other that changed.
    let known = former(edge::now().wrapping_add(LONG));
    edge.set("FORMER_RINGS", WEB.row.first(), FormerRing::NONE);
    edge.set("FORMER_RINGS", WEB.row.first() + 1, known);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(1));
    edge.forget_flows();
    edge.set("FORMER_RINGS", WEB.row.first(), known);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(2));
}

#[test]
fn a_first_fragment_goes_as_a_packet_would_and_the_others_after_it() {
    for packet in packets() {
        let edge = edge(&packet, LONG);
        let data = packet.clone().flags(ACK).payload(64);
        for (at, more) in [(0, true), (8, true), (16, false)] {
            let frame = fragment(&data, 3, at, more);
            assert_eq!(edge.run(&frame).frame[5], 2);
        }
        assert_eq!(edge.events(FlowEvent::Former), 1);
        assert_eq!(edge.only_entry().1.target(), 2);
    }
}

#[test]
fn an_error_about_an_unknown_connection_goes_by_the_old_ring() {
    for packet in packets() {
        let edge = edge(&packet, LONG);
        assert_eq!(edge.run(&error_about(&packet)).frame[5], 2);
        assert_eq!(edge.entries(), [], "it is no packet of its flow");
        let packet = packet.udp();
        edge_of_both(edge, &packet);
    }
}

fn edge_of_both(mut edge: Edge, packet: &Packet) {
    let address = packet.tuple().service;
    edge.publish(packet, Service { address, ..WEB });
    assert_eq!(edge.run(&error_about(packet)).frame[5], 1, "of a datagram");
}

#[test]
fn a_client_s_pin_says_more_than_the_old_ring() {
    let mut edge = edge(&syn(), LONG);
    edge.set_target(3, edge::target(3));
    let affinity = Affinity::new(120, 32, 128, Scope::Healthy).within(GROUP);
    edge.set_pinning_ring(WEB.row, 1024, affinity, &[1; 64]);
    let from = |packet: Packet, port| packet.from((syn().tuple().client.into(), port));
    assert_eq!(
        edge.backend(&from(syn().flags(ACK), 1)),
        Some(2),
        "no pin yet"
    );
    assert_eq!(edge.pins().len(), 1);
    assert_eq!(
        edge.backend(&from(syn(), 2)),
        Some(2),
        "where its older flow is"
    );
    edge.set_pinning_ring(WEB.row, 2048, affinity, &[3; 64]);
    let other = |port| syn().from(("198.51.100.77".parse().expect("an address"), port));
    assert_eq!(edge.backend(&other(1)), Some(3));
    assert_eq!(edge.backend(&other(2).flags(ACK)), Some(3), "by its pin");
}

#[test]
fn a_ring_before_with_a_head_is_gone_by_behind_it() {
    let mut edge = edge(&syn(), LONG);
    let affinity = Affinity::new(120, 32, 128, Scope::Eligible).within(GROUP);
    edge.set_pinning_ring(WEB.row, BEFORE, affinity, &[2; 10]);
    let until = edge::now().wrapping_add(LONG);
    let ring = Descriptor::new(BEFORE, 10).with_head();
    edge.set(
        "FORMER_RINGS",
        WEB.row.first(),
        FormerRing::new(ring, until),
    );
    edge.set_ring(WEB.row, 1024, &[1; 10]);
    assert_eq!(edge.backend(&syn().flags(ACK)), Some(2));
    assert_eq!(edge.pins(), [], "the present ring has no affinity");
}
