use std::collections::BTreeMap;

use lb_common::Protocol;
use toml::Value;

use super::{
    clients::clients,
    leaf, member,
    names::Names,
    raw::{Found, Table},
    report::Wrong,
    whereabouts,
};
use crate::{
    model::{LocationPattern, Name, Prefix, Route, Rule, Service, When},
    refusal,
};

/// Reads a `[[service]]`.
pub(super) fn read(service: &mut Table<'_>, groups: &Names) -> Option<Service> {
    let name = service.required("name", "\"web\"", leaf::name);
    let address = service.required("address", "\"203.0.113.10\"", leaf::address);
    let protocols = [("tcp", Protocol::TCP), ("udp", Protocol::UDP)];
    let protocol = service.required("protocol", "\"tcp\"", leaf::one_of(&protocols));
    let port = service.required("port", "443", leaf::port);
    let group = service.required("group", "\"web\"", |value| groups.known(value));
    let rules = service.tables("rule", |table| rule(table, groups, group.as_ref()));
    check_distinct(service, &rules);
    Some(Service {
        name: name?,
        address: address?,
        protocol: protocol?,
        port: port?,
        group: group?,
        rules: rules.into_iter().map(|found| found.value).collect(),
    })
}

/// Reads a rule; `own` is the service's group, if that is known.
fn rule(rule: &mut Table<'_>, groups: &Names, own: Option<&Name>) -> Option<Rule> {
    let when = when(rule);
    let prefer = prefer(rule);
    let names_group = rule.has("group");
    let group = rule.optional("group", |value| groups.known(value));
    let names_answer = rule.has("answer");
    let answer = rule.optional("answer", answer);
    match (names_group, names_answer, &prefer) {
        (true, true, _) => rule.wrong("answer", refusal::service::rule_with_two_routes()),
        (false, true, Some(_)) => rule.wrong("answer", refusal::service::answer_that_prefers()),
        (false, false, None) => rule.wrong("answer", refusal::service::rule_without_route()),
        _ => {}
    }
    let own = own.filter(|_| !names_group).cloned();
    let route = answer.or(group.or(own).map(Route::Group))?;
    Some(Rule {
        when: when?,
        route,
        prefer: prefer.unwrap_or_default(),
    })
}

/// Reads which clients a rule speaks of: by one of three keys.
fn when(rule: &mut Table<'_>) -> Option<When> {
    let keys = ["clients", "geo", "location"];
    let given: Vec<_> = keys.into_iter().filter(|key| rule.has(key)).collect();
    match given[..] {
        [] => rule.require("clients", "add `clients = [\"198.51.100.0/24\"]`"),
        [_] => {}
        [first, ..] => rule.wrong(first, refusal::service::rule_by_several()),
    }
    let lengths = [rule.length("clients"), rule.length("geo")];
    let clients = rule.list("clients", clients);
    let geo = rule.list("geo", member::region);
    let pattern = rule.optional("location", whereabouts::pattern);
    if clients.as_ref().is_some_and(Vec::is_empty) && lengths[0] == 0 {
        rule.wrong(
            "clients",
            refusal::file::empty_list("add `clients = [\"198.51.100.0/24\"]`"),
        );
    }
    if geo.as_ref().is_some_and(Vec::is_empty) && lengths[1] == 0 {
        rule.wrong("geo", refusal::file::empty_list("add `geo = [\"IE\"]`"));
    }
    // With one less than given, their places are not known any more.
    let clients = clients.filter(|clients| clients.len() == lengths[0]);
    let geo = geo.filter(|geo| geo.len() == lengths[1]);
    let by_address = clients.map(When::Clients);
    by_address
        .or(geo.map(When::Geo))
        .or(pattern.map(When::Location))
}

/// Reads preferred locations, at most eight (S102).
fn prefer(rule: &mut Table<'_>) -> Option<Vec<LocationPattern>> {
    const MOST: usize = 8;
    let given = rule.length("prefer");
    let has = rule.has("prefer");
    let prefer = rule.list("prefer", whereabouts::pattern);
    if given > MOST {
        rule.wrong("prefer", refusal::service::many_preferred(given));
    } else if has && given == 0 && prefer.is_some() {
        rule.wrong(
            "prefer",
            refusal::file::empty_list("add `prefer = [\"Europe.UK\"]`"),
        );
    }
    prefer
}

fn answer(value: &Value) -> Result<Route, Wrong> {
    let answers = [
        ("reject", Route::Reject),
        ("drop", Route::Drop),
        ("pass", Route::Pass),
    ];
    leaf::one_of(&answers)(value)
}

/// A prefix stands in the rules of a service once: of two no one could say which holds.
fn check_distinct(service: &Table<'_>, rules: &[Found<Rule>]) {
    let mut taken: BTreeMap<Prefix, String> = BTreeMap::new();
    for Found { path, value } in rules {
        for (number, clients) in value.clients().iter().enumerate() {
            let place = format!("{path}.clients[{number}]");
            let mut twice = None;
            for prefix in clients.prefixes() {
                let first = taken.entry(prefix).or_insert_with(|| place.clone());
                if *first != place {
                    twice = twice.or_else(|| Some((prefix, first.clone())));
                }
            }
            if let Some((prefix, first)) = twice {
                service.wrong_at(place, refusal::service::clients_twice(prefix, first));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        parse,
        tests::{expect, mistakes, with},
    };

    #[test]
    fn bad_services() {
        expect(
            "port = 80",
            &[
                (
                    "port = 0",
                    &["service[0].port: 0 is out of range; use 1 to 65535"],
                ),
                (
                    "port = 65536",
                    &["service[0].port: 65536 is out of range; use 1 to 65535"],
                ),
                (
                    "port = -1",
                    &["service[0].port: -1 is out of range; use 1 to 65535"],
                ),
            ],
        );
        expect(
            "protocol = \"tcp\"",
            &[
                (
                    "",
                    &["service[0].protocol: is missing; add `protocol = \"tcp\"`"],
                ),
                (
                    "protocol = \"sctp\"",
                    &["service[0].protocol: \"sctp\" is unknown; use \"tcp\" or \"udp\""],
                ),
                (
                    "protocol = \"TCP\"",
                    &["service[0].protocol: \"TCP\" is unknown; use \"tcp\" or \"udp\""],
                ),
                (
                    "protocol = 17",
                    &["service[0].protocol: 17 is an integer; use \"tcp\" or \"udp\""],
                ),
            ],
        );
        expect(
            "group = \"g\"",
            &[
                (
                    "group = \"backend-servers\"",
                    &["service[0].group: no group is named \"backend-servers\"; known: \"g\""],
                ),
                (
                    "group = 3",
                    &["service[0].group: 3 is an integer; use the name of a group"],
                ),
            ],
        );
    }

    fn rule(text: &str) -> String {
        with("group = \"g\"", &format!("group = \"g\"\nrule = [{text}]"))
    }

    #[test]
    fn bad_rules() {
        let clients = "clients = [\"10.0.0.0/8\"]";
        for (text, expected) in [
            (
                format!("{{ {clients} }}"),
                "service[0].rule[0].answer: is missing, and so is `group`; add `group = \"office\"` \
                 or `answer = \"reject\"`",
            ),
            (
                format!("{{ {clients}, group = \"g\", answer = \"drop\" }}"),
                "service[0].rule[0].answer: stands beside `group`; remove one of them",
            ),
            (
                format!("{{ {clients}, answer = \"allow\" }}"),
                "service[0].rule[0].answer: \"allow\" is unknown; use \"reject\" or \"drop\" or \"pass\"",
            ),
            (
                format!("{{ {clients}, group = \"h\" }}"),
                "service[0].rule[0].group: no group is named \"h\"; did you mean \"g\"?",
            ),
            (
                "{ group = \"g\" }".to_owned(),
                "service[0].rule[0].clients: is missing; add `clients = [\"198.51.100.0/24\"]`",
            ),
            (
                "{ clients = [], group = \"g\" }".to_owned(),
                "service[0].rule[0].clients: is empty; add `clients = [\"198.51.100.0/24\"]`",
            ),
            (
                format!("{{ {clients}, group = \"g\", location = \"*\" }}"),
                "service[0].rule[0].clients: stands beside another key that says which clients; make two rules of it",
            ),
        ] {
            assert_eq!(mistakes(&rule(&text)), [expected], "{text}");
        }
    }

    #[test]
    fn one_prefix_in_two_rules() {
        let text = "{ clients = [\"10.0.0.0/8\", \"10.0.0.0-10.0.0.9\"], group = \"g\" }, \
            { clients = [\"11.0.0.0/8\", \"10.0.0.8/31\", \"10.0.0.0/16\"], answer = \"drop\" }";
        let expected = "service[0].rule[1].clients[1]: 10.0.0.8/31 is in service[0].rule[0].clients[1] \
            too; leave it to one of them";
        assert_eq!(mistakes(&rule(text)), [expected]);
    }

    #[test]
    fn a_group_that_only_a_rule_names_is_one_of_the_service() {
        let text = rule("{ clients = [\"10.0.0.0/8\"], group = \"h\" }");
        let second = "[[group]]\nname = \"h\"\nprobe = { kind = \"http\" }\n\
            member = [{ backend = \"a\" }]\n";
        let checked = parse(&(text + second)).unwrap();
        assert_eq!(checked.warnings, []);
        let probe = checked.model.groups["h"].probe.as_ref().unwrap();
        assert_eq!(probe.port, 80, "the service's");
    }

    #[test]
    fn the_same_address_protocol_and_port_twice() {
        let again = "group = \"g\"\n[[service]]\nname = \"t\"\naddress = \"203.0.113.10\"\n\
            protocol = \"tcp\"\nport = 80\ngroup = \"g\"";
        let expected = "service[1].port: 203.0.113.10 port 80 tcp is the service \"s\" already; \
            remove one of them, or use another port";
        assert_eq!(mistakes(&with("group = \"g\"", again)), [expected]);
        // Another port is another service, but then the group's probe has no single default.
        let other = mistakes(&with("group = \"g\"", &again.replace("80", "81")));
        let expected = "group[0].probe.port: is missing, and the group's services have several: \
            80, 81; add `port = 80`";
        assert_eq!(other, [expected]);
    }

    #[test]
    fn both_protocols_of_a_port_are_two_services_and_the_probe_takes_it() {
        let udp = "group = \"g\"\n[[service]]\nname = \"t\"\naddress = \"203.0.113.10\"\n\
            protocol = \"udp\"\nport = 80\ngroup = \"g\"";
        let model = parse(&with("group = \"g\"", udp)).unwrap().model;
        assert_eq!(model.services["t"].protocol, Protocol::UDP);
        assert_eq!(model.groups["g"].probe.as_ref().unwrap().port, 80);
        assert_ne!(model.services["s"].key(), model.services["t"].key());
    }

    #[test]
    fn a_name_twice() {
        let again = "group = \"g\"\n[[service]]\nname = \"s\"\naddress = \"203.0.113.11\"\n\
            protocol = \"tcp\"\nport = 80\ngroup = \"g\"";
        let expected =
            "service[1].name: \"s\" is also the name of service[0]; give each its own name";
        assert_eq!(mistakes(&with("group = \"g\"", again)), [expected]);
    }
}
