mod capacity;
mod met;
mod property;
mod several;

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use self::met::*;
use super::*;
use crate::{
    class::{Input, partition, runs},
    config,
    model::{Clients, Prefix, Route, Rule, When},
    table::{ClassTable, Served},
};

fn clients() -> Vec<IpAddr> {
    let v4 = [
        [10, 0, 0, 1],
        [10, 0, 0, 130],
        [10, 0, 1, 1],
        [10, 1, 0, 1],
        [11, 0, 0, 1],
        [255, 255, 255, 255],
    ];
    let v6 = [1 << 125, 3 << 125, (1 << 125) + 1, 0, u128::MAX];
    let v6 = v6.map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits)));
    v4.map(IpAddr::from).into_iter().chain(v6).collect()
}

fn prefixes() -> Vec<Prefix> {
    let around = clients().into_iter().flat_map(|client| {
        let lengths: &[u8] = if client.is_ipv4() {
            &[8, 16, 24, 25, 32]
        } else {
            &[3, 64, 128]
        };
        lengths
            .iter()
            .map(move |length| Prefix::around(client, *length).unwrap())
    });
    around.collect::<BTreeSet<_>>().into_iter().collect()
}

/// An image whose services, one per list of rules, have group `a` where no rule matches.
fn with_rules(groups: &[(&str, &[u8])], services: &Services<'_>) -> Image {
    with_views(groups, services, &[], &[])
}

/// Groups and rules of services.
type Services<'a> = [(&'a str, Vec<(Prefix, Route)>)];

/// The same, where some groups have several rings: which one, the input says by prefix.
fn with_views(
    groups: &[(&str, &[u8])],
    services: &Services<'_>,
    input: &[(Prefix, usize)],
    rings: &[(&str, Vec<Ring>)],
) -> Image {
    let mut image = image(groups);
    image.services.clear();
    let text = "edge = { name = \"e\", interfaces = [\"eth0\"] }";
    let mut model = config::parse(text).unwrap().model;
    for (number, (group, rules)) in services.iter().enumerate() {
        let service = service(number as u8, group, rules);
        let spec = ServiceSpec {
            name: service.name.clone(),
            group: service.group.clone(),
            routes: rules.iter().map(|(_, route)| route.clone()).collect(),
            by_class: !rules.is_empty(),
        };
        image.services.insert(service.key(), spec);
        model.services.insert(service.name.clone(), service);
    }
    let (v4, v6) = (input.iter().copied()).partition::<Vec<_>, _>(|it| it.0.first().is_ipv4());
    let input = Input {
        v4: runs(&v4),
        v6: runs(&v6),
    };
    image.clients = Arc::new(partition(&model, &[input]));
    for (group, rings) in rings {
        let classes = image.clients.classes.iter();
        let views = classes.map(|class| (class.inputs[0] % rings.len()) as u32);
        image.views.insert(name(group), views.collect());
        image.rings.insert(name(group), rings.clone().into());
    }
    for spec in image.services.values_mut() {
        let decides = spec.groups().any(|group| image.views.contains_key(group));
        spec.by_class |= decides;
    }
    image
}

fn service(number: u8, group: &str, rules: &[(Prefix, Route)]) -> crate::model::Service {
    crate::model::Service {
        name: name(&format!("s{number}")),
        address: IpAddr::from([203, 0, 113, number]),
        protocol: Protocol::TCP,
        port: 80,
        group: name(group),
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

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::around(address.parse().unwrap(), length.parse().unwrap()).unwrap()
}

fn group(text: &str) -> Route {
    Route::Group(name(text))
}

const GROUPS: &[(&str, &[u8])] = &[("a", &[1, 2]), ("b", &[3]), ("c", &[4])];

fn keys() -> Vec<ServiceKey> {
    (0..4).map(|number| service_key(number, 80)).collect()
}

/// Makes the tables say what the image says. After each single change every packet meets what it met
/// before or what it should meet then; or what a group that served before says now. A former ring
/// is what the same client of the same service met before, or was its former one already.
fn settle_soundly(tables: &mut Tables, image: &Image) -> Vec<Change> {
    let groups = tables.groups();
    let mut all = Vec::new();
    for _ in 0..100 {
        let plan = diff(tables, image).unwrap();
        let (before, older) = (answers(tables), older_answers(tables));
        let then: BTreeMap<_, _> = (before.keys())
            .map(|of| (*of, intended(image, &of.0, of.1)))
            .collect();
        for change in &plan.changes {
            follow(tables, change);
            for (of, now) in older_answers(tables) {
                let known = now.is_none() || now == older[&of] || now == before[&of];
                assert!(known, "{of:?} met {now:?} before, {change:?}");
            }
            for (of, now) in answers(tables) {
                let known = now == before[&of] || now == then[&of] || now.is_none();
                let known = known || follows(&before[&of], &now, image, &groups);
                assert!(
                    known,
                    "{of:?} meets {now:?}, was {:?}, {change:?}",
                    before[&of]
                );
            }
        }
        all.extend(plan.changes);
        if !plan.later {
            assert_eq!(diff(tables, image), Ok(Plan::default()));
            return all;
        }
        tables.release();
    }
    panic!("it does not end")
}

fn count(changes: &[Change], wanted: &str) -> usize {
    changes
        .iter()
        .filter(|change| kind(change) == wanted)
        .count()
}

#[test]
fn clients_get_what_the_rules_say() {
    let mut tables = tables();
    let rules = vec![
        (prefix("10.0.0.0/8"), group("b")),
        (prefix("10.0.0.0/25"), Route::Drop),
        (prefix("2000::/3"), Route::Pass),
        (prefix("10.0.1.0/25"), Route::Reject),
    ];
    let image = with_rules(GROUPS, &[("a", rules.clone()), ("c", vec![]), ("c", rules)]);
    settle_soundly(&mut tables, &image);
    assert_shows(&tables, &image);
    let row = |number| tables.services[&service_key(number, 80)].row;
    assert_eq!((row(1).classes(), row(0).classes()), (1, 16));
    assert_ne!(row(0), row(2), "their own groups differ");
}

#[test]
fn services_with_equal_rules_share_a_row() {
    let mut tables = tables();
    let rules = vec![(prefix("10.0.0.0/8"), group("b"))];
    let image = with_rules(GROUPS, &[("a", rules.clone()), ("a", rules)]);
    settle_soundly(&mut tables, &image);
    let row = |number| tables.services[&service_key(number, 80)].row;
    assert_eq!(row(0), row(1));
}

#[test]
fn when_only_rings_change_the_client_prefixes_are_not_touched() {
    let mut tables = tables();
    let rules = vec![(prefix("10.0.0.0/8"), group("b"))];
    let first = with_rules(GROUPS, &[("a", rules.clone())]);
    settle_soundly(&mut tables, &first);
    let next = with_rules(&[("a", &[1]), ("b", &[3, 5])], &[("a", rules)]);
    let changes = settle_soundly(&mut tables, &next);
    assert_eq!(
        (count(&changes, "clients"), count(&changes, "select")),
        (0, 0)
    );
    assert_shows(&tables, &next);
    let other = with_rules(GROUPS, &[("a", vec![(prefix("10.0.0.0/8"), group("c"))])]);
    let changes = settle_soundly(&mut tables, &other);
    assert_eq!(
        count(&changes, "clients"),
        0,
        "the same clients get something else"
    );
    assert_shows(&tables, &other);
}

#[test]
fn a_class_that_stays_keeps_its_number_and_a_new_one_rests_none() {
    let mut tables = tables();
    let rules = vec![(prefix("10.0.0.0/8"), group("b"))];
    settle_soundly(&mut tables, &with_rules(GROUPS, &[("a", rules.clone())]));
    let ten = |tables: &Tables| number_of(tables.clients_in_use(), [10, 1, 0, 1].into());
    let before = ten(&tables);
    let more = [rules, vec![(prefix("10.0.0.0/24"), group("c"))]].concat();
    rest(&mut tables);
    let next = with_rules(GROUPS, &[("a", more)]);
    let changes = settle_soundly(&mut tables, &next);
    assert_eq!(count(&changes, "put"), 0, "the row has room");
    assert_eq!(ten(&tables), before);

    let adopted = Tables {
        retired: Default::default(),
        ..tables.clone()
    };
    assert_eq!(
        diff(&adopted, &next),
        Ok(Plan::default()),
        "a restart finds the numbers again"
    );
}

#[test]
fn a_buffer_is_not_written_before_it_has_rested() {
    let mut tables = tables();
    let rule = |text, to| vec![(prefix(text), group(to))];
    settle_soundly(
        &mut tables,
        &with_rules(GROUPS, &[("a", rule("10.0.0.0/8", "b"))]),
    );
    let next = with_rules(GROUPS, &[("a", rule("11.0.0.0/8", "b"))]);
    let waits = Plan {
        changes: vec![],
        later: true,
    };
    assert_eq!(diff(&tables, &next), Ok(waits.clone()));
    tables.release();
    assert_eq!(diff(&tables, &next), Ok(waits));
    tables.release();
    let changes = settle_soundly(&mut tables, &next);
    assert_eq!(count(&changes, "select"), 1);
    assert_shows(&tables, &next);
}

#[test]
fn while_a_group_of_a_rule_is_undecided_all_rules_stay_and_their_rings_go_on() {
    let mut tables = tables();
    let old = vec![(prefix("10.0.0.0/8"), group("b"))];
    settle_soundly(
        &mut tables,
        &with_rules(GROUPS, &[("a", old.clone()), ("a", old)]),
    );
    let before = tables.clone();
    rest(&mut tables);
    let new = vec![(prefix("11.0.0.0/8"), group("c"))];
    let moved = vec![(prefix("11.0.0.0/8"), group("b"))];
    let groups: &[(&str, &[u8])] = &[("a", &[1]), ("b", &[3]), ("c", &[4])];
    let mut held = with_rules(groups, &[("a", new), ("a", moved)]);
    held.held.insert(name("c"));
    let plan = diff(&tables, &held).unwrap();
    assert!(!plan.later && count(&plan.changes, "clients") == 0);
    follow_all(&mut tables, &plan);
    let groups = |tables: &Tables| -> Vec<_> {
        let group = |met: Option<Met>| match met {
            Some(Met::Ring(seen)) => Some(seen.group),
            _ => None,
        };
        answers(tables).into_values().map(group).collect()
    };
    assert_eq!(groups(&tables), groups(&before));
    let service = tables.services[&service_key(0, 80)];
    let ring = tables
        .rings_of(service.row)
        .find(|ring| tables.group_of(*ring) == Some(group_id(&name("a"))));
    let ids: BTreeSet<_> = ids_in(&tables, ring.unwrap()).into_iter().collect();
    assert_eq!(ids.len(), 1, "the ring of a follows its members");
    held.held.clear();
    settle_soundly(&mut tables, &held);
    assert_shows(&tables, &held);
}

#[test]
fn flows_go_on_with_the_group_that_their_clients_left() {
    let mut tables = tables();
    let to = |to| vec![(prefix("10.0.0.0/8"), group(to))];
    settle_soundly(&mut tables, &with_rules(GROUPS, &[("a", to("b"))]));
    let id = tables.target_id(&member("b", 3)).unwrap();
    let next = with_rules(GROUPS, &[("c", to("c"))]);
    settle_soundly(&mut tables, &next);
    rest(&mut tables);
    let service = tables.services[&service_key(0, 80)];
    let may = |tables: &Tables, group: &str| serves(tables, &service, group_id(&name(group)));
    assert!(
        may(&tables, "a") && may(&tables, "b"),
        "the rule's old group and the service's"
    );
    for (named, stays) in [(BTreeSet::from([id]), true), (BTreeSet::new(), false)] {
        for change in collect(&tables, &next, &named) {
            follow(&mut tables, &change);
        }
        assert_eq!(may(&tables, "b"), stays);
        assert!(!may(&tables, "a") && may(&tables, "c"));
        assert_eq!(diff(&tables, &next), Ok(Plan::default()));
    }
}

#[test]
fn groups_of_a_service_that_ended_are_forgotten_before_its_id_is_used_again() {
    let mut tables = tables();
    let rules = vec![(prefix("10.0.0.0/8"), group("b"))];
    settle_soundly(&mut tables, &with_rules(GROUPS, &[("a", rules)]));
    let id = tables.services[&service_key(0, 80)].id;
    let next = image(&[("c", &[4])]);
    let none = with_rules(GROUPS, &[]);
    settle_soundly(&mut tables, &none);
    rest(&mut tables);
    rest(&mut tables);
    let mut early = tables.clone();
    update(&mut early, &next);
    assert_ne!(early.services[&service_key(0, 80)].id, id);
    for change in collect(&tables, &none, &BTreeSet::new()) {
        follow(&mut tables, &change);
    }
    assert!(tables.service_groups.is_empty());
    update(&mut tables, &next);
    assert_eq!(tables.services[&service_key(0, 80)].id, id);
}
