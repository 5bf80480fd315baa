//! The program that only tells how it decides.

use lb_common::{Descriptor, FLOW_EVENTS, Proof, Target, VERDICTS, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, Settings, WEB},
    packet::{MORE_FRAGMENTS, Packet, SERVICE, data, syn, syn_from},
};

const RING: Descriptor = Descriptor::new(100, 10);

fn proving() -> Edge {
    Edge::with_web(&Settings {
        proof: true,
        ..Settings::default()
    })
}

fn prove(edge: &Edge, packet: &Packet) -> Proof {
    let ran = edge.run(&packet.bytes());
    Proof::take(&ran.frame).expect("a proof").0
}

#[test]
fn it_names_class_ring_and_target_and_leaves_no_trace() {
    let mut edge = proving();
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 100, &[1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    let mut chosen = [0; 3];
    for client in 0..1000 {
        let packet = syn_from(client);
        let slot = RING.slot(
            &packet.tuple(),
            &edge::control(&Settings::default()).ring_key,
        );
        let target = if slot < 105 { 1 } else { 2 };
        let expected = Proof {
            class: 0,
            target,
            verdict: Verdict::Forwarded as u16,
            ring: RING,
        };
        let ran = edge.run(&packet.bytes());
        let sent = edge::forwarded(&packet.bytes(), &edge::target(target as u8));
        assert_eq!(Proof::take(&ran.frame), Some((expected, &sent[..])));
        chosen[usize::from(target)] += 1;
    }
    assert!(chosen[1..].iter().all(|flows| *flows > 400), "{chosen:?}");
    assert_eq!(edge.entries(), []);
    for verdict in VERDICTS {
        assert_eq!(edge.verdict(*verdict).packets, 0, "{verdict:?}");
    }
    for event in FLOW_EVENTS {
        assert_eq!(edge.events(*event), 0, "{event:?}");
    }
    assert_eq!(edge.service(WEB.id).packets, 0);
    assert_eq!(edge.target(1).packets, 0);
}

#[test]
fn a_flow_that_is_known_is_decided_anew() {
    let edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    let (bucket, entry) = edge.only_entry();
    let mut proving = proving();
    proving.set_target(2, edge::target(2));
    proving.set_ring(WEB.row, 100, &[2; 10]);
    proving.set_bucket(bucket, crate::stale::bucket_with(0, entry));
    assert_eq!(prove(&proving, &data()).target, 2);
}

#[test]
fn whatever_is_not_forwarded_has_its_verdict() {
    let mut edge = proving();
    let verdict = |edge: &Edge, packet: &Packet| {
        let proof = prove(edge, packet);
        (proof.target, VERDICTS[usize::from(proof.verdict)])
    };
    for (packet, expected) in [
        (syn().to((SERVICE.0, 81)), (0, Verdict::NotOurs)),
        (syn().fragment(MORE_FRAGMENTS), (0, Verdict::NotOurs)),
        (syn().payload(1461), (1, Verdict::TooBig)),
        (syn().ttl(1), (1, Verdict::TtlExpired)),
    ] {
        assert_eq!(verdict(&edge, &packet), expected);
    }
    for (ring, expected) in [
        (Descriptor::NO_ANSWER, Verdict::NoAnswer),
        (Descriptor::DROP, Verdict::PolicyDropped),
        (Descriptor::PASS, Verdict::PolicyPassed),
        (Descriptor::REJECT, Verdict::Rejected),
    ] {
        edge.set("RINGS", WEB.row.first(), ring);
        let proof = prove(&edge, &syn());
        assert_eq!(proof.ring, ring);
        assert_eq!(verdict(&edge, &syn()), (0, expected));
    }
    edge.set("RINGS", WEB.row.first(), RING);
    edge.set_target(1, Target::FREE);
    assert_eq!(verdict(&edge, &syn()), (0, Verdict::NoTarget));
}

#[test]
fn a_program_that_proves_does_not_hold_the_code_for_flows() {
    let (proves, forwards) = (proving().info(), Edge::load(&Settings::default()).info());
    assert!(proves.verified_instruction_count() < forwards.verified_instruction_count());
    assert!(proves.size_translated() < forwards.size_translated());
}
