//! What becomes of the flows of a target that is down.

use lb_common::{FlowEvent, FlowState, Target, TargetState, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, STATION, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{ACK, FIN, Packet, RST, data, syn, syn_v6},
};

/// An edge with an established flow of `packet` to target 1, which is down now, and whose state has
/// these bits besides; flows that are new go to target 2.
fn down(packet: &Packet, bits: u8) -> Edge {
    let mut edge = Edge::serving(&Settings::default(), packet);
    for packet in [packet.clone(), packet.clone().flags(ACK)] {
        assert_eq!(edge.backend(&packet), Some(1));
    }
    let state = TargetState(TargetState::DEAD | bits);
    let dead = Target {
        state,
        ..edge::target(1)
    };
    edge.set_target(1, dead);
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 200, &[2; 10]);
    edge
}

#[test]
fn case_56_a_repeated_syn_to_a_target_that_is_down_is_a_new_flow_whatever_becomes_of_others() {
    for bits in [0, TargetState::TCP_MOVES, TargetState::TCP_ENDS] {
        let edge = down(&syn(), bits);
        assert_eq!(edge.backend(&syn()), Some(2));
        assert_eq!(edge.backend(&data()), Some(2), "its second packet");
        assert_eq!(edge.events(FlowEvent::Left), 1);
        assert_eq!(edge.only_entry().1.target(), 2);
    }
}

#[test]
fn case_57_a_connection_stays_or_moves_as_the_target_says() {
    for (bits, backend) in [(0, 1), (TargetState::TCP_MOVES, 2)] {
        for opening in [syn(), syn_v6()] {
            let edge = down(&opening, bits);
            for flags in [ACK, ACK, ACK | FIN] {
                let packet = opening.clone().flags(flags);
                assert_eq!(edge.backend(&packet), Some(backend), "{bits} {flags}");
            }
            assert_eq!(edge.only_entry().1.target(), u16::from(backend));
            assert_eq!(edge.events(FlowEvent::Left), u64::from(backend == 2));
            assert_eq!(edge.events(FlowEvent::Ended), 0);
        }
    }
}

#[test]
fn case_58_a_flow_of_udp_moves_unless_the_target_says_that_it_stays() {
    for (bits, backend) in [
        (0, 2),
        (TargetState::TCP_MOVES, 2),
        (TargetState::TCP_ENDS, 2),
        (TargetState::UDP_STAYS, 1),
    ] {
        let packet = syn().udp();
        let edge = down(&packet, bits);
        assert_eq!(edge.backend(&packet), Some(backend), "{bits}");
        assert_eq!(edge.only_entry().1.target(), u16::from(backend));
    }
}

#[test]
fn a_connection_that_ends_with_its_target_is_reset_and_closing() {
    for opening in [syn(), syn_v6()] {
        let edge = down(&opening, TargetState::TCP_ENDS);
        assert_eq!(edge.only_entry().1.state(), FlowState::ESTABLISHED);
        for flags in [ACK, ACK | FIN] {
            let sent = opening.clone().flags(flags).bytes();
            let ran = edge.run(&sent);
            assert_eq!(ran.action, XDP_TX);
            assert_eq!(ran.frame[..6], sent[6..12], "to the sender's station");
            // Ports and sequence number stand before the flags of a header without options.
            let transport = if sent[12] == 8 { 34 } else { 54 };
            assert_eq!(ran.frame[transport + 13], RST);
            let (_, entry) = edge.only_entry();
            assert_eq!((entry.target(), entry.state()), (1, FlowState::CLOSING));
        }
        assert_eq!(edge.verdict(Verdict::BackendDown).packets, 2);
        assert_eq!(edge.events(FlowEvent::Ended), 2);
        assert_eq!(edge.target(2).packets, 0);
    }
}

#[test]
fn a_reset_to_a_target_that_ends_its_connections_is_not_answered() {
    let edge = down(&syn(), TargetState::TCP_ENDS);
    assert_eq!(edge.run(&syn().flags(RST).bytes()).action, XDP_DROP);
    assert_eq!(edge.verdict(Verdict::ReplySilent).packets, 1);
}

#[test]
fn of_a_frame_for_another_host_nobody_is_told_and_no_connection_ends() {
    let edge = down(&syn(), TargetState::TCP_ENDS);
    let mut frame = data().bytes();
    frame[..6].copy_from_slice(&STATION);
    frame[5] ^= 1;
    let ran = edge.run(&frame);
    assert_eq!((ran.action, ran.frame), (XDP_PASS, frame));
    assert_eq!(edge.only_entry().1.state(), FlowState::ESTABLISHED);
    assert_eq!(edge.verdict(Verdict::BackendDown).packets, 0);
}
