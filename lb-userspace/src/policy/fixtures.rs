//! What the tests of decisions share.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use super::{Client, Decision, Scene, decide};
use crate::model::{
    Admin, AllDown, Backend, Forward, Group, Health, HealthRule, LatencySource, Member,
    MemberState, Name, NoAnswer, OnDown, Policy, Priority, ProbedAt, Ramp, Spread, Stage, Weight,
    Who,
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
        on_down: OnDown::DEFAULT,
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

/// Backends of these names: the address of each is made of the number in it, or of its place.
pub(crate) fn backends(names: &[&str]) -> BTreeMap<Name, Backend> {
    let backend = |(place, name): (usize, &&str)| {
        let number = name
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .parse();
        let backend = Backend {
            name: name.parse().unwrap(),
            address: Ipv4Addr::from_bits(0x0a00_0000 + number.unwrap_or(place as u32)).into(),
            forward: Forward::L2Dsr,
            vlan: None,
            location: None,
            region: None,
            port: None,
            probe: ProbedAt::default(),
        };
        (backend.name.clone(), backend)
    };
    names.iter().enumerate().map(backend).collect()
}

/// The decision for a group of backends, which are those of [`backends`].
pub(crate) fn decided(group: &Group, states: &[MemberState]) -> Decision {
    let names: Vec<&str> = group.backends().map(|(.., name)| name.as_str()).collect();
    let name = &group.name;
    let scene = Scene {
        groups: &BTreeMap::from([(name.clone(), group.clone())]),
        backends: &backends(&names),
        states: &BTreeMap::from([(name.clone(), states.to_vec())]),
        regions: &[],
    };
    decide(&scene, name, &Client::unknown(true))
}
