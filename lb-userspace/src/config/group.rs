use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use toml::Value;

use super::{
    authorities::Store,
    leaf,
    names::Names,
    probe,
    raw::{Found, Table},
    report::Wrong,
};
use crate::{
    model::{
        AllDown, Group, Identity, Member, Name, Priority, Probe, ProbeDefaults, Stage, Weight,
    },
    refusal,
};

/// What a group may refer to.
pub(super) struct Surroundings<'a> {
    /// The names of all backends.
    pub(super) backends: Names,
    /// The backends without a mistake.
    pub(super) identities: BTreeMap<Name, Identity>,
    /// The ports of the services of each group; none if a service has a mistake.
    pub(super) ports: Option<BTreeMap<Name, BTreeSet<u16>>>,
    /// The authorities that probes can trust.
    pub(super) store: Store<'a>,
}

/// Reads a `[[group]]`.
pub(super) fn read(group: &mut Table<'_>, around: &Surroundings<'_>) -> Option<Group> {
    let name = group.required("name", "\"web\"", leaf::name);
    group.or("policy", (), leaf::one_of(&[("front-door", ())]));
    let window = leaf::duration(Duration::ZERO..=Duration::from_secs(10));
    let window = group.or("latency_window", Duration::ZERO, window);
    let starts = leaf::duration(Duration::ZERO..=Duration::from_secs(3600));
    let slow_start = group.or("slow_start", Duration::ZERO, starts);
    let members = members(group, around);
    group.require(
        "probe",
        "add `probe = { kind = \"http\" }`, or `{ kind = \"none\" }` if only one member is enabled",
    );
    let ports = around.ports.as_ref().zip(name.as_ref());
    let ports = ports.map(|(ports, name)| ports.get(name).cloned().unwrap_or_default());
    let (probe, health) = group.table("probe", |probe| {
        let defaults = ProbeDefaults::FRONT_DOOR;
        probe::read(probe, ports.as_ref(), &around.store, &defaults)
    })?;
    check_probed(group, &members, probe.as_ref());
    Some(Group {
        name: name?,
        stages: vec![
            Stage::Available(AllDown::RoundRobin),
            Stage::Priority,
            Stage::Latency { window },
            Stage::Weight,
        ],
        members,
        probe,
        health,
        slow_start,
    })
}

fn members(group: &mut Table<'_>, around: &Surroundings<'_>) -> Vec<Member> {
    group.require("member", "add `member = [{ backend = \"a\" }]`");
    let members = group.tables("member", |table| member(table, &around.backends));
    check_distinct(group, &members, &around.identities);
    members.into_iter().map(|found| found.value).collect()
}

/// Front Door may do without probes only where there is nothing to choose (S42).
fn check_probed(group: &Table<'_>, members: &[Member], probe: Option<&Probe>) {
    let enabled = members.iter().filter(|member| member.enabled).count();
    if probe.is_none() && enabled > 1 {
        group.wrong("probe", refusal::group::unprobed_members(enabled));
    }
}

/// A server is in a group once, whatever its backends are called.
fn check_distinct(
    group: &Table<'_>,
    members: &[Found<Member>],
    identities: &BTreeMap<Name, Identity>,
) {
    let (mut names, mut servers) = (BTreeMap::new(), BTreeMap::new());
    for Found { path, value } in members {
        let backend = &value.backend;
        let wrong = if let Some(first) = names.insert(backend, path) {
            refusal::group::member_twice(backend, first)
        } else if let Some(identity) = identities.get(backend)
            && let Some(other) = servers.insert(identity, backend)
        {
            let Identity {
                address, forward, ..
            } = identity;
            refusal::group::server_twice(backend, other, address, forward.as_str())
        } else {
            continue;
        };
        group.wrong_at(format!("{path}.backend"), wrong);
    }
}

fn member(member: &mut Table<'_>, backends: &Names) -> Option<Member> {
    let backend = member.required("backend", "\"a\"", |value| backends.known(value));
    let enabled = member.or("enabled", true, leaf::truth);
    let priority = member.or("priority", Priority::DEFAULT, priority);
    let weight = member.or("weight", Weight::DEFAULT, weight);
    Some(Member {
        backend: backend?,
        enabled,
        priority,
        weight,
    })
}

fn priority(value: &Value) -> Result<Priority, Wrong> {
    let wanted = format!("{} to {}", Priority::MIN, Priority::MAX);
    let number = leaf::integer(value, &wanted)?;
    Priority::new(number).ok_or_else(|| refusal::value::out_of_range(number, &wanted))
}

fn weight(value: &Value) -> Result<Weight, Wrong> {
    let wanted = format!("{} to {}", Weight::MIN, Weight::MAX);
    match leaf::integer(value, &wanted)? {
        0 => Err(refusal::group::zero_weight(wanted)),
        number => Weight::new(number).ok_or_else(|| refusal::value::out_of_range(number, &wanted)),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{
        parse,
        tests::{expect, mistakes, with},
    };

    const MEMBERS: &str = "member = [{ backend = \"a\" }, { backend = \"b\" }]";

    #[test]
    fn bad_groups() {
        expect(
            "name = \"g\"",
            &[
                (
                    "name = \"g\"\npolicy = \"front-dor\"",
                    &["group[0].policy: \"front-dor\" is unknown; use \"front-door\""],
                ),
                (
                    "name = \"g\"\nlatency_window = 30",
                    &[
                        "group[0].latency_window: 30 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
                    ],
                ),
                (
                    "name = \"g\"\nlatency_window = \"11s\"",
                    &["group[0].latency_window: 11s is out of range; use 0s to 10s"],
                ),
                (
                    "name = \"g\"\nlatency_window = \"-1s\"",
                    &[
                        "group[0].latency_window: \"-1s\" is no duration; use a number with a unit, like \"10s\" or \"250ms\"",
                    ],
                ),
                (
                    "name = \"g\"\nslow_start = 30",
                    &[
                        "group[0].slow_start: 30 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
                    ],
                ),
                (
                    "name = \"g\"\nslow_start = \"2h\"",
                    &["group[0].slow_start: 2h is out of range; use 0s to 1h"],
                ),
                (
                    "name = \"g\"\nlatency_windows = \"1s\"",
                    &["group[0].latency_windows: unknown key; did you mean `latency_window`?"],
                ),
            ],
        );
        expect(
            "probe = { kind = \"http\" }",
            &[
                (
                    "",
                    &[
                        "group[0].probe: is missing; add `probe = { kind = \"http\" }`, or `{ kind = \"none\" }` if only one member is enabled",
                    ],
                ),
                (
                    "probe = \"none\"",
                    &["group[0].probe: \"none\" is a string; use a table: `probe = { .. }`"],
                ),
            ],
        );
    }

    #[test]
    fn bad_members() {
        expect(
            MEMBERS,
            &[
                (
                    "",
                    &["group[0].member: is missing; add `member = [{ backend = \"a\" }]`"],
                ),
                (
                    "member = []",
                    &["group[0].member: is empty; add `member = [{ backend = \"a\" }]`"],
                ),
                (
                    "member = [\"a\"]",
                    &["group[0].member[0]: \"a\" is a string; use a table: `{ .. }`"],
                ),
                (
                    "member = { backend = \"a\" }",
                    &[
                        "group[0].member: is a table; use a list of tables: `[[member]]` or `member = [{ .. }]`",
                    ],
                ),
                (
                    "member = [{ group = \"a\" }]",
                    &[
                        "group[0].member[0].backend: is missing; add `backend = \"a\"`",
                        "group[0].member[0].group: unknown key; known here: backend, enabled, priority, weight",
                    ],
                ),
                (
                    "member = [{ backend = \"a\", weight = 1001, priority = 0 }, { backend = \"b\", weight = -1, priority = 6, enabled = 1 }]",
                    &[
                        "group[0].member[0].priority: 0 is out of range; use 1 to 5",
                        "group[0].member[0].weight: 1001 is out of range; use 1 to 1000",
                        "group[0].member[1].enabled: 1 is an integer; use true or false",
                        "group[0].member[1].priority: 6 is out of range; use 1 to 5",
                        "group[0].member[1].weight: -1 is out of range; use 1 to 1000",
                    ],
                ),
                (
                    "member = [{ backend = \"a\", weight = 0 }]",
                    &[
                        "group[0].member[0].weight: weight 0 does not exist in front-door; use 1 to 1000, or `enabled = false`, or `waggle backend drain`",
                    ],
                ),
                (
                    "member = [{ backend = \"a\", weight = 1.5 }]",
                    &["group[0].member[0].weight: 1.5 is a float; use 1 to 1000"],
                ),
                (
                    "member = [{ backend = \"a\" }, { backend = \"b\" }, { backend = \"a\" }]",
                    &[
                        "group[0].member[2].backend: backend \"a\" is group[0].member[0] too; name it once, with the sum of the weights",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn one_server_under_two_names_is_no_two_members() {
        let text = with("10.0.0.2", "10.0.0.1");
        let expected = "group[0].member[1].backend: backend \"b\" is the same server as \"a\": \
            10.0.0.1, l2-dsr; name one of them";
        assert_eq!(mistakes(&text), [expected]);
        let apart = r#"member = [{ backend = "a" }]
            probe = { kind = "none" }
            [[group]]
            name = "h"
            member = [{ backend = "b" }]"#;
        let apart = text
            .replace(MEMBERS, apart)
            .replace("\"http\"", "\"http\", port = 80");
        assert_eq!(mistakes(&apart), [""; 0]);
    }

    #[test]
    fn a_member_with_a_mistake_elsewhere_is_still_known() {
        let text = with("address = \"10.0.0.2\"", "address = \"x\"");
        assert_eq!(mistakes(&text).len(), 1);
    }

    #[test]
    fn t195_t199_the_limits_themselves_are_allowed() {
        let members = "member = [{ backend = \"a\", weight = 1, priority = 5 }, { backend = \"b\", weight = 1000 }]";
        let group = &parse(&with(MEMBERS, members)).unwrap().model.groups["g"];
        let values = |i: usize| {
            (
                group.members[i].priority.value(),
                group.members[i].weight.value(),
            )
        };
        assert_eq!([values(0), values(1)], [(5, 1), (1, 1000)]);
    }
}
