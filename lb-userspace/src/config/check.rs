use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Checked,
    authorities::{Host, Store},
    backend, edge, family,
    group::{self, Surroundings},
    nesting::{self, Links},
    raw::{Found, Table},
    service, sizes, whereabouts,
};
use crate::{
    model::{Backend, Group, Member, Model, Name, OnDown, Policy, Service, Stage, Who},
    refusal::{self, Problem, Refusal},
    table::group_id,
};

/// Reads a whole configuration file on `host`.
pub(super) fn file(root: &mut Table<'_>, host: Host<'_>) -> Option<Checked> {
    let [backend_names, group_names] = [root.names("backend"), root.names("group")];
    root.names("service");
    root.require("edge", "add `[edge]` with `name` and `interfaces`");
    let edge = root.table("edge", edge::read);
    let backends = root.tables("backend", backend::read);
    let count = root.length("service");
    let services = root.tables("service", |service| service::read(service, &group_names));
    check_services(root, &services, &backends);
    let links = nesting::links(root);
    let around = Surroundings {
        backends: backend_names,
        groups: group_names,
        identities: backends
            .iter()
            .map(|Found { value, .. }| (value.name.clone(), value.identity()))
            .collect(),
        ports: (services.len() == count).then(|| ports(&services, &links)),
        store: Store::new(host),
    };
    let groups = root.tables("group", |group| group::read(group, &around));
    check_group_ids(root, &groups);
    let whereabouts = whereabouts::read(root, host, &groups);
    if !nesting::check(root, &groups) {
        // What follows goes down through groups.
        return None;
    }
    check_latency_regions(root, &groups, &backends);
    check_preferences(root, &services, &groups);
    family::check(root, &services, &groups, &backends, &links);

    let warnings = warnings(&backends, &groups, &services);
    let model = Model {
        edge: edge?,
        backends: by_name(backends, |backend| &backend.name),
        groups: by_name(groups, |group| &group.name),
        services: by_name(services, |service| &service.name),
        whereabouts: Arc::new(whereabouts),
    };
    if !is_whole(&model) {
        // What a mistake left out is what the rest names.
        return None;
    }
    let checked = Checked::new(model, warnings);
    sizes::check(root, &checked);
    Some(checked)
}

/// Whether every name that it uses exists in it.
fn is_whole(model: &Model) -> bool {
    let services = model.services.values().flat_map(Service::groups);
    let groups = model.groups.values();
    let mut named = services.chain(groups.flat_map(Group::groups));
    let groups = model.groups.values();
    let mut backends = groups.flat_map(|it| it.backends().map(|(.., backend)| backend));
    named.all(|it| model.groups.contains_key(it))
        && backends.all(|it| model.backends.contains_key(it))
}

fn by_name<T>(found: Vec<Found<T>>, name: impl Fn(&T) -> &Name) -> BTreeMap<Name, T> {
    let pair = |Found { value, .. }| (name(&value).clone(), value);
    found.into_iter().map(pair).collect()
}

/// The ports of the services that each group serves, itself or within other groups.
fn ports(services: &[Found<Service>], links: &Links) -> BTreeMap<Name, BTreeSet<u16>> {
    let mut ports: BTreeMap<Name, BTreeSet<u16>> = BTreeMap::new();
    for Found { value, .. } in services {
        for group in value.groups().flat_map(|group| links.within(group)) {
            ports.entry(group).or_default().insert(value.port);
        }
    }
    ports
}

/// What a rule prefers is decided in the group that it leads to, for all services that use it.
fn check_preferences(root: &Table<'_>, services: &[Found<Service>], groups: &[Found<Group>]) {
    for Found { path, value } in services {
        for (place, rule) in value.rules.iter().enumerate() {
            let Some(name) = rule.route.group().filter(|_| !rule.prefer.is_empty()) else {
                continue;
            };
            let at = format!("{path}.rule[{place}].prefer");
            let mut others = services.iter().map(|it| &it.value);
            let other = |it: &&Service| it.name != value.name && it.groups().any(|it| it == name);
            if let Some(other) = others.find(other) {
                root.wrong_at(at, refusal::service::shared_preference(name, &other.name));
                continue;
            }
            let mut groups = groups.iter().map(|it| &it.value);
            let group = groups.find(|it| it.name == *name);
            if group.is_some_and(|it| !it.stages.contains(&Stage::Prefer)) {
                root.wrong_at(at, refusal::service::idle_preference(name));
            }
        }
    }
}

/// Performance tells members apart by nothing but the latency of their regions (S73).
fn check_latency_regions(root: &Table<'_>, groups: &[Found<Group>], backends: &[Found<Backend>]) {
    let regions: BTreeMap<&Name, bool> = backends
        .iter()
        .map(|Found { value, .. }| (&value.name, value.region.is_some()))
        .collect();
    for Found { path, value } in groups {
        if value.policy != Policy::Performance {
            continue;
        }
        for (place, member) in value.members.iter().enumerate() {
            let (has_region, there) = match &member.who {
                Who::Backend(name) => {
                    let has = regions.get(name).is_none_or(|has| *has);
                    (has, "to its `[[backend]]`")
                }
                Who::Group(_) => (member.region.is_some(), "here"),
            };
            if !has_region {
                let wrong = refusal::group::no_latency_region(member.name(), there);
                root.wrong_at(format!("{path}.member[{place}].region"), wrong);
            }
        }
    }
}

fn check_services(root: &Table<'_>, services: &[Found<Service>], backends: &[Found<Backend>]) {
    let mut taken = BTreeMap::new();
    for found in services {
        let service = &found.value;
        let first = *taken.entry(service.key()).or_insert(found);
        if first.path != found.path {
            let wrong = refusal::service::taken_endpoint(
                service.address,
                service.port,
                service.protocol,
                &first.value.name,
            );
            root.wrong_at(format!("{}.port", found.path), wrong);
        }
    }
    let by_address = |found: &Found<Service>| (found.value.address, found.value.name.clone());
    let by_address: BTreeMap<_, _> = services.iter().map(by_address).collect();
    for Found { path, value } in backends {
        if let Some(service) = by_address.get(&value.address) {
            let wrong = refusal::service::backend_is_service(value.address, service);
            root.wrong_at(format!("{path}.address"), wrong);
        }
    }
}

fn check_group_ids(root: &Table<'_>, groups: &[Found<Group>]) {
    let mut taken = BTreeMap::new();
    for found in groups {
        let name = &found.value.name;
        let first = *taken.entry(group_id(name)).or_insert(name);
        if first != name {
            let wrong = refusal::group::taken_group_number(name, first);
            root.wrong_at(format!("{}.name", found.path), wrong);
        }
    }
}

fn warnings(
    backends: &[Found<Backend>],
    groups: &[Found<Group>],
    services: &[Found<Service>],
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let mut warn = |path: &str, what: Refusal| warnings.push(what.at(path));
    if services.is_empty() {
        warn("service", refusal::warning::no_service());
    }
    let members = groups.iter().flat_map(|found| &found.value.members);
    let used: BTreeSet<&Name> = members.filter_map(Member::backend).collect();
    for Found { path, value } in backends {
        if !used.contains(&value.name) {
            warn(path, refusal::warning::unused_backend(&value.name));
        }
    }
    let inner = groups.iter().flat_map(|it| it.value.groups());
    let roots: BTreeSet<&Name> = services.iter().flat_map(|it| it.value.groups()).collect();
    let used: BTreeSet<&Name> = roots.iter().copied().chain(inner).collect();
    for Found { path, value } in groups {
        let name = &value.name;
        if !used.contains(name) {
            warn(path, refusal::warning::unused_group(name));
        } else if !roots.contains(name) {
            if value.affinity.is_some() {
                let at = format!("{path}.affinity");
                warn(&at, refusal::warning::unused_affinity(name));
            }
            if value.on_down != OnDown::DEFAULT {
                let at = format!("{path}.on_down");
                warn(&at, refusal::warning::unused_on_down(name));
            }
        }
        if value.members.iter().all(|member| !member.enabled) {
            warn(path, refusal::warning::disabled_group(name));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{mistakes, with};

    #[test]
    fn two_groups_with_one_number() {
        // SHA-256 of both begins with the same four bytes.
        let text = with("name = \"g\"", "name = \"g19493\"")
            .replace("group = \"g\"", "group = \"g19493\"");
        let again = "[[group]]\nname = \"g48715\"\nmember = [{ backend = \"a\" }]\nprobe = { kind = \"none\" }\n";
        let expected = "group[1].name: \"g48715\" has the same number in the kernel's tables as \
            \"g19493\"; rename one of them";
        assert_eq!(mistakes(&(text + again)), [expected]);
    }
}
