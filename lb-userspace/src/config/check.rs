use std::collections::{BTreeMap, BTreeSet};

use super::{
    Checked, backend, edge,
    group::{self, Surroundings},
    problem::Problem,
    raw::{Found, Table},
    service,
    summary::summary,
};
use crate::{
    dataplane::Capacity,
    model::{Backend, Group, Model, Name, Service},
    refusal::{self, Refusal},
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

fn check_sizes(root: &Table<'_>, model: &Model) {
    let summary = summary(model);
    let size = Capacity::new(model.edge.ring_slots);
    for (key, what, number, most) in [
        ("service", "services", summary.services.len(), size.services),
        (
            "group",
            "groups that services use",
            summary.rings,
            size.rows,
        ),
        (
            "group",
            "members of groups that services use",
            summary.targets,
            // No target has the id 0.
            size.targets - 1,
        ),
    ] {
        if number > most as usize {
            root.wrong(key, refusal::size::too_many(number, what, most));
        }
    }
    if summary.ring_slots > u64::from(model.edge.ring_slots) {
        let set = model.edge.ring_slots;
        let wrong = refusal::size::small_ring_pool(set, summary.rings, summary.ring_slots);
        root.wrong_at("edge.ring_slots".to_owned(), wrong);
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
    let used: BTreeSet<&Name> = members.map(|member| &member.backend).collect();
    for Found { path, value } in backends {
        if !used.contains(&value.name) {
            warn(path, refusal::warning::unused_backend(&value.name));
        }
    }
    let used: BTreeSet<&Name> = services.iter().map(|found| &found.value.group).collect();
    for Found { path, value } in groups {
        let name = &value.name;
        if !used.contains(name) {
            warn(path, refusal::warning::unused_group(name));
        }
        if value.members.iter().all(|member| !member.enabled) {
            warn(path, refusal::warning::disabled_group(name));
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
    fn a_ring_pool_that_is_too_small_names_the_size_needed() {
        let pool = |text: &str, size: u32| {
            mistakes(&text.replace("[edge]", &format!("[edge]\nring_slots = {size}")))
        };
        assert_eq!(pool(GOOD, 32_768), [""; 0]);
        let two = two_groups("{ backend = \"a\" }");
        let expected = "edge.ring_slots: 49088 is too small for the rings of 2 groups and the \
            change of one; use at least 49152";
        assert_eq!(pool(&two, 49_088), [expected]);
        assert_eq!(pool(&two, 49_152), [""; 0]);
    }

    /// What is wrong with the sizes of a model.
    fn too_large(model: &Model) -> String {
        let report = Report::default();
        let checked = raw::document("", &report, |root| {
            check_sizes(root, model);
            Some(())
        });
        report
            .verdict(checked)
            .map_or_else(|errors| errors.to_string(), |()| String::new())
    }

    #[test]
    fn more_members_than_there_are_targets() {
        let mut model = parse(GOOD).unwrap().model;
        let mut with_members = |count: usize| {
            let members = &mut model.groups.get_mut("g").unwrap().members;
            members.resize(count, members[0].clone());
            too_large(&model)
        };
        assert_eq!(with_members(4095), "");
        let expected = "group: there are 4096 members of groups that services use; \
            use at most 4095, or spread them over several edges";
        assert_eq!(with_members(4096), expected);
    }

    #[test]
    fn more_services_than_the_tables_hold() {
        let mut model = parse(GOOD).unwrap().model;
        let service = model.services["s"].clone();
        let name = |number: u32| format!("x{number}").parse::<Name>().unwrap();
        for number in 1..1024 {
            model.services.insert(name(number), service.clone());
        }
        assert_eq!(too_large(&model), "");
        model.services.insert(name(1024), service);
        let services = "service: there are 1025 services; \
            use at most 1024, or spread them over several edges";
        assert_eq!(too_large(&model), services);
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
