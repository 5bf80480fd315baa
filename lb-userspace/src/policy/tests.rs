mod properties;
mod trees;

use std::{net::Ipv4Addr, time::Duration};

use proptest::prelude::*;

use super::{
    fixtures::{self, decided, member},
    *,
};
use crate::model::{
    Admin, AllDown, Group, LatencySource, Member, MemberState, Percent, Priority, Stage, Who,
};

/// A group with the stages of the front-door preset and a window of 30 ms.
fn front_door(members: Vec<Member>) -> Group {
    fixtures::front_door("web", members)
}

fn up(latency_ms: u64) -> MemberState {
    let why = "4 of the last 4 probes were good, 2 needed";
    fixtures::state(Health::Up, Some(latency_ms), why)
}

fn latency(window: Duration) -> Stage {
    let source = LatencySource::Probe;
    Stage::Latency { source, window }
}

fn down() -> MemberState {
    MemberState {
        health: Health::Down,
        latency: None,
        why: "1 of the last 4 probes was good, 2 needed".to_owned(),
        ..up(0)
    }
}

fn admin(admin: Admin) -> MemberState {
    MemberState { admin, ..up(1) }
}

fn unreachable() -> MemberState {
    MemberState {
        unreachable: Some("10.0.1.11 is behind a gateway".to_owned()),
        ..up(1)
    }
}

fn share(part: i64, of: i64) -> Share {
    Share::new(part.into(), of.into())
}

/// What each stage said of each member that it removed.
fn removals(decision: &Decision) -> Vec<(&'static str, MemberIndex, &str)> {
    let stages = decision.trace.iter();
    stages
        .flat_map(|it| (it.removed.iter()).map(|out| (it.stage, out.member, out.why.as_str())))
        .collect()
}

#[test]
fn every_removal_says_why() {
    let mut members: Vec<_> = "abcdefghij"
        .chars()
        .map(|it| member(&it.to_string(), 1, 50))
        .collect();
    members[0].enabled = false;
    members[6].priority = Priority::new(2).unwrap();
    let checking = MemberState {
        health: Health::Checking,
        why: String::new(),
        ..down()
    };
    let unmeasured = MemberState {
        latency: None,
        ..up(0)
    };
    let states = [
        up(1),
        admin(Admin::Disable),
        admin(Admin::Drain),
        unreachable(),
        down(),
        checking,
        up(1),
        up(15),
        up(60),
        unmeasured,
    ];
    let decision = decided(&front_door(members), &states);
    assert_eq!(
        removals(&decision),
        [
            ("enabled", 0, "disabled in the configuration"),
            ("enabled", 1, "disabled by the operator"),
            ("enabled", 2, "draining: takes no new flows"),
            ("enabled", 3, "10.0.1.11 is behind a gateway"),
            (
                "available",
                4,
                "not healthy: 1 of the last 4 probes was good, 2 needed"
            ),
            ("available", 5, "no verdict yet"),
            ("priority", 6, "priority 2, and 1 is available"),
            ("latency", 8, "45 ms slower than h, the window is 30 ms"),
            ("latency", 9, "no latency yet, and h has 15 ms"),
        ]
    );
    assert_eq!(decision.members, BTreeMap::from([(7, share(1, 1))]));
}

#[test]
fn what_takes_no_new_flows_gets_none_even_when_all_are_down() {
    let group = front_door(vec![
        member("a", 1, 1),
        member("b", 2, 9),
        member("c", 1, 5),
    ]);
    for out in [admin(Admin::Drain), admin(Admin::Disable), unreachable()] {
        let out = MemberState {
            health: Health::Down,
            ..out
        };
        let decision = decided(&group, &[down(), down(), out]);
        assert!(decision.best_effort);
        let halves = BTreeMap::from([(0, share(1, 2)), (1, share(1, 2))]);
        assert_eq!(decision.members, halves);
    }
}

#[test]
fn a_drained_healthy_member_does_not_hold_off_the_all_down_rule() {
    let group = front_door(vec![member("a", 1, 1), member("b", 1, 1)]);
    let decision = decided(&group, &[admin(Admin::Drain), down()]);
    assert!(decision.best_effort);
    assert_eq!(decision.members, BTreeMap::from([(1, share(1, 1))]));
}

#[test]
fn the_all_down_rule_ends_the_decision_and_says_so() {
    let group = front_door(vec![member("a", 1, 1), member("b", 2, 9)]);
    let decision = decided(&group, &[down(), down()]);
    let stages: Vec<_> = decision
        .trace
        .iter()
        .map(|it| (it.stage, it.note.as_deref()))
        .collect();
    let note = "no member is healthy: all get equal parts";
    assert_eq!(stages, [("enabled", None), ("available", Some(note))]);
}

#[test]
fn a_member_without_a_verdict_is_not_healthy() {
    let checking = MemberState {
        health: Health::Checking,
        ..up(1)
    };
    let group = front_door(vec![member("a", 1, 1), member("b", 1, 1)]);
    let decision = decided(&group, &[checking, up(20)]);
    assert_eq!(decision.members, BTreeMap::from([(1, share(1, 1))]));
    assert!(!decision.best_effort);
}

#[test]
fn with_everybody_disabled_nobody_gets_traffic() {
    let group = front_door(vec![member("a", 1, 1), member("b", 1, 1)]);
    let decision = decided(&group, &[admin(Admin::Disable), unreachable()]);
    assert_eq!(decision.members, BTreeMap::new());
    assert!(!decision.best_effort);
    assert_eq!(decision.trace.len(), 1);
    assert_eq!(decided(&front_door(vec![]), &[]).members, BTreeMap::new());
}

#[test]
fn members_with_the_same_latency_share_by_weight_in_a_window_of_zero() {
    let mut group = front_door(vec![
        member("a", 1, 3),
        member("b", 1, 7),
        member("c", 1, 5),
    ]);
    let window = Duration::ZERO;
    group.stages[2] = latency(window);
    let decision = decided(&group, &[up(15), up(15), up(16)]);
    let expected = BTreeMap::from([(0, share(3, 10)), (1, share(7, 10))]);
    assert_eq!(decision.members, expected);
    let why = "1 ms slower than a, the window is 0 ms";
    assert_eq!(removals(&decision), [("latency", 2, why)]);
}

#[test]
fn a_skipped_latency_stage_says_so() {
    let group = front_door(vec![member("a", 1, 3), member("b", 1, 7)]);
    let unmeasured = MemberState {
        latency: None,
        ..up(0)
    };
    let decision = decided(&group, &[unmeasured.clone(), unmeasured]);
    let note = "no member has a latency yet: all go on";
    assert_eq!(decision.trace[3].note.as_deref(), Some(note));
    assert_eq!(decision.trace[3].kept, [0, 1]);
}

#[test]
fn extreme_values_decide() {
    let mut group = front_door(vec![member("a", 1, 1), member("b", 5, 1000)]);
    let window = Duration::MAX;
    group.stages = vec![latency(window), group.stages[3]];
    let slowest = MemberState {
        latency: Some(Duration::MAX),
        ..up(0)
    };
    let decision = decided(&group, &[up(0), slowest]);
    let expected = BTreeMap::from([(0, share(1, 1001)), (1, share(1000, 1001))]);
    assert_eq!(decision.members, expected);
}

#[test]
fn stages_that_do_not_decide_end_in_equal_parts() {
    let mut group = front_door(vec![
        member("a", 1, 3),
        member("b", 1, 7),
        member("c", 2, 5),
    ]);
    group.stages = vec![Stage::Priority];
    let decision = decided(&group, &[up(1), down(), up(1)]);
    let halves = BTreeMap::from([(0, share(1, 2)), (1, share(1, 2))]);
    assert_eq!(decision.members, halves);
    assert!(!decision.best_effort);
}

#[test]
fn a_member_of_weight_0_takes_no_part_in_any_stage() {
    let mut group = front_door(vec![member("a", 1, 0), member("b", 2, 7)]);
    let decision = decided(&group, &[up(1), up(1)]);
    assert_eq!(decision.members, BTreeMap::from([(1, share(1, 1))]));
    assert_eq!(removals(&decision), [("enabled", 0, "weight 0")]);
    group.stages.clear();
    assert_eq!(
        decided(&group, &[down(), up(1)]).members.len(),
        1,
        "without the stage too"
    );
}

#[test]
fn a_stopped_member_has_no_part_in_the_weight_that_must_be_healthy() {
    let mut group = front_door(vec![
        member("a", 1, 40),
        member("b", 1, 10),
        member("c", 1, 50),
    ]);
    group.members[2].stopped = true;
    group.stages = vec![Stage::Available {
        all_down: AllDown::AsIfHealthy,
        min_healthy_weight: Percent::new(60),
    }];
    let decision = decided(&group, &[up(1), down(), up(1)]);
    assert_eq!(decision.members, BTreeMap::from([(0, share(1, 1))]));
    assert!(!decision.best_effort);
}

/// A member's name with its settings and its state.
fn anyone() -> impl Strategy<Value = (Member, MemberState)> {
    let admins = vec![Admin::Enable, Admin::Enable, Admin::Drain, Admin::Disable];
    let healths = vec![Health::Up, Health::Down, Health::Checking];
    let settings = (any::<bool>(), 1..=5i64, 1..=1000i64);
    let state = (
        proptest::sample::select(admins),
        proptest::sample::select(healths),
        proptest::option::of(0..100u64),
        proptest::bool::weighted(0.1),
    );
    (settings, state).prop_map(|((enabled, priority, weight), state)| {
        let (admin, health, latency, cut_off) = state;
        let member = Member {
            enabled,
            ..member("any", priority, weight)
        };
        let state = MemberState {
            admin,
            unreachable: cut_off.then(|| "no route".to_owned()),
            ..fixtures::state(health, latency, "")
        };
        (member, state)
    })
}

/// A group and states, and the same in another order.
fn shuffled() -> impl Strategy<Value = [(Group, Vec<MemberState>); 2]> {
    let members = proptest::collection::vec(anyone(), 0..12).prop_map(|mut members| {
        for (number, (member, _)) in members.iter_mut().enumerate() {
            member.who = Who::Backend(format!("b{number}").parse().unwrap());
        }
        members
    });
    let both = members.prop_flat_map(|it| (Just(it.clone()), Just(it).prop_shuffle()));
    both.prop_map(|(one, other)| {
        [one, other].map(|it| {
            let (members, states) = it.into_iter().unzip();
            (front_door(members), states)
        })
    })
}

/// Everything that a decision says, by name.
fn by_name(group: &Group, decision: &Decision) -> impl PartialEq + std::fmt::Debug + use<> {
    let name = |member: &MemberIndex| group.members[*member].name().clone();
    let shares: BTreeMap<_, _> = (decision.members.iter())
        .map(|(member, share)| (name(member), share.clone()))
        .collect();
    let trace: Vec<_> = (decision.trace.iter())
        .map(|it| {
            let mut kept: Vec<_> = it.kept.iter().map(name).collect();
            kept.sort();
            let removed = it
                .removed
                .iter()
                .map(|out| (name(&out.member), out.why.clone()));
            (
                it.stage,
                kept,
                removed.collect::<BTreeMap<_, _>>(),
                it.note.clone(),
            )
        })
        .collect();
    (shares, decision.best_effort, trace)
}

proptest! {
    #[test]
    fn the_order_of_the_members_does_not_matter([one, other] in shuffled()) {
        let (first, second) = (decided(&one.0, &one.1), decided(&other.0, &other.1));
        prop_assert_eq!(by_name(&one.0, &first), by_name(&other.0, &second));
    }

    #[test]
    fn shares_sum_to_one_unless_nobody_may_be_used([(group, states), _] in shuffled()) {
        let decision = decided(&group, &states);
        let usable = |(member, state): (&Member, &MemberState)| {
            member.enabled && state.admin == Admin::Enable && state.unreachable.is_none()
        };
        let usable: Vec<_> = group.members.iter().zip(&states).map(usable).collect();
        let sum: Share = decision.members.values().sum();
        prop_assert_eq!(sum, share(usable.contains(&true).into(), 1));
        prop_assert!(decision.members.keys().all(|member| usable[*member]));
        prop_assert!(decision.members.values().all(|it| *it > share(0, 1)));
    }

    #[test]
    fn each_stage_keeps_or_removes_each_candidate([(group, states), _] in shuffled()) {
        let decision = decided(&group, &states);
        let mut candidates: Vec<_> = (0..group.members.len()).collect();
        for stage in &decision.trace {
            let removed = stage.removed.iter().map(|it| it.member);
            let mut all: Vec<_> = stage.kept.iter().copied().chain(removed).collect();
            all.sort();
            prop_assert_eq!(all, candidates);
            candidates = stage.kept.clone();
        }
        prop_assert!(decision.members.keys().eq(&candidates));
    }
}
