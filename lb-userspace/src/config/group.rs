use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use toml::Value;

use super::{
    leaf, probe,
    problem::Wrong,
    raw::{Found, Names, Table},
};
use crate::model::{AllDown, Group, Identity, Member, Name, Priority, Stage, Weight};

/// What a group may refer to.
pub(super) struct Surroundings {
    /// The names of all backends.
    pub(super) backends: Names,
    /// The backends without a mistake.
    pub(super) identities: BTreeMap<Name, Identity>,
    /// The ports of the services of each group; none if a service has a mistake.
    pub(super) ports: Option<BTreeMap<Name, BTreeSet<u16>>>,
}

/// Reads a `[[group]]`.
pub(super) fn read(group: &mut Table<'_>, around: &Surroundings) -> Option<Group> {
    let name = group.required("name", "\"web\"", leaf::name);
    group.or("policy", (), leaf::one_of(&[("front-door", ())]));
    let window = leaf::duration(Duration::ZERO..=Duration::from_secs(10));
    let window = group.or("latency_window", Duration::ZERO, window);
    let members = members(group, around);
    group.require(
        "probe",
        "add `probe = { kind = \"http\" }`, or `{ kind = \"none\" }` if all members always count as healthy",
    );
    let ports = around.ports.as_ref().zip(name.as_ref());
    let ports = ports.map(|(ports, name)| ports.get(name).cloned().unwrap_or_default());
    let (probe, health) = group.table("probe", |probe| probe::read(probe, ports.as_ref()))?;
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
    })
}

fn members(group: &mut Table<'_>, around: &Surroundings) -> Vec<Member> {
    group.require("member", "add `member = [{ backend = \"a\" }]`");
    let members = group.tables("member", |table| member(table, &around.backends));
    for (i, found) in members.iter().enumerate() {
        let before = members.get(..i).unwrap_or_default();
        if let Some(wrong) = double(found, before, &around.identities) {
            group.wrong_at(format!("{}.backend", found.path), wrong);
        }
    }
    members.into_iter().map(|found| found.value).collect()
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

/// A group sends a backend's part of the traffic to it once: by name, and by address.
fn double(
    member: &Found<Member>,
    before: &[Found<Member>],
    identities: &BTreeMap<Name, Identity>,
) -> Option<Wrong> {
    let backend = &member.value.backend;
    let identity = identities.get(backend);
    before.iter().find_map(|Found { path, value: other }| {
        if other.backend == *backend {
            let message = format!("backend \"{backend}\" is {path} too");
            return Some(Wrong::new(
                message,
                "name it once, with the sum of the weights",
            ));
        }
        let same = identity.filter(|identity| identities.get(&other.backend) == Some(*identity))?;
        let message = format!(
            "backend \"{backend}\" is the same server as \"{}\": {}, {}",
            other.backend,
            same.address,
            same.forward.as_str()
        );
        Some(Wrong::new(message, "name one of them"))
    })
}

fn priority(value: &Value) -> Result<Priority, Wrong> {
    let wanted = format!("{} to {}", Priority::MIN, Priority::MAX);
    let number = leaf::integer(value, &wanted)?;
    Priority::new(number).ok_or_else(|| leaf::out_of_range(number, &wanted))
}

fn weight(value: &Value) -> Result<Weight, Wrong> {
    let wanted = format!("{} to {}", Weight::MIN, Weight::MAX);
    match leaf::integer(value, &wanted)? {
        0 => Err(Wrong::new(
            "weight 0 does not exist in front-door",
            format!("use {wanted}, or `enabled = false`, or `waggle backend drain`"),
        )),
        number => Weight::new(number).ok_or_else(|| leaf::out_of_range(number, &wanted)),
    }
}
