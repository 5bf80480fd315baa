//! Whether the kernel's tables hold what a configuration asks for.

use std::collections::BTreeSet;

use super::{Checked, raw::Table};
use crate::{
    class::MOST_CLASSES,
    dataplane::{Capacity, row_length},
    model::{Name, Route, Service, When},
    refusal,
    table::ClassTable,
};

/// Reports every table that is too small.
pub(super) fn check(root: &Table<'_>, checked: &Checked) {
    check_tables(root, checked);
    check_clients(root, checked);
}

fn check_tables(root: &Table<'_>, Checked { model, summary, .. }: &Checked) {
    let size = Capacity::new(model.edge.ring_slots);
    for (key, what, number, most) in [
        ("service", "services", summary.services.len(), size.services),
        (
            "group",
            "backends of groups that services name",
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

/// Whether the kernel's tables hold the classes of clients and their prefixes.
fn check_clients(root: &Table<'_>, Checked { model, clients, .. }: &Checked) {
    let classes = clients.partition().classes.len();
    let wrong = |wrong| root.wrong("service", wrong);
    if classes > MOST_CLASSES {
        return wrong(refusal::size::many_classes(classes, MOST_CLASSES));
    }
    let size = Capacity::new(0);
    let table = ClassTable::of(clients.partition());
    let long = table.mixed_blocks().len();
    if long > size.long_networks as usize {
        wrong(refusal::size::many_long_prefixes(long, size.long_networks));
    }
    let v6 = table.prefixes().len();
    if v6 > size.v6_prefixes as usize {
        wrong(refusal::size::many_v6_prefixes(v6, size.v6_prefixes));
    }
    let tells_apart = |it: &&Service| {
        let mut groups = it.groups();
        !it.rules.is_empty() || groups.any(|group| clients.tells_apart(group))
    };
    let by_class = model.services.values().filter(tells_apart);
    let rows: BTreeSet<(&Name, Vec<_>)> = by_class.map(row).collect();
    let needed = rows.len() * row_length(classes) + model.groups.len();
    if needed > size.rows as usize {
        wrong(refusal::size::many_rows(
            rows.len(),
            classes,
            needed,
            size.rows,
        ));
    }
}

/// What services with a row of their own differ by.
fn row(service: &Service) -> (&Name, Vec<(String, &Route)>) {
    let rules = service.rules.iter().flat_map(|rule| {
        let clients: Vec<String> = match &rule.when {
            When::Clients(clients) => clients.iter().map(ToString::to_string).collect(),
            When::Geo(regions) => regions.iter().map(ToString::to_string).collect(),
            When::Location(pattern) => vec![pattern.to_string()],
        };
        clients.into_iter().map(|clients| (clients, &rule.route))
    });
    let mut rules: Vec<_> = rules.collect();
    rules.sort();
    (&service.group, rules)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::{
        config::{
            parse, raw,
            report::Report,
            tests::{GOOD, mistakes},
        },
        model::{Clients, Member, Model, Prefix, Rule, Who},
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
        let expected = "edge.ring_slots: 49088 is too small for 2 rings and the change of those of \
            a group; use at least 49152";
        assert_eq!(pool(&two, 49_088), [expected]);
        assert_eq!(pool(&two, 49_152), [""; 0]);
    }

    fn name_of(number: u32) -> Name {
        format!("x{number}").parse().unwrap()
    }

    /// What is wrong with the sizes of a model.
    fn too_large(model: &Model) -> String {
        let report = Report::default();
        let checked = raw::document("", &report, |root| {
            check(root, &Checked::new(model.clone(), Vec::new()));
            Some(())
        });
        report
            .verdict(checked)
            .map_or_else(|errors| errors.to_string(), |()| String::new())
    }

    #[test]
    fn more_members_than_there_are_targets() {
        let mut model = parse(GOOD).unwrap().model;
        let mut with_members = |count: u32| {
            let backend = model.backends["a"].clone();
            for number in 0..count {
                model.backends.insert(name_of(number), backend.clone());
            }
            let member = |number| Member::new(Who::Backend(name_of(number)));
            let members = &mut model.groups.get_mut("g").unwrap().members;
            *members = (0..count).map(member).collect();
            too_large(&model)
        };
        assert_eq!(with_members(4095), "");
        let expected = "group: there are 4096 backends of groups that services name; \
            use at most 4095, or spread them over several edges";
        assert_eq!(with_members(4096), expected);
    }

    #[test]
    fn more_services_than_the_tables_hold() {
        let mut model = parse(GOOD).unwrap().model;
        model.edge.ring_slots = 1 << 26;
        let (service, group) = (model.services["s"].clone(), model.groups["g"].clone());
        let name = name_of;
        for number in 1..1024 {
            let name = name(number);
            model.services.insert(name.clone(), service.clone());
            model.services.get_mut(&name).unwrap().group = name.clone();
            let mut group = group.clone();
            group.name = name.clone();
            model.groups.insert(name, group);
        }
        assert_eq!(too_large(&model), "");
        model.services.insert(name(1024), service);
        let services = "service: there are 1025 services; \
            use at most 1024, or spread them over several edges";
        assert_eq!(too_large(&model), services);
    }

    /// A service with rules that send these clients to its group.
    fn with_clients(clients: impl Iterator<Item = String>, route: &Route) -> Model {
        let mut model = parse(GOOD).unwrap().model;
        let service = model.services.get_mut("s").unwrap();
        let range = |text: String| {
            let (first, last) = text.split_once('-').unwrap();
            Clients::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
        };
        service.rules = vec![Rule {
            when: When::Clients(clients.map(range).collect()),
            route: route.clone(),
            prefer: Vec::new(),
        }];
        model
    }

    #[test]
    fn more_client_prefixes_than_the_tables_hold() {
        let v4 = |count: u32| {
            let first = |i: u32| Ipv4Addr::from_bits(0x0a00_0000 + 256 * i);
            let clients = (0..count).map(|i| format!("{}-{}", first(i), first(i)));
            too_large(&with_clients(clients, &Route::Drop))
        };
        assert_eq!(v4(8192), "");
        let expected = "service: rules, members' `clients` and data files cut 8193 networks of 256 IPv4 \
            addresses, and at most 8192 can be; use fewer IPv4 prefixes longer than /24, in data files too";
        assert_eq!(v4(8193), expected);
        let v6 = |count: u128| {
            let first = |i: u128| Ipv6Addr::from_bits((1 << 125) + (i << 65));
            let clients = (0..count).map(|i| format!("{}-{}", first(i), first(i)));
            too_large(&with_clients(clients, &Route::Drop))
        };
        assert_eq!(v6(65_536), "");
        assert_eq!(
            v6(65_537),
            "service: rules, members' `clients` and data files need 65537 IPv6 prefixes, and at most 65536 can \
             be; use fewer of them, in data files too"
        );
    }

    #[test]
    fn more_classes_than_there_are_numbers_and_rows() {
        let network = |first: u32, length| {
            let address = Ipv4Addr::from_bits(first);
            Clients::from(Prefix::around(address.into(), length).unwrap())
        };
        let rule = |clients, route| Rule {
            when: When::Clients(vec![clients]),
            prefer: Vec::new(),
            route,
        };
        let route = |number| Route::Group(name_of(number));
        // The first service tells networks of 8 bits apart, the second what is in each.
        let too_many = |networks: u32, others: u32| {
            let by_8 = (0..networks).map(|i| rule(network(i << 24, 8), route(i)));
            let by_16 = (0..networks * 256).map(|i| rule(network(i << 16, 16), route(i % 256)));
            let other = |i: u32| vec![rule(network(i << 24, 8), Route::Drop)];
            let mut rules = vec![by_8.collect(), by_16.collect()];
            rules.extend((0..others).map(other));
            let mut model = parse(GOOD).unwrap().model;
            model.edge.ring_slots = 1 << 26;
            let service = model.services.remove("s").unwrap();
            for number in 0..256 {
                let mut group = model.groups["g"].clone();
                group.name = name_of(number);
                model.groups.insert(name_of(number), group);
            }
            for (number, rules) in (0..).zip(rules) {
                let mut service = Service {
                    name: name_of(number),
                    ..service.clone()
                };
                (service.port, service.rules) = (80 + number as u16, rules);
                model.services.insert(service.name.clone(), service);
            }
            too_large(&model)
        };
        assert_eq!(too_many(127, 2), "");
        let rows = "service: 5 services that tell clients apart, with 32513 classes, need 162897 places, and there \
            are 131072; use fewer rules, or data files with fewer different rows, or spread the services over \
            several edges";
        assert_eq!(too_many(127, 3), rows);
        let classes = "service: rules, members' `clients` and data files make 32769 classes of clients, and at \
            most 32767 can be; use fewer rules, or data files with fewer different rows: a larger \
            `latency.quantum` makes times equal";
        assert_eq!(too_many(128, 0), classes);
    }
}
