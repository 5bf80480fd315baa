//! Rings of rows, and slots that are answers.

use std::sync::Arc;

use lb_common::Answer;

use super::*;

/// The client's flows go by its row, whatever the shares of all clients are.
#[test]
fn a_ring_of_rows_is_proved_by_the_row_of_the_client() {
    let mut rig = Rig::forwarding();
    rig.ring.columns = 37;
    rig.ring.slots = rig.ring.slots[..100 * 37].into();
    let rows = Arc::make_mut(&mut rig.ring.slots).chunks_mut(37);
    for (row, slots) in rows.enumerate() {
        slots.fill((row % 2) as u16);
    }
    rig.explanation.ring.hash = format!("{:016x}", crate::table::ring_hash(&rig.ring));
    rig.found.slots = rig.ring.slots.iter().map(|it| it + 1).collect();
    let descriptor = rig.ring.at(RING);
    rig.row = Some((0, descriptor));
    rig.run(descriptor);
    let Judgement::Holds(run) = rig.judge() else {
        panic!("{:?}", rig.judge());
    };
    assert_eq!(run.backends.len(), 1);
    rig.run(Descriptor::new(RING, 37 * 100));
    assert!(
        rig.differences()
            .iter()
            .any(|it| it.starts_with("share of "))
    );
}

#[test]
fn flows_whose_slot_is_an_answer_end_by_it() {
    let mut rig = Rig::forwarding();
    let drop = Answer::DROP.slot();
    Arc::make_mut(&mut rig.ring.slots)
        .iter_mut()
        .step_by(2)
        .for_each(|slot| *slot = drop);
    rig.found
        .slots
        .iter_mut()
        .step_by(2)
        .for_each(|slot| *slot = drop);
    rig.explanation.ring.hash = format!("{:016x}", crate::table::ring_hash(&rig.ring));
    for (name, share) in [("a", 0.15), ("b", 0.35)] {
        rig.explanation.shares.insert(name.parse().unwrap(), share);
    }
    rig.run(rig.row.unwrap().1);
    for answer in &mut rig.found.answers {
        if answer.target == drop {
            answer.target = 0;
            answer.verdict = Verdict::PolicyDropped as u16;
        }
    }
    assert!(
        matches!(rig.judge(), Judgement::Holds(_)),
        "{:?}",
        rig.judge()
    );
    let dropped = rig
        .found
        .answers
        .iter_mut()
        .find(|it| it.target == 0)
        .unwrap();
    dropped.verdict = Verdict::PolicyPassed as u16;
    assert_eq!(
        rig.differences(),
        ["verdict: decided policy_dropped for 1 flow; found policy_passed for 1 flow"]
    );
}
