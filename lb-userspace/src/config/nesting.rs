//! Groups in groups.

use std::collections::{BTreeMap, BTreeSet};

use toml::Value;

use super::raw::{Found, Table};
use crate::{
    model::{Group, Name},
    refusal,
};

/// Levels that groups may stand in each other (D58).
const MOST_LEVELS: usize = 10;

/// Which groups each group hands flows to, by name.
pub(super) struct Links(BTreeMap<String, Vec<String>>);

/// The links of a document, ahead of reading the groups: a member's probe may take the port of a
/// service that uses its group through others.
pub(super) fn links(root: &Table<'_>) -> Links {
    let groups = root.peek("group").and_then(Value::as_array);
    let mut links: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in groups.into_iter().flatten() {
        let Some(name) = group.get("name").and_then(Value::as_str) else {
            continue;
        };
        let members = group.get("member").and_then(Value::as_array);
        let members = members.into_iter().flatten();
        let nested = members.filter_map(|member| member.get("group"));
        let all = nested.chain(group.get("backup")).filter_map(Value::as_str);
        let of_group = links.entry(name.to_owned()).or_default();
        of_group.extend(all.map(str::to_owned));
    }
    Links(links)
}

impl Links {
    /// A group and all that it hands flows to, itself or through others.
    pub(super) fn within(&self, group: &Name) -> BTreeSet<Name> {
        let mut found = BTreeSet::from([group.clone()]);
        let mut open = vec![group.as_str()];
        while let Some(next) = open.pop() {
            for inner in self.0.get(next).into_iter().flatten() {
                if let Ok(name) = inner.parse()
                    && found.insert(name)
                {
                    open.push(inner);
                }
            }
        }
        found
    }
}

/// Refuses cycles, and groups that stand too deep in each other. Returns whether there is no cycle.
pub(super) fn check(root: &Table<'_>, groups: &[Found<Group>]) -> bool {
    let by_name: BTreeMap<&Name, &Group> = groups
        .iter()
        .map(|Found { value, .. }| (&value.name, value))
        .collect();
    let mut depths = BTreeMap::new();
    let mut in_cycles = BTreeSet::new();
    for Found { path, value } in groups {
        let mut way = Vec::new();
        if let Some(cycle) = cycle(&by_name, &value.name, &mut way, &mut BTreeSet::new()) {
            // Each cycle is told once.
            if in_cycles.is_disjoint(&cycle.iter().copied().collect()) {
                let text = shown(cycle.iter().chain(&cycle[..1]).copied());
                root.wrong_at(format!("{path}.member"), refusal::group::group_cycle(text));
            }
            in_cycles.extend(cycle);
        }
    }
    if !in_cycles.is_empty() {
        return false;
    }
    let inner: BTreeSet<&Name> = groups.iter().flat_map(|it| it.value.groups()).collect();
    for Found { path, value } in groups {
        let levels = depth(&by_name, &value.name, &mut depths);
        if levels > MOST_LEVELS && !inner.contains(&value.name) {
            let text = shown(longest(&by_name, &value.name, &depths));
            root.wrong_at(
                format!("{path}.member"),
                refusal::group::deep_nesting(levels, text),
            );
        }
    }
    true
}

/// A cycle that a group is part of.
fn cycle<'a>(
    groups: &BTreeMap<&'a Name, &'a Group>,
    name: &'a Name,
    way: &mut Vec<&'a Name>,
    done: &mut BTreeSet<&'a Name>,
) -> Option<Vec<&'a Name>> {
    if let Some(start) = way.iter().position(|it| *it == name) {
        return (start == 0).then(|| way.clone());
    }
    if !done.insert(name) {
        return None;
    }
    way.push(name);
    let inner = groups.get(name).into_iter().flat_map(|it| it.groups());
    for next in inner {
        if let Some(found) = cycle(groups, next, way, done) {
            return Some(found);
        }
    }
    way.pop();
    None
}

/// How many levels of groups there are from a group down, itself included.
fn depth<'a>(
    groups: &BTreeMap<&'a Name, &'a Group>,
    name: &'a Name,
    known: &mut BTreeMap<&'a Name, usize>,
) -> usize {
    if let Some(depth) = known.get(name) {
        return *depth;
    }
    let inner = groups.get(name).into_iter().flat_map(|it| it.groups());
    let below = inner.map(|next| depth(groups, next, known)).max();
    let depth = 1 + below.unwrap_or(0);
    known.insert(name, depth);
    depth
}

/// The groups of a longest way down.
fn longest<'a>(
    groups: &BTreeMap<&'a Name, &'a Group>,
    name: &'a Name,
    depths: &BTreeMap<&'a Name, usize>,
) -> impl Iterator<Item = &'a Name> {
    let below = |name: &&'a Name| {
        let inner = groups.get(*name).into_iter().flat_map(|it| it.groups());
        inner.max_by_key(|it| depths.get(it))
    };
    std::iter::successors(Some(name), below)
}

fn shown<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    names.map(Name::as_str).collect::<Vec<_>>().join(" > ")
}
