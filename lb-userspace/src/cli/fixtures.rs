//! A configuration, and the tables that a daemon makes of it.

use crate::{
    class::Clients,
    config,
    dataplane::{Capacity, Grace, Tables, diff},
    model::{Admin, Departure, Health, Mac, MemberState, Model},
    policy::fixtures::{decided, state},
    table::{Image, ServiceSpec, TargetKey, TargetSpec, ring, spread},
};

/// Two services, of which one tells clients apart.
pub(super) const FILE: &str = r#"
    edge = { name = "e", interfaces = ["eth0"] }
    backend = [
        { name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" },
        { name = "a6", address = "2001:db8::a" },
    ]
    group = [
        { name = "web", probe = { kind = "tcp" }, member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7 }] },
        { name = "office", probe = { kind = "none" }, member = [{ backend = "b" }] },
        { name = "web6", probe = { kind = "none" }, member = [{ backend = "a6" }] },
    ]
    [[service]]
    name = "web"
    address = "203.0.113.10"
    port = 80
    protocol = "tcp"
    group = "web"
    rule = [
        { clients = ["198.51.100.0/26", "192.0.2.1-192.0.2.20"], group = "office" },
        { clients = ["198.51.100.9"], answer = "drop" },
    ]
    [[service]]
    name = "dns"
    address = "2001:db8:203::10"
    port = 53
    protocol = "udp"
    group = "web6"
"#;

/// What [`FILE`] means.
pub(super) fn model() -> Model {
    config::parse(FILE).expect("a good configuration").model
}

/// The tables of a model whose members are all up, but for the group without an answer.
pub(super) fn tables(model: &Model, down: Option<&str>) -> Tables {
    let mut image = Image {
        clients: Clients::of(model).partition().clone(),
        ..Image::default()
    };
    for service in model.services.values() {
        let spec = ServiceSpec {
            name: service.name.clone(),
            group: service.group.clone(),
            routes: service.rules.iter().map(|it| it.route.clone()).collect(),
            by_class: !service.rules.is_empty(),
        };
        image.services.insert(service.key(), spec);
    }
    for group in model.groups.values() {
        let state = MemberState {
            admin: match down == Some(group.name.as_str()) {
                true => Admin::Drain,
                false => Admin::Enable,
            },
            ..state(Health::Up, None, "")
        };
        let decision = decided(group, &vec![state; group.members.len()]);
        let ring = ring(&group.name, &spread(&model.backends, &decision));
        image.rings.insert(group.name.clone(), vec![ring].into());
        for (.., backend) in group.backends() {
            let key = TargetKey {
                group: group.name.clone(),
                identity: model.backends[backend].identity(),
            };
            let target = TargetSpec {
                next_hop: Some(Mac([2, 0, 0, 0, 0, 1])),
                source: Mac([2, 0, 0, 0, 0, 2]),
                edge_address: None,
                mtu: 1500,
                departure: Departure::AS_IT_CAME,
                takes_new: true,
                dead: None,
            };
            image.targets.insert(key, target);
        }
    }
    let mut tables = Tables::new(Capacity::new(1 << 20));
    let plan = diff(&tables, &image, Grace::OFF).expect("it fits");
    plan.changes.iter().for_each(|change| tables.apply(change));
    tables
}
