use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::{prelude::*, sample};

use super::*;
use crate::{
    config,
    model::{Clients, Name, Prefix, Rule, When},
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A service on this port whose rules send these prefixes to these groups, or drop or pass them.
fn service(port: u16, rules: &[(Prefix, Route)]) -> Service {
    Service {
        name: name(&format!("s{port}")),
        address: IpAddr::from([203, 0, 113, 10]),
        protocol: lb_common::Protocol::TCP,
        port,
        group: name("rest"),
        rules: rules
            .iter()
            .map(|(prefix, route)| Rule {
                when: When::Clients(vec![Clients::from(*prefix)]),
                prefer: Vec::new(),
                route: route.clone(),
            })
            .collect(),
    }
}

fn model(services: impl IntoIterator<Item = Service>) -> Model {
    let text = "edge = { name = \"e\", interfaces = [\"eth0\"] }";
    let mut model = config::parse(text).unwrap().model;
    let by_name = services.into_iter().map(|it| (it.name.clone(), it));
    model.services = by_name.collect();
    model
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::around(address.parse().unwrap(), length.parse().unwrap()).unwrap()
}

fn group(text: &str) -> Route {
    Route::Group(name(text))
}

#[test]
fn without_rules_there_is_one_class_of_everybody() {
    assert_eq!(
        partition(&model([service(80, &[])]), &[]),
        Partition::default()
    );
}

#[test]
fn the_longest_prefix_wins_and_services_cut_each_other() {
    let one = service(
        80,
        &[
            (prefix("10.0.0.0/8"), group("a")),
            (prefix("10.1.0.0/16"), Route::Drop),
        ],
    );
    let two = service(81, &[(prefix("10.1.128.0/17"), Route::Pass)]);
    let keys = [one.key(), two.key()];
    let partition = partition(&model([one, two, service(82, &[])]), &[]);
    let borders: Vec<_> = (partition.v4.iter())
        .map(|(first, class)| (Ipv4Addr::from_bits(*first).to_string(), *class))
        .collect();
    let expected = [
        ("0.0.0.0", 0),
        ("10.0.0.0", 1),
        ("10.1.0.0", 2),
        ("10.1.128.0", 3),
        ("10.2.0.0", 1),
        ("11.0.0.0", 0),
    ];
    assert_eq!(
        borders,
        expected.map(|(first, class)| (first.to_owned(), class))
    );
    assert_eq!(partition.v6, [(0, 0)]);
    let class = |one, two| Class {
        routes: [(keys[0], one), (keys[1], two)].into(),
        prefer: BTreeMap::new(),
        inputs: Vec::new(),
    };
    let expected = [
        class(group("rest"), group("rest")),
        class(group("a"), group("rest")),
        class(Route::Drop, group("rest")),
        class(Route::Drop, Route::Pass),
    ];
    assert_eq!(partition.classes, expected);
    assert_eq!(partition.class_of("10.1.2.3".parse().unwrap()), 2);
    assert_eq!(partition.class_of("::ffff:10.1.2.3".parse().unwrap()), 2);
    assert_eq!(partition.class_of("255.255.255.255".parse().unwrap()), 0);
}

#[test]
fn rules_that_cover_everything_leave_class_0_to_nobody() {
    let all = [
        (prefix("0.0.0.0/0"), group("a")),
        (prefix("::/0"), group("a")),
    ];
    let partition = partition(&model([service(80, &all)]), &[]);
    assert_eq!((partition.v4, partition.v6), (vec![(0, 1)], vec![(0, 1)]));
    assert_eq!(partition.classes.len(), 2);
}

#[test]
fn a_rule_that_says_what_holds_anyway_makes_no_class() {
    let rules = [(prefix("10.0.0.0/8"), group("rest"))];
    let partition = partition(&model([service(80, &rules)]), &[]);
    assert_eq!((partition.v4.len(), partition.classes.len()), (1, 1));
}

fn routes() -> impl Strategy<Value = Route> {
    sample::select(vec![
        Route::Drop,
        Route::Pass,
        group("a"),
        group("b"),
        group("rest"),
    ])
}

/// Prefixes of all lengths, close enough together to hold each other often.
fn prefixes() -> impl Strategy<Value = Prefix> {
    let v4 = (any::<u32>(), 0..=32_u8, any::<bool>()).prop_map(|(bits, length, near)| {
        let bits = if near {
            bits & 0xff03_0307 | 0x0a00_0000
        } else {
            bits
        };
        Prefix::around(Ipv4Addr::from_bits(bits).into(), length).unwrap()
    });
    let v6 = (any::<u128>(), 0..=128_u8).prop_map(|(bits, length)| {
        let bits = bits & (3 << 120 | 3 << 64 | 3);
        Prefix::around(Ipv6Addr::from_bits(bits).into(), length).unwrap()
    });
    prop_oneof![v4, v6]
}

fn services() -> impl Strategy<Value = Vec<Service>> {
    let rules = prop::collection::btree_map(prefixes(), routes(), 0..40);
    let rules = rules.prop_map(|rules| rules.into_iter().collect::<Vec<_>>());
    let ports = |rules: Vec<Vec<_>>| (80..).zip(&rules).map(|(p, r)| service(p, r)).collect();
    prop::collection::vec(rules, 0..4).prop_map(ports)
}

/// What a service does for a client, prefix by prefix.
fn naive(service: &Service, client: IpAddr) -> Route {
    let prefixes = service.rules.iter().flat_map(|rule| {
        let prefixes = rule.clients().iter().flat_map(|it| it.prefixes());
        prefixes.map(|prefix| (prefix, &rule.route))
    });
    prefixes
        .filter(|(prefix, _)| prefix.contains(client))
        .max_by_key(|(prefix, _)| prefix.length())
        .map_or_else(
            || Route::Group(service.group.clone()),
            |(_, route)| route.clone(),
        )
}

/// The ends of all prefixes, and what is next to them.
fn corners(services: &[Service]) -> Vec<IpAddr> {
    let rules = services.iter().flat_map(|service| &service.rules);
    let clients = rules.flat_map(|rule| rule.clients());
    let around = |address: IpAddr| match address {
        IpAddr::V4(v4) => [
            v4.to_bits().wrapping_sub(1),
            v4.to_bits(),
            v4.to_bits().wrapping_add(1),
        ]
        .map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(v6) => [
            v6.to_bits().wrapping_sub(1),
            v6.to_bits(),
            v6.to_bits().wrapping_add(1),
        ]
        .map(|bits| Ipv6Addr::from_bits(bits).into()),
    };
    clients
        .flat_map(|it| it.prefixes())
        .flat_map(|prefix| [prefix.first(), prefix.last()])
        .flat_map(around)
        .filter(|address: &IpAddr| *address == address.to_canonical())
        .collect()
}

proptest! {
    #[test]
    fn every_client_is_in_the_class_that_its_longest_prefixes_say(services in services()) {
        let partition = partition(&model(services.clone()), &[]);
        for client in corners(&services) {
            let class = &partition.classes[partition.class_of(client)];
            for service in services.iter().filter(|it| !it.rules.is_empty()) {
                prop_assert_eq!(&class.routes[&service.key()], &naive(service, client), "{}", client);
            }
        }
    }

    #[test]
    fn a_partition_is_canonical(services in services()) {
        let partition = partition(&model(services.clone()), &[]);
        let v4: Vec<_> = partition.v4.iter().map(|(a, c)| (u128::from(*a), *c)).collect();
        for runs in [&v4, &partition.v6] {
            prop_assert_eq!(runs[0].0, 0);
            prop_assert!(runs.windows(2).all(|it| it[0].0 < it[1].0 && it[0].1 != it[1].1));
        }
        let mut seen = 0;
        for (_, class) in v4.iter().chain(&partition.v6) {
            prop_assert!(*class <= seen + 1, "numbered in the order of appearance");
            seen = seen.max(*class);
        }
        prop_assert_eq!(seen + 1, partition.classes.len());
        let mut backwards = services;
        for service in &mut backwards {
            service.rules.reverse();
        }
        prop_assert_eq!(super::partition(&model(backwards), &[]), partition);
    }
}

#[test]
fn a_hundred_thousand_prefixes_are_cut_at_once() {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    let mut rules = BTreeMap::new();
    while rules.len() < 100_000 {
        let length = 8 + (random() >> 16) % 25;
        let address = Ipv4Addr::from_bits(random());
        let prefix = Prefix::around(address.into(), length as u8).unwrap();
        rules.insert(prefix, group(&format!("g{}", random() >> 26)));
    }
    let by_group = rules
        .iter()
        .fold(BTreeMap::<_, Vec<_>>::new(), |mut all, (prefix, route)| {
            all.entry(route.clone())
                .or_default()
                .push(Clients::from(*prefix));
            all
        });
    let mut service = service(80, &[]);
    let rule = |(route, clients)| Rule {
        when: When::Clients(clients),
        route,
        prefer: Vec::new(),
    };
    service.rules = by_group.into_iter().map(rule).collect();
    let partition = partition(&model([service.clone()]), &[]);
    for _ in 0..10_000 {
        let client = IpAddr::from(Ipv4Addr::from_bits(random()));
        let longest = (0..=32)
            .rev()
            .find_map(|length| rules.get(&Prefix::around(client, length).unwrap()))
            .cloned();
        let expected = longest.unwrap_or_else(|| group("rest"));
        let class = &partition.classes[partition.class_of(client)];
        assert_eq!(class.routes[&service.key()], expected, "{client}");
    }
}

#[test]
fn inputs_tell_clients_apart_that_all_rules_treat_alike() {
    let service = service(80, &[(prefix("10.0.0.0/8"), Route::Drop)]);
    let key = service.key();
    let v4 = runs(&[(prefix("10.1.0.0/16"), 7), (prefix("11.0.0.0/8"), 7)]);
    let v6 = runs(&[(prefix("2000::/3"), 9)]);
    let inputs = [Input::default(), Input { v4, v6 }];
    let partition = partition(&model([service]), &inputs);
    let class = |client: &str| &partition.classes[partition.class_of(client.parse().unwrap())];
    for (client, route, choice) in [
        ("10.0.0.1", Route::Drop, 0),
        ("10.1.0.1", Route::Drop, 7),
        ("11.0.0.1", group("rest"), 7),
        ("2001:db8::1", group("rest"), 9),
        ("12.0.0.1", group("rest"), 0),
    ] {
        assert_eq!(class(client).routes[&key], route, "{client}");
        assert_eq!(class(client).inputs, [0, choice], "{client}");
    }
    assert_eq!(partition.classes.len(), 5);
}

#[test]
fn a_thousand_classes_of_a_hundred_thousand_runs_are_found_again() {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 7
    };
    let borders: std::collections::BTreeSet<u32> = (0..50_000).map(|_| random() << 7).collect();
    let mut input = |choices: u32| Input {
        v4: borders
            .iter()
            .map(|it| (*it, (random() % choices) as usize))
            .collect(),
        v6: vec![(0, 0)],
    };
    let inputs = [input(20), input(50)];
    let partition = partition(&model([]), &inputs);
    assert_eq!(partition.classes.len(), 1_000);
    for border in borders.iter().step_by(97) {
        let class = &partition.classes[partition.class_of(Ipv4Addr::from_bits(*border).into())];
        let choice = |input: &Input| input.v4[input.v4.partition_point(|it| it.0 <= *border) - 1].1;
        assert_eq!(class.inputs, inputs.each_ref().map(choice));
    }
}
