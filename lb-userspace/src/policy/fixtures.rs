//! What the tests of decisions share.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use super::{Client, Decision, Scene, decide};
use crate::model::{
    Admin, AllDown, Backend, Forward, Group, Health, HealthRule, LatencySource, Member,
    MemberState, NoAnswer, Policy, Priority, ProbedAt, Ramp, Spread, Stage, Weight, Who,
};

/// A group with the stages of the front-door preset and a window of 30 ms.
pub(crate) fn front_door(name: &str, members: Vec<Member>) -> Group {
    let stages = vec![
        Stage::Available {
            all_down: AllDown::RoundRobin,
            min_healthy_weight: None,
        },
        Stage::Priority,
        Stage::Latency {
            source: LatencySource::Probe,
            window: Duration::from_millis(30),
        },
        Stage::Weight {
            equal: false,
            spread: Spread::Flow,
        },
    ];
    Group {
        name: name.parse().unwrap(),
        enabled: true,
        policy: Policy::FrontDoor,
        stages,
        no_answer: NoAnswer::Reject,
        backup: None,
        affinity: None,
        members,
        probe: None,
        health: HealthRule::DEFAULT,
        slow_start: Duration::ZERO,
    }
}

pub(crate) fn member(name: &str, priority: i64, weight: i64) -> Member {
    Member {
        priority: Priority::new(priority).unwrap(),
        weight: Weight::new(weight).unwrap(),
        ..Member::new(Who::Backend(name.parse().unwrap()))
    }
}

pub(crate) fn state(health: Health, latency_ms: Option<u64>, why: &str) -> MemberState {
    MemberState {
        admin: Admin::Enable,
        unreachable: None,
        health,
        serves_unchecked: false,
        ramp: Ramp::FULL,
        latency: latency_ms.map(Duration::from_millis),
        why: why.to_owned(),
    }
}

/// The decision for a group of backends; number n is at 10.0.0.n.
pub(crate) fn decided(group: &Group, states: &[MemberState]) -> Decision {
    let backends = group.backends().map(|(place, _, name)| {
        let backend = Backend {
            name: name.clone(),
            address: Ipv4Addr::from_bits(0x0a00_0000 + place as u32).into(),
            forward: Forward::L2Dsr,
            location: None,
            region: None,
            probe: ProbedAt::default(),
        };
        (name.clone(), backend)
    });
    let name = &group.name;
    let scene = Scene {
        groups: &BTreeMap::from([(name.clone(), group.clone())]),
        backends: &backends.collect(),
        states: &BTreeMap::from([(name.clone(), states.to_vec())]),
    };
    decide(&scene, name, &Client::unknown(true))
}
