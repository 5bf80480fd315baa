use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    affinity,
    authorities::Store,
    leaf, member,
    names::Names,
    on_down,
    preset::{self, Choice},
    probe,
    raw::{Found, Table},
};
use crate::{
    model::{
        AllDown, Group, HealthRule, Identity, Member, Name, NoAnswer, Policy, Prefix, Priority,
        Probe, Region, Stage,
    },
    refusal,
};

/// What a group may refer to.
pub(super) struct Surroundings<'a> {
    /// The names of all backends.
    pub(super) backends: Names,
    /// The names of all groups.
    pub(super) groups: Names,
    /// The backends without a mistake.
    pub(super) identities: BTreeMap<Name, Identity>,
    /// The ports of the services of each group, through other groups too; none if a service has a
    /// mistake.
    pub(super) ports: Option<BTreeMap<Name, BTreeSet<u16>>>,
    /// The authorities that probes can trust.
    pub(super) store: Store<'a>,
}

/// Reads a `[[group]]`.
pub(super) fn read(group: &mut Table<'_>, around: &Surroundings<'_>) -> Option<Group> {
    let name = group.required("name", "\"web\"", leaf::name);
    let enabled = group.or("enabled", true, leaf::truth);
    let Choice { policy, stages } = preset::read(group);
    let affinity = affinity::read(group, policy);
    let on_down = on_down::read(group);
    let (no_answer, backup) = no_answer(group, around, &stages);
    let starts = leaf::duration(Duration::ZERO..=Duration::from_secs(3600));
    let slow_start = group.or("slow_start", Duration::ZERO, starts);
    let members = members(group, around, policy, &stages);
    if members.iter().any(|member| member.backend().is_some()) {
        group.require(
            "probe",
            "add `probe = { kind = \"http\" }`, or `{ kind = \"none\" }` if only one member is enabled",
        );
    }
    let ports = around.ports.as_ref().zip(name.as_ref());
    let ports = ports.map(|(ports, name)| ports.get(name).cloned().unwrap_or_default());
    let has_probe = group.has("probe");
    let (probe, health) = if has_probe {
        group.table("probe", |probe| {
            let defaults = preset::probe_defaults(policy);
            probe::read(probe, ports.as_ref(), &around.store, &defaults)
        })?
    } else {
        (None, HealthRule::DEFAULT)
    };
    if has_probe && policy == Policy::FrontDoor {
        check_probed(group, &members, probe.as_ref());
    }
    Some(Group {
        name: name?,
        enabled,
        policy,
        stages,
        no_answer,
        backup,
        affinity,
        on_down,
        members,
        probe,
        health,
        slow_start,
    })
}

/// What becomes of flows that no member may get, and the group that takes over.
fn no_answer(
    group: &mut Table<'_>,
    around: &Surroundings<'_>,
    stages: &[Stage],
) -> (NoAnswer, Option<Name>) {
    let answers = [
        NoAnswer::Backup,
        NoAnswer::Drop,
        NoAnswer::Pass,
        NoAnswer::Reject,
    ];
    let words = answers.map(|it| (it.as_str(), it));
    let answer = group.or("no_answer", NoAnswer::Reject, leaf::one_of(&words));
    let names_backup = group.has("backup");
    let backup = group.optional("backup", |value| around.groups.known(value));
    let in_stage = |stage: &Stage| matches!(stage, Stage::Available { all_down, .. } if *all_down == AllDown::Backup);
    let is_used = answer == NoAnswer::Backup || stages.iter().any(in_stage);
    match (is_used, names_backup) {
        (true, false) => group.wrong("backup", refusal::group::no_backup()),
        (false, true) => group.wrong("backup", refusal::group::unused_backup_group()),
        _ => {}
    }
    (answer, backup)
}

fn members(
    group: &mut Table<'_>,
    around: &Surroundings<'_>,
    policy: Policy,
    stages: &[Stage],
) -> Vec<Member> {
    group.require("member", "add `member = [{ backend = \"a\" }]`");
    let mut with_priority = Vec::new();
    let count = group.length("member");
    let mut members = group.tables("member", |table| {
        let (member, has_priority) = member::read(table, around, policy)?;
        with_priority.push(has_priority);
        Some(member)
    });
    check_distinct(group, &members, &around.identities);
    if policy == Policy::Priority {
        rank(group, &mut members, &with_priority, count);
    }
    check_clients(group, &members);
    check_regions(group, &members, stages);
    if policy == Policy::Multivalue {
        for Found { path, .. } in members.iter().filter(|it| it.value.group().is_some()) {
            group.wrong_at(
                format!("{path}.group"),
                refusal::group::group_in_multivalue(),
            );
        }
    }
    members.into_iter().map(|found| found.value).collect()
}

/// Front Door may do without probes only where there is nothing to choose (S42).
fn check_probed(group: &Table<'_>, members: &[Member], probe: Option<&Probe>) {
    let backends = members
        .iter()
        .filter(|it| it.enabled && it.backend().is_some());
    let enabled = backends.count();
    if probe.is_none() && enabled > 1 {
        group.wrong("probe", refusal::group::unprobed_members(enabled));
    }
}

/// A server is in a group once, whatever its backends are called, and so is a group.
fn check_distinct(
    group: &Table<'_>,
    members: &[Found<Member>],
    identities: &BTreeMap<Name, Identity>,
) {
    let (mut names, mut servers) = (BTreeMap::new(), BTreeMap::new());
    for Found { path, value } in members {
        let name = value.name();
        let wrong = if let Some(first) = names.insert(name, path) {
            refusal::group::member_twice(name, first)
        } else if let Some(backend) = value.backend()
            && let Some(identity) = identities.get(backend)
            && let Some(other) = servers.insert(identity, backend)
        {
            let Identity {
                address, forward, ..
            } = identity;
            refusal::group::server_twice(backend, other, address, forward.as_str())
        } else {
            continue;
        };
        let key = if value.group().is_some() {
            "group"
        } else {
            "backend"
        };
        group.wrong_at(format!("{path}.{key}"), wrong);
    }
}

/// Priorities of Traffic Manager differ from each other; without any, the members stand in their order
/// (S57).
fn rank(group: &Table<'_>, members: &mut [Found<Member>], given: &[bool], count: usize) {
    if given.iter().all(|has| !has) && members.len() == count {
        for (place, found) in (1..).zip(members) {
            if let Some(priority) = Priority::new(place) {
                found.value.priority = priority;
            }
        }
        return;
    }
    let mut taken = BTreeMap::new();
    for (Found { path, value }, has_priority) in members.iter().zip(given) {
        let at = format!("{path}.priority");
        if !has_priority {
            group.wrong_at(at, refusal::group::some_priorities());
        } else if let Some(first) = taken.insert(value.priority, path) {
            let wrong = refusal::group::priority_twice(value.priority.value(), first);
            group.wrong_at(at, wrong);
        }
    }
}

/// Clients belong to one member (S95).
fn check_clients(group: &Table<'_>, members: &[Found<Member>]) {
    let mut taken: Vec<(Prefix, &str, String)> = Vec::new();
    for Found { path, value } in members {
        for (number, clients) in value.clients.iter().enumerate() {
            let place = format!("{path}.clients[{number}]");
            let prefixes = clients.prefixes();
            taken.extend(prefixes.map(|prefix| (prefix, path.as_str(), place.clone())));
        }
    }
    taken.sort_by_key(|(prefix, ..)| (prefix.first(), prefix.length()));
    let mut told = BTreeSet::new();
    let mut open: Vec<&(Prefix, &str, String)> = Vec::new();
    for next in &taken {
        let (prefix, of, place) = next;
        open.retain(|(around, ..)| around.contains(prefix.first()));
        let other = open.iter().find(|(_, member, _)| member != of);
        if let Some((_, _, first)) = other
            && told.insert((place, first))
        {
            group.wrong_at(
                place.clone(),
                refusal::group::clients_overlap(prefix, first),
            );
        }
        open.push(next);
    }
}

/// A region is mapped to one member (S81), and each member of a geographic group to a region (D46).
fn check_regions(group: &Table<'_>, members: &[Found<Member>], stages: &[Stage]) {
    let mut taken: BTreeMap<Region, String> = BTreeMap::new();
    for Found { path, value } in members {
        for (number, region) in value.geo.iter().enumerate() {
            let place = format!("{path}.geo[{number}]");
            if let Some(first) = taken.insert(*region, place.clone()) {
                group.wrong_at(place, refusal::group::region_twice(region, first));
            }
        }
    }
    let by_region = stages.iter().any(|it| matches!(it, Stage::Geo { .. }));
    for Found { path, value } in members {
        if by_region && value.geo.is_empty() && value.clients.is_empty() {
            group.wrong_at(format!("{path}.geo"), refusal::group::no_region());
        }
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
                    &[
                        "group[0].policy: \"front-dor\" is unknown; use \"dynamic-rtt\" or \"front-door\" or \"geographic\" or \"multivalue\" or \"performance\" or \"priority\" or \"static-proximity\" or \"subnet\" or \"weighted\"",
                    ],
                ),
                (
                    "name = \"g\"\nlatency_window = 30",
                    &[
                        "group[0].latency_window: 30 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
                    ],
                ),
                (
                    "name = \"g\"\nlatency_window = \"11s\"",
                    &[
                        "group[0].latency_window: 11s is out of range in front-door; use 0s to 1s, or list `stages`, which take windows up to 10s",
                    ],
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
                    &["group[0].member[0].group: no group is named \"a\"; did you mean \"g\"?"],
                ),
                (
                    "member = [{ backend = \"a\", weight = 1001, priority = 0 }, { backend = \"b\", weight = -1, priority = 6, enabled = 1 }]",
                    &[
                        "group[0].member[0].priority: 0 is out of range in front-door; use 1 to 5, or list `stages`, which take 1 to 1000",
                        "group[0].member[0].weight: 1001 is out of range in front-door; use 1 to 1000, or list `stages`, which take 0 to 1000",
                        "group[0].member[1].enabled: 1 is an integer; use true or false",
                        "group[0].member[1].priority: 6 is out of range in front-door; use 1 to 5, or list `stages`, which take 1 to 1000",
                        "group[0].member[1].weight: -1 is out of range in front-door; use 1 to 1000, or list `stages`, which take 0 to 1000",
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
