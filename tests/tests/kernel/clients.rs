//! Client prefixes in the kernel's maps.

use std::{collections::BTreeMap, sync::Arc};

use lb_userspace::{
    class::partition,
    config,
    dataplane::{Change, Kernel},
    model::{Clients, Model, Prefix, Route, Rule},
    table::{ClassTable, Image, ServiceSpec},
};

use crate::host::{Host, image, show, start};

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

fn model(rules: impl IntoIterator<Item = (Prefix, Route)>) -> Model {
    let text = r#"
        edge = { name = "e", interfaces = ["eth0"] }
        backend = [{ name = "a", address = "10.0.0.1" }]
        group = [{ name = "web", member = [{ backend = "a" }], probe = { kind = "none" } }]
        service = [{ name = "web", address = "203.0.113.10", port = 80, protocol = "tcp", group = "web" }]
    "#;
    let mut model = config::parse(text).unwrap().model;
    let mut by_route: BTreeMap<Route, Vec<Clients>> = BTreeMap::new();
    for (prefix, route) in rules {
        by_route.entry(route).or_default().push(prefix.into());
    }
    let rule = |(route, clients)| Rule { clients, route };
    let rules = by_route.into_iter().map(rule).collect();
    model.services.get_mut("web").unwrap().rules = rules;
    model
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::around(address.parse().unwrap(), length.parse().unwrap()).unwrap()
}

/// The image with these rules for its service on port 80.
fn with_rules(mut image: Image, rules: &[(Prefix, Route)]) -> Image {
    let model = model(rules.iter().cloned());
    let service = &model.services["web"];
    let spec = ServiceSpec {
        name: service.name.clone(),
        group: service.group.clone(),
        routes: rules.iter().map(|(_, route)| route.clone()).collect(),
    };
    image.services.insert(service.key(), spec);
    image.clients = Arc::new(partition(&model));
    image
}

#[test]
fn rules_are_read_back_and_a_restart_changes_nothing() {
    let host = Host::new();
    let edge = host.edge();
    let mut kernel = start(&edge).kernel;
    let mut tables = kernel.read_tables().unwrap();
    let web = Route::Group("web".parse().unwrap());
    for rules in [
        vec![
            (prefix("10.0.0.0/8"), Route::Drop),
            (prefix("10.0.0.128/25"), web),
            (prefix("255.255.255.255/32"), Route::Pass),
            (prefix("2001:db8::/32"), Route::Drop),
            (prefix("2001:db8::1/128"), Route::Pass),
        ],
        vec![
            (prefix("::/0"), Route::Drop),
            (prefix("10.0.0.9/32"), Route::Pass),
        ],
        vec![],
    ] {
        let image = with_rules(image(&[1, 2]), &rules);
        show(&mut kernel, &mut tables, &image);
        assert_eq!(kernel.read_tables().unwrap(), tables, "{rules:?}");
        let mut adopted = Kernel::open(&edge.pin_dir).unwrap();
        let mut found = adopted.read_tables().unwrap();
        show(&mut adopted, &mut found, &image);
        assert_eq!(found, tables, "nothing was to be done");
    }
}

#[test]
fn a_buffer_that_is_written_over_says_nothing_of_what_it_said() {
    let host = Host::new();
    let mut kernel = start(&host.edge()).kernel;
    let mut tables = kernel.read_tables().unwrap();
    let mut random = Random(7);
    for _ in 0..3 {
        let v6 = (0..600)
            .map(|_| (u128::from(random.next()) << 64, 1))
            .collect();
        let v4 = (0..600).map(|_| (random.next() as u32, 2)).collect();
        let table = Arc::new(table_of(v4, v6));
        let write = Change::WriteClients { buffer: 1, table };
        for _ in 0..2 {
            kernel.execute(&write).unwrap();
            tables.apply(&write);
        }
        let select = Change::SelectClients { buffer: 1 };
        kernel.execute(&select).unwrap();
        tables.apply(&select);
        assert_eq!(
            kernel.read_tables().unwrap().clients_in_use(),
            tables.clients_in_use()
        );
    }
}

/// Runs that begin at these addresses, with the number 0 between them.
fn table_of(v4: Vec<(u32, u16)>, v6: Vec<(u128, u16)>) -> ClassTable {
    fn runs<A: Copy + Ord + Default>(mut runs: Vec<(A, u16)>, all: &mut Vec<(A, u16)>) {
        runs.sort_unstable();
        all.push((A::default(), 0));
        for pair in runs.chunks_exact(2) {
            if all.last().unwrap().0 < pair[0].0 && pair[0].0 < pair[1].0 {
                all.extend([pair[0], (pair[1].0, 0)]);
            }
        }
    }
    let (mut all_v4, mut all_v6) = (Vec::new(), Vec::new());
    runs(v4, &mut all_v4);
    runs(v6, &mut all_v6);
    ClassTable::new(all_v4, all_v6)
}
