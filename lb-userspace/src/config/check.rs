use std::collections::{BTreeMap, BTreeSet};

use super::{
    Checked, backend, edge,
    group::{self, Surroundings},
    problem::{Problem, Wrong},
    raw::{Found, Table},
    service,
    summary::summary,
};
use crate::{
    model::{Backend, Group, Model, Name, Service},
    table::group_id,
};

/// Ids of targets, 0 not among them.
const MOST_TARGETS: usize = 0xffff;

/// Reads a whole configuration file.
pub(super) fn file(root: &mut Table<'_>) -> Option<Checked> {
    let [backend_names, group_names] = [root.names("backend"), root.names("group")];
    root.names("service");
    root.require("edge", "add `[edge]` with `name` and `interfaces`");
    let edge = root.table("edge", edge::read);
    let backends = root.tables("backend", backend::read);
    let count = root.length("service");
    let services = root.tables("service", |service| service::read(service, &group_names));
    check_services(root, &services, &backends);
    let around = Surroundings {
        backends: backend_names,
        identities: backends
            .iter()
            .map(|Found { value, .. }| (value.name.clone(), value.identity()))
            .collect(),
        ports: (services.len() == count).then(|| ports(&services)),
    };
    let groups = root.tables("group", |group| group::read(group, &around));
    check_group_ids(root, &groups);

    let warnings = warnings(&backends, &groups, &services);
    let model = Model {
        edge: edge?,
        backends: by_name(backends, |backend| &backend.name),
        groups: by_name(groups, |group| &group.name),
        services: by_name(services, |service| &service.name),
    };
    check_sizes(root, &model);
    Some(Checked { model, warnings })
}

fn by_name<T>(found: Vec<Found<T>>, name: impl Fn(&T) -> &Name) -> BTreeMap<Name, T> {
    let pair = |Found { value, .. }| (name(&value).clone(), value);
    found.into_iter().map(pair).collect()
}

fn ports(services: &[Found<Service>]) -> BTreeMap<Name, BTreeSet<u16>> {
    let mut ports: BTreeMap<Name, BTreeSet<u16>> = BTreeMap::new();
    for Found { value, .. } in services {
        ports
            .entry(value.group.clone())
            .or_default()
            .insert(value.port);
    }
    ports
}

fn check_services(root: &Table<'_>, services: &[Found<Service>], backends: &[Found<Backend>]) {
    let mut taken = BTreeMap::new();
    for found in services {
        let service = &found.value;
        let first = *taken.entry(service.key()).or_insert(found);
        if first.path != found.path {
            let message = format!(
                "{} port {} {} is the service \"{}\" already",
                service.address, service.port, service.protocol, first.value.name
            );
            let wrong = Wrong::new(message, "remove one of them, or use another port");
            root.wrong_at(format!("{}.port", found.path), wrong);
        }
    }
    for found in backends {
        let address = found.value.address;
        let same = |other: &&Found<Service>| other.value.address == address;
        if let Some(Found { value, .. }) = services.iter().find(same) {
            let message = format!("{address} is the address of the service \"{}\"", value.name);
            let wrong = Wrong::new(message, "use the server's own address");
            root.wrong_at(format!("{}.address", found.path), wrong);
        }
    }
}

fn check_group_ids(root: &Table<'_>, groups: &[Found<Group>]) {
    let mut taken = BTreeMap::new();
    for found in groups {
        let name = &found.value.name;
        let first = *taken.entry(group_id(name)).or_insert(name);
        if first != name {
            let message =
                format!("\"{name}\" has the same number in the kernel's tables as \"{first}\"");
            root.wrong_at(
                format!("{}.name", found.path),
                Wrong::new(message, "rename one of them"),
            );
        }
    }
}

fn check_sizes(root: &Table<'_>, model: &Model) {
    let summary = summary(model);
    if summary.targets > MOST_TARGETS {
        let message = format!(
            "the groups of all services have {} members",
            summary.targets
        );
        let mend = format!("use at most {MOST_TARGETS}");
        root.wrong("group", Wrong::new(message, mend));
    }
    if summary.ring_slots > u64::from(model.edge.ring_slots) {
        let set = model.edge.ring_slots;
        let message = format!(
            "{set} is too small for the rings of {} groups",
            summary.rings
        );
        let mend = format!("use at least {}, better twice that", summary.ring_slots);
        root.wrong_at("edge.ring_slots".to_owned(), Wrong::new(message, mend));
    }
}

fn warnings(
    backends: &[Found<Backend>],
    groups: &[Found<Group>],
    services: &[Found<Service>],
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let mut warn = |path: &str, message: String, mend: &str| {
        warnings.push(Wrong::new(message, mend).at(path));
    };
    if services.is_empty() {
        warn(
            "service",
            "there is none".into(),
            "add a `[[service]]`, or nothing is forwarded",
        );
    }
    let members = |group: &Group| {
        group
            .members
            .iter()
            .map(|member| member.backend.clone())
            .collect::<Vec<_>>()
    };
    let used: BTreeSet<Name> = groups
        .iter()
        .flat_map(|found| members(&found.value))
        .collect();
    for Found { path, value } in backends {
        if !used.contains(&value.name) {
            warn(
                path,
                format!("backend \"{}\" is in no group", value.name),
                "add it to one or remove it",
            );
        }
    }
    let used: BTreeSet<&Name> = services.iter().map(|found| &found.value.group).collect();
    for Found { path, value } in groups {
        if !used.contains(&value.name) {
            warn(
                path,
                format!("no service uses group \"{}\"", value.name),
                "add one or remove it",
            );
        }
        if value.members.iter().all(|member| !member.enabled) {
            warn(
                path,
                format!("all members of \"{}\" are disabled", value.name),
                "its services answer nobody until one is enabled",
            );
        }
    }
    warnings
}
