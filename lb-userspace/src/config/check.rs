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
    dataplane::Capacity,
    model::{Backend, Group, Model, Name, Service},
    table::group_id,
};

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
    let by_address = |found: &Found<Service>| (found.value.address, found.value.name.clone());
    let by_address: BTreeMap<_, _> = services.iter().map(by_address).collect();
    for Found { path, value } in backends {
        if let Some(service) = by_address.get(&value.address) {
            let message = format!(
                "{} is the address of the service \"{service}\"",
                value.address
            );
            let wrong = Wrong::new(message, "use the server's own address");
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
    let capacity = Capacity::new(model.edge.ring_slots);
    let (services, rings, targets) = (model.services.len(), summary.rings, summary.targets);
    for (path, number, most, message) in [
        (
            "service",
            services,
            capacity.services,
            format!("there are {services}"),
        ),
        (
            "group",
            rings,
            capacity.rows,
            format!("services use {rings} groups"),
        ),
        // Place 0 is nobody's.
        (
            "group",
            targets,
            capacity.targets - 1,
            format!("the groups of all services have {targets} members"),
        ),
    ] {
        if number > most as usize {
            let mend = format!("use at most {most}");
            root.wrong(path, Wrong::new(message, mend));
        }
    }
    if summary.ring_slots > u64::from(model.edge.ring_slots) {
        let set = model.edge.ring_slots;
        let message = format!(
            "{set} is too small for the rings of {} groups",
            summary.rings
        );
        let mend = format!("use at least {}", summary.ring_slots);
        root.wrong_at("edge.ring_slots".to_owned(), Wrong::new(message, mend));
    }
}

fn warnings(
    backends: &[Found<Backend>],
    groups: &[Found<Group>],
    services: &[Found<Service>],
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let mut warn = |path: &str, message: &str, mend: &str| {
        warnings.push(Wrong::new(message, mend).at(path));
    };
    if services.is_empty() {
        warn(
            "service",
            "there is none",
            "add a `[[service]]`, or nothing is forwarded",
        );
    }
    let members = groups.iter().flat_map(|found| &found.value.members);
    let used: BTreeSet<&Name> = members.map(|member| &member.backend).collect();
    for Found { path, value } in backends {
        if !used.contains(&value.name) {
            let message = format!("backend \"{}\" is in no group", value.name);
            warn(path, &message, "add it to one or remove it");
        }
    }
    let used: BTreeSet<&Name> = services.iter().map(|found| &found.value.group).collect();
    for Found { path, value } in groups {
        let name = &value.name;
        if !used.contains(name) {
            let message = format!("no service uses group \"{name}\"");
            warn(path, &message, "add one or remove it");
        }
        if value.members.iter().all(|member| !member.enabled) {
            let message = format!("all members of \"{name}\" are disabled");
            warn(
                path,
                &message,
                "its services answer nobody until one is enabled",
            );
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        parse,
        problem::Report,
        raw,
        tests::{GOOD, mistakes, with},
    };

    /// A configuration with another group and service `h`.
    fn two_groups(members: &str) -> String {
        let second = format!(
            "[[group]]\nname = \"h\"\nprobe = {{ kind = \"none\" }}\nmember = [{members}]\n\
             [[service]]\nname = \"t\"\naddress = \"203.0.113.11\"\nprotocol = \"tcp\"\n\
             port = 80\ngroup = \"h\"\n"
        );
        format!("{GOOD}{second}")
    }

    #[test]
    fn a_ring_pool_without_room_for_every_next_ring_names_the_size_needed() {
        let small = |text: &str| text.replace("[edge]", "[edge]\nring_slots = 32768");
        assert_eq!(mistakes(&small(GOOD)), [""; 0]);
        let expected =
            "edge.ring_slots: 32768 is too small for the rings of 2 groups; use at least 65536";
        assert_eq!(
            mistakes(&small(&two_groups("{ backend = \"a\" }"))),
            [expected]
        );
    }

    /// What is wrong with the sizes of [`GOOD`] when it is changed and its ring pool is ample.
    fn too_large(change: impl FnOnce(&mut Model)) -> String {
        let mut model = parse(GOOD).unwrap().model;
        model.edge.ring_slots = 1 << 26;
        change(&mut model);
        let report = Report::default();
        let checked = raw::document("", &report, |root| {
            check_sizes(root, &model);
            Some(())
        });
        let verdict = report.verdict(checked);
        verdict
            .err()
            .map(|errors| errors.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn more_members_than_the_kernel_s_table_has_targets() {
        let members = |count: usize| {
            too_large(|model| {
                let members = &mut model.groups.get_mut("g").unwrap().members;
                members.resize(count, members[0].clone());
            })
        };
        assert_eq!(members(4_095), "");
        let expected = "group: the groups of all services have 4096 members; use at most 4095";
        assert_eq!(members(4_096), expected);
    }

    #[test]
    fn more_services_or_groups_than_the_kernel_s_tables_have_places() {
        let services = |count: usize, each_its_group: bool| {
            too_large(|model| {
                for n in 1..count {
                    let mut service = model.services["s"].clone();
                    let mut group = model.groups["g"].clone();
                    service.name = format!("s{n}").parse().unwrap();
                    if each_its_group {
                        group.name = format!("g{n}").parse().unwrap();
                        group.members.truncate(1);
                        service.group = group.name.clone();
                        model.groups.insert(group.name.clone(), group);
                    }
                    model.services.insert(service.name.clone(), service);
                }
            })
        };
        assert_eq!(services(1_024, true), "");
        assert_eq!(
            services(1_025, false),
            "service: there are 1025; use at most 1024"
        );
        let expected = "service: there are 1025; use at most 1024\n\
            group: services use 1025 groups; use at most 1024";
        assert_eq!(services(1_025, true), expected);
    }

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
