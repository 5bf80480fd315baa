//! A configuration whose one service has rules.

use std::collections::BTreeMap;

use lb_userspace::{
    config,
    model::{Clients, Model, Prefix, Route, Rule, When},
};

/// The service `web` at 203.0.113.10:80, whose group is `web`, with these rules for its clients. The
/// groups that they name need not be there.
pub fn model(rules: impl IntoIterator<Item = (Prefix, Route)>) -> Model {
    let text = r#"
        edge = { name = "e", interfaces = ["eth0"] }
        backend = [{ name = "a", address = "10.0.0.1" }]
        group = [{ name = "web", member = [{ backend = "a" }], probe = { kind = "none" } }]
        service = [{ name = "web", address = "203.0.113.10", port = 80, protocol = "tcp", group = "web" }]
    "#;
    let mut model = config::parse(text).expect("a good configuration").model;
    let mut by_route: BTreeMap<Route, Vec<Clients>> = BTreeMap::new();
    for (prefix, route) in rules {
        by_route.entry(route).or_default().push(prefix.into());
    }
    let rule = |(route, clients)| Rule {
        when: When::Clients(clients),
        route,
        prefer: Vec::new(),
    };
    let rules = by_route.into_iter().map(rule).collect();
    let service = model.services.get_mut("web").expect("the service");
    service.rules = rules;
    model
}
