use std::{collections::BTreeMap, time::Duration};

use lb_userspace::{
    model::{
        Admin, AllDown, Group, Health, HealthRule, Member, MemberState, Priority, Ramp, Stage,
        Weight,
    },
    policy::decide,
};

use crate::file::vector;

/// The observations of a vector: what is not named is healthy and unmeasured.
#[derive(Clone, Copy, Default)]
struct Observed {
    unhealthy: &'static [&'static str],
    latency: &'static [(&'static str, u64)],
}

/// `C unhealthy; lat A15 B30 C10 D60 E5 F1`.
const W1: Observed = Observed {
    unhealthy: &["C"],
    latency: &[
        ("A", 15),
        ("B", 30),
        ("C", 10),
        ("D", 60),
        ("E", 5),
        ("F", 1),
    ],
};

#[test]
fn t01_the_worked_example_w1() {
    check("T01", W1);
}

#[test]
fn t02_without_a_window_the_fastest_gets_all() {
    check("T02", W1);
}

#[test]
fn t03_the_edge_of_the_window_is_in_it() {
    check("T03", W1);
}

#[test]
fn t04_a_window_that_is_one_millisecond_too_small() {
    check("T04", W1);
}

#[test]
fn t05_a_member_without_a_weight_has_the_default() {
    check("T05", W1);
}

#[test]
fn t06_the_wider_window_is_one_millisecond_too_small() {
    check("T06", W1);
}

#[test]
fn t08_the_next_priority_takes_over() {
    let unhealthy = &["A", "B", "C", "D"];
    check("T08", Observed { unhealthy, ..W1 });
}

#[test]
fn t09_all_down_is_equal_parts_for_all_that_are_enabled() {
    let unhealthy = &["A", "B", "C", "D", "E", "F"];
    check("T09", Observed { unhealthy, ..W1 });
}

#[test]
fn t10_one_healthy_member_ends_the_all_down_rule() {
    let unhealthy = &["A", "B", "C", "D", "E"];
    check("T10", Observed { unhealthy, ..W1 });
}

#[test]
fn t14_a_disabled_member_gets_nothing_though_it_is_healthy() {
    check("T14", Observed::default());
}

#[test]
fn t15_an_unmeasured_member_waits_while_a_measured_one_exists() {
    let latency = &[("A", 15), ("D", 60)];
    check("T15", Observed { latency, ..W1 });
}

#[test]
fn t16_without_any_latency_the_window_is_skipped() {
    check("T16", Observed { latency: &[], ..W1 });
}

#[test]
fn t17_a_single_member_is_used_though_it_is_down() {
    let unhealthy = &["X"];
    check(
        "T17",
        Observed {
            unhealthy,
            ..Observed::default()
        },
    );
}

fn check(id: &str, observed: Observed) {
    let vector = vector(id);
    let group = group(&vector.config);
    let states: Vec<_> = group
        .members
        .iter()
        .map(|member| state(member, observed))
        .collect();
    let decision = decide(&group, &states);
    let shares: BTreeMap<_, _> = (decision.shares.into_iter())
        .map(|(member, share)| (group.members[member].backend.to_string(), share))
        .collect();
    assert_eq!(shares, vector.shares(), "{id}");
}

/// Reads `FD group: A p1 w3, C p1, E p1 disabled; w default 50; sens 30`.
fn group(config: &str) -> Group {
    let (_, rest) = config.split_once(": ").expect("a kind and its members");
    let mut parts = rest.split("; ");
    let members = parts.next().expect("members");
    let members = members.trim_start_matches("single origin ").split(", ");
    let mut window = Duration::ZERO;
    for part in parts {
        match part.split(' ').collect::<Vec<_>>()[..] {
            ["sens", millis] | ["sens", millis, "(default)"] => {
                window = Duration::from_millis(millis.parse().expect("milliseconds"));
            }
            ["w", "default", weight] => {
                assert_eq!(weight.parse(), Ok(Weight::DEFAULT.value()));
            }
            _ => panic!("unknown words: {part}"),
        }
    }
    Group {
        name: "fd".parse().expect("a name"),
        stages: vec![
            Stage::Available(AllDown::RoundRobin),
            Stage::Priority,
            Stage::Latency { window },
            Stage::Weight,
        ],
        members: members.map(member).collect(),
        probe: None,
        health: HealthRule::DEFAULT,
        slow_start: Duration::ZERO,
    }
}

/// Reads `E p1 w3 disabled`.
fn member(words: &str) -> Member {
    let mut words = words.split(' ');
    let name = words.next().expect("a name");
    let mut member = Member {
        backend: name.parse().expect("a name"),
        enabled: true,
        priority: Priority::DEFAULT,
        weight: Weight::DEFAULT,
    };
    for word in words {
        let number = || word[1..].parse().expect("a number");
        match word {
            "disabled" => member.enabled = false,
            _ if word.starts_with('p') => {
                member.priority = Priority::new(number()).expect("a priority");
            }
            _ if word.starts_with('w') => member.weight = Weight::new(number()).expect("a weight"),
            _ => panic!("unknown word: {word}"),
        }
    }
    member
}

fn state(member: &Member, observed: Observed) -> MemberState {
    let name = member.backend.as_str();
    let latency = observed.latency.iter().find(|(it, _)| *it == name);
    MemberState {
        admin: Admin::Enable,
        unreachable: None,
        health: if observed.unhealthy.contains(&name) {
            Health::Down
        } else {
            Health::Up
        },
        serves_unchecked: false,
        ramp: Ramp::FULL,
        latency: latency.map(|(_, millis)| Duration::from_millis(*millis)),
        why: String::new(),
    }
}
