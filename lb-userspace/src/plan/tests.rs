use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;
use crate::{
    config::{self, assume::Assumed},
    model::MemberState,
    policy::decide,
};

/// A configuration whose members are all up.
struct Case {
    model: Model,
    clients: Clients,
    states: BTreeMap<Name, Vec<MemberState>>,
}

impl Case {
    fn new(text: &str) -> Self {
        let parsed = config::parse(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let model = parsed.model;
        let groups = model.groups.iter();
        let states = groups.map(|(name, it)| (name.clone(), Assumed::default().states(it)));
        Self {
            clients: Clients::of(&model),
            states: states.collect(),
            model,
        }
    }

    fn side(&self) -> Side<'_> {
        Side {
            model: &self.model,
            clients: &self.clients,
            scene: Scene {
                groups: &self.model.groups,
                backends: &self.model.backends,
                states: &self.states,
                regions: self.clients.regions(),
            },
        }
    }

    /// What a client gets of service `web`, without its class.
    fn get(&self, client: IpAddr) -> Distribution {
        let service = &self.model.services["web"];
        let route = service.route_for(client, &self.model.whereabouts);
        match route.leads_to() {
            Ok(group) => {
                let class = self.clients.class_of(client);
                let client = self.clients.client(&self.model, group, class);
                let decision = decide(&self.side().scene, group, &client);
                Distribution::of(&decision.rows.total())
            }
            Err(answer) => Distribution {
                answers: BTreeMap::from([(answer.as_str().to_owned(), "1".to_owned())]),
                ..Distribution::default()
            },
        }
    }
}

const BACKENDS: &str = r#"
    [edge]
    name = "e"
    interfaces = ["eth0"]
    [[backend]]
    name = "a"
    address = "198.51.100.1"
    [[backend]]
    name = "b"
    address = "198.51.100.2"
    [[backend]]
    name = "a6"
    address = "2001:db8::1"
"#;

const WEB: &str = r#"
    [[group]]
    name = "web"
    member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7 }]
    probe = { kind = "tcp" }
    [[group]]
    name = "office"
    member = [{ backend = "b" }]
    probe = { kind = "none" }
    [[service]]
    name = "web"
    address = "203.0.113.10"
    protocol = "tcp"
    port = 80
    group = "web"
    rule = [RULES]
"#;

const WEB6: &str = r#"
    [[group]]
    name = "six"
    member = [{ backend = "a6" }]
    probe = { kind = "none" }
    [[service]]
    name = "six"
    address = "2001:db8:203::10"
    protocol = "tcp"
    port = 80
    group = "six"
    rule = [RULES]
"#;

fn web(rules: &str) -> Case {
    Case::new(&format!("{BACKENDS}{}", WEB.replace("RULES", rules)))
}

fn planned(old: &Case, new: &Case) -> Plan {
    plan(&old.side(), &new.side())
}

/// Moves as text: part, sample, from, to.
fn told(plan: &ServicePlan) -> Vec<String> {
    let fate = |fate: &Option<Distribution>| {
        let Some(Distribution { shares, answers }) = fate else {
            return "nothing".to_owned();
        };
        let shares = shares.iter().map(|(name, part)| format!("{name} {part}"));
        let answers = answers.iter().map(|(name, part)| format!("{name} {part}"));
        shares.chain(answers).collect::<Vec<_>>().join(" ")
    };
    let line = |step: &Move| {
        let (from, to) = (fate(&step.from), fate(&step.to));
        format!("{} {}: {from} -> {to}", step.part, step.sample)
    };
    plan.moves.iter().map(line).collect()
}

#[test]
fn other_weights_are_told_for_all_clients_and_backends() {
    let old = web("");
    let text = format!("{BACKENDS}{}", WEB.replace("RULES", ""));
    let text = text.replace("weight = 3", "weight = 5");
    let new = Case::new(&text.replace("weight = 7", "weight = 5"));
    let plan = planned(&old, &new);
    let changes = [
        "group web: member a weight 3 -> 5",
        "group web: member b weight 7 -> 5",
    ];
    assert_eq!(plan.changes, changes);
    let [service] = &plan.services[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(
        (service.part.as_str(), service.family.as_str()),
        ("1", "IPv4")
    );
    assert_eq!(service.change, ServiceChange::Changed);
    let moves = ["1 0.0.0.0/0: a 3/10 b 7/10 -> a 1/2 b 1/2"];
    assert_eq!(told(service), moves);
    let load = |backend: &str, before, after| BackendPlan {
        backend: backend.parse().unwrap(),
        flows: None,
        services: vec![Load {
            service: "web".parse().unwrap(),
            before,
            after,
        }],
    };
    assert_eq!(plan.backends, [load("a", 0.3, 0.5), load("b", 0.7, 0.5)]);
}

#[test]
fn a_rule_moves_exactly_its_clients() {
    let old = web(r#"{ clients = ["192.0.2.0/24"], answer = "drop" }"#);
    let new = web(
        r#"{ clients = ["192.0.2.128/25"], answer = "pass" }, { clients = ["10.0.0.0/8"], group = "office" }"#,
    );
    let plan = planned(&old, &new);
    let [service] = &plan.services[..] else {
        panic!("{plan:?}");
    };
    let moves = [
        "1/256 10.0.0.0/8: a 3/10 b 7/10 -> b 1",
        "1/33554432 192.0.2.0/25: drop 1 -> a 3/10 b 7/10",
        "1/33554432 192.0.2.128/25: drop 1 -> pass 1",
    ];
    assert_eq!(told(service), moves);
    // 2^24 and 2^8 addresses of 2^32.
    assert_eq!(service.part, "65537/16777216");
}

#[test]
fn clients_of_ipv6_are_a_part_of_all_of_its_addresses() {
    let six = |rules: &str| Case::new(&format!("{BACKENDS}{}", WEB6.replace("RULES", rules)));
    let rule = r#"{ clients = ["2001:db8:7::/48"], answer = "drop" }"#;
    let plan = planned(&six(""), &six(rule));
    let [service] = &plan.services[..] else {
        panic!("{plan:?}");
    };
    let moves = ["1/281474976710656 2001:db8:7::/48: a6 1 -> drop 1"];
    assert_eq!(
        (told(service), service.family.as_str()),
        (moves.map(str::to_owned).into(), "IPv6")
    );
}

#[test]
fn services_that_come_and_go_are_told_with_what_they_had() {
    let old = web("");
    let new = Case::new(&format!("{BACKENDS}{}", WEB6.replace("RULES", "")));
    let plan = planned(&old, &new);
    let said: Vec<_> = plan
        .services
        .iter()
        .map(|it| (it.change, told(it)))
        .collect();
    let added = vec!["1 ::/0: nothing -> a6 1".to_owned()];
    let removed = vec!["1 0.0.0.0/0: a 3/10 b 7/10 -> nothing".to_owned()];
    let expected = [
        (ServiceChange::Added, added),
        (ServiceChange::Removed, removed),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_backend_that_goes_is_told_though_it_had_nothing() {
    let text = format!("{BACKENDS}{}", WEB.replace("RULES", ""));
    let spare = "[[backend]]\nname = \"spare\"\naddress = \"198.51.100.9\"\n";
    let plan = planned(&Case::new(&format!("{text}{spare}")), &Case::new(&text));
    assert_eq!(plan.services, []);
    let [backend] = &plan.backends[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(
        (backend.backend.as_str(), &backend.services[..]),
        ("spare", &[][..])
    );
    assert!(!plan.is_empty());
}

#[test]
fn settings_that_need_a_start_are_no_empty_plan() {
    let text = format!("{BACKENDS}{}", WEB.replace("RULES", ""));
    let other = text.replace("[edge]", "[edge]\nflow_entries = 1024");
    let plan = planned(&Case::new(&text), &Case::new(&other));
    assert_eq!(plan.restart, ["edge.flow_entries"]);
    assert!(!plan.is_empty() && plan.services.is_empty());
}

#[test]
fn of_many_moves_the_largest_are_told_and_the_others_counted() {
    let rules = |answers: [&str; 2]| {
        let rule = |i: usize| {
            let (length, answer) = (8 + i, answers[i % 2]);
            format!(
                r#"{{ clients = ["{}.0.0.0/{length}"], answer = "{answer}" }}"#,
                i + 1
            )
        };
        web(&(0..2).map(rule).collect::<Vec<_>>().join(","))
    };
    let plan = planned(&rules(["drop", "pass"]), &rules(["pass", "drop"]));
    let moves = [
        "1/256 1.0.0.0/8: drop 1 -> pass 1",
        "1/512 2.0.0.0/9: pass 1 -> drop 1",
    ];
    assert_eq!(told(&plan.services[0]), moves);

    let groups = |weight: u32| {
        let group = |i: u32| {
            let member = format!(
                "member = [{{ backend = \"a\", weight = {} }}, {{ backend = \"b\", weight = {weight} }}]",
                i + 1
            );
            format!("[[group]]\nname = \"g{i}\"\n{member}\nprobe = {{ kind = \"tcp\" }}\n")
        };
        let rule = |i: u32| format!(r#"{{ clients = ["{}.0.0.0/8"], group = "g{i}" }}"#, i + 1);
        let rules: Vec<_> = (0..25).map(rule).collect();
        let text = format!("{BACKENDS}{}", WEB.replace("RULES", &rules.join(",")));
        Case::new(&(text + &(0..25).map(group).collect::<String>()))
    };
    let plan = planned(&groups(100), &groups(101));
    let service = &plan.services[0];
    assert_eq!((service.moves.len(), service.more), (MOST_MOVES, 5));
    assert_eq!(service.part, "25/256");
}

prop_compose! {
    /// A configuration with some rules, for a few addresses so that they meet.
    fn any_case()(
        rules in prop::collection::btree_map((0..4_u32, 29..=32_u8), 0..4_usize, 0..6),
        weights in (1..4_u32, 1..4_u32),
        mapped in any::<bool>(),
    ) -> String {
        let mut seen = BTreeSet::new();
        let rules = rules.into_iter().filter_map(|((place, length), fate)| {
            let address = IpAddr::V4(Ipv4Addr::from_bits(0xc000_0200 + 5 * place));
            let prefix = Prefix::around(address, length)?;
            let route = ["answer = \"drop\"", "answer = \"pass\"", "group = \"office\"", "group = \"web\""][fate];
            seen.insert(prefix).then(|| format!("{{ clients = [\"{prefix}\"], {route} }}"))
        });
        let rules: Vec<_> = rules.collect();
        let text = format!("{BACKENDS}{}", WEB.replace("RULES", &rules.join(",")));
        let text = text.replace("weight = 3", &format!("weight = {}", weights.0));
        let text = text.replace("weight = 7", &format!("weight = {}", weights.1));
        let by_address = "name = \"office\"\npolicy = \"subnet\"\nmember = [{ backend = \"a\" }, \
            { backend = \"b\", clients = [\"192.0.2.0/30\"] }]";
        match mapped {
            true => text.replace("name = \"office\"\n    member = [{ backend = \"b\" }]", by_address)
                .replace("probe = { kind = \"none\" }", "probe = { kind = \"tcp\", port = 80 }"),
            false => text,
        }
    }
}

fn swapped(mut plan: Plan) -> Vec<(ServiceChange, String, BTreeSet<String>)> {
    for service in &mut plan.services {
        service.change = match service.change {
            ServiceChange::Added => ServiceChange::Removed,
            ServiceChange::Changed => ServiceChange::Changed,
            ServiceChange::Removed => ServiceChange::Added,
        };
        for step in &mut service.moves {
            std::mem::swap(&mut step.from, &mut step.to);
        }
    }
    moves(&plan)
}

/// What is told of services; equal parts in no order.
fn moves(plan: &Plan) -> Vec<(ServiceChange, String, BTreeSet<String>)> {
    let services = plan.services.iter();
    services
        .map(|it| (it.change, it.part.clone(), told(it).into_iter().collect()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_changes_against_itself(text in any_case()) {
        let plan = planned(&Case::new(&text), &Case::new(&text));
        prop_assert_eq!(plan, Plan::default());
    }

    #[test]
    fn the_other_way_round_is_from_what_it_is_to(old in any_case(), new in any_case()) {
        let (old, new) = (Case::new(&old), Case::new(&new));
        let (there, back) = (planned(&old, &new), planned(&new, &old));
        let loads = |plan: &Plan, back: bool| -> Vec<(Name, u64, u64)> {
            let all = plan.backends.iter().flat_map(|it| it.services.iter().map(move |load| (it, load)));
            all.map(|(it, load)| {
                let [one, other] = [load.before, load.after].map(f64::to_bits);
                let (before, after) = if back { (other, one) } else { (one, other) };
                (it.backend.clone(), before, after)
            })
            .collect()
        };
        prop_assert_eq!(loads(&there, false), loads(&back, true));
        prop_assert_eq!(moves(&there), swapped(back));
    }

    #[test]
    fn every_client_is_told_of_that_gets_something_else(old in any_case(), new in any_case()) {
        let (old, new) = (Case::new(&old), Case::new(&new));
        let plan = planned(&old, &new);
        let moves: Vec<&Move> = plan.services.iter().flat_map(|it| &it.moves).collect();
        let sum: Share = moves.iter().map(|it| it.part.parse::<Share>().unwrap()).sum();
        let all = plan.services.first().map_or(Share::zero(), |it| it.part.parse().unwrap());
        prop_assert_eq!(sum, all);
        // All addresses that rules of the cases name, and some around them.
        let mut counts = BTreeMap::<usize, u32>::new();
        for host in 0..64 {
            let client = IpAddr::V4(Ipv4Addr::from_bits(0xc000_01f0 + host));
            let (from, to) = (Some(old.get(client)), Some(new.get(client)));
            let told = moves.iter().position(|it| it.from == from && it.to == to);
            prop_assert_eq!(told.is_some(), from != to, "{}", client);
            *counts.entry(told.unwrap_or(usize::MAX)).or_default() += 1;
        }
        for (place, step) in moves.iter().enumerate() {
            let part = Share::new(counts.get(&place).copied().unwrap_or(0).into(), (1_u64 << 32).into());
            let everybody = step.part_value > 0.5;
            prop_assert!(everybody || step.part == part.to_string(), "{}: {:?}", part, step);
        }
    }
}
