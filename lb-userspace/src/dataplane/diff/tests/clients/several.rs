//! Groups that have several rings, by class.

use super::*;
use crate::dataplane::pool::Extent;

/// Service 0 of group `a`, whose ring the input chooses among these; `b` is another group.
fn divided(input: &[(&str, usize)], rings: Vec<Ring>) -> Image {
    let input: Vec<_> = input
        .iter()
        .map(|(text, choice)| (prefix(text), *choice))
        .collect();
    with_views(
        &[("a", &[1, 2, 3]), ("b", &[9])],
        &[("a", vec![])],
        &input,
        &[("a", rings)],
    )
}

fn over(backends: &[u8]) -> Ring {
    ring("a", backends, 2 * CHUNK)
}

fn places(tables: &Tables, key: ServiceKey) -> BTreeSet<u32> {
    let row = tables.services[&key].row;
    tables.rings_of(row).map(Descriptor::offset).collect()
}

#[test]
fn each_class_has_its_ring_and_equal_ones_are_written_once() {
    let mut tables = tables();
    let input = [("10.0.0.0/8", 1), ("11.0.0.0/8", 2), ("2000::/3", 3)];
    let rings = vec![over(&[1, 2]), over(&[3])];
    let image = divided(&input, rings.clone());
    assert_eq!(image.clients.classes.len(), 4, "though two have one ring");
    let changes = settle_soundly(&mut tables, &image);
    assert_eq!(count(&changes, "slots"), 2);
    assert_shows(&tables, &image);
    let key = service_key(0, 80);
    for (client, expected) in [("10.0.0.1", &rings[1]), ("11.0.0.1", &rings[0])] {
        let met = packet(&tables, &key, client.parse().unwrap());
        assert_eq!(met, Some(met::met(&name("a"), expected)), "{client}");
    }
    let adopted = Tables {
        retired: Default::default(),
        ..tables
    };
    assert_eq!(
        diff(&adopted, &image),
        Ok(Plan::default()),
        "after a restart"
    );
}

#[test]
fn a_class_that_moves_to_another_ring_of_its_group_writes_none() {
    let mut tables = tables();
    let rings = vec![over(&[1, 2]), over(&[3])];
    let first = divided(&[("10.0.0.0/8", 1), ("11.0.0.0/8", 2)], rings);
    settle_soundly(&mut tables, &first);
    rest(&mut tables);
    let mut moved = first.clone();
    moved.views.insert(name("a"), vec![0, 0, 1]);
    let changes = settle_soundly(&mut tables, &moved);
    assert!(
        count(&changes, "slots") == 0 && count(&changes, "row") == 2,
        "{changes:?}"
    );
    assert_shows(&tables, &moved);
}

#[test]
fn what_follows_a_ring_while_classes_wait_agrees_with_it_in_most_slots() {
    let mut tables = tables();
    let input = [("10.0.0.0/8", 1)];
    settle_soundly(&mut tables, &divided(&input, vec![over(&[1]), over(&[3])]));
    rest(&mut tables);
    // The rings come in another order, and the new rule of service 1 waits for its group.
    let next = [over(&[2, 3, 3]), over(&[1, 1, 2])];
    let mut waits = divided(&input, next.to_vec());
    let rules = vec![(prefix("10.0.0.0/8"), group("b"))];
    let held = with_rules(GROUPS, &[("a", vec![]), ("a", rules)]);
    let held_spec = held.services[&service_key(1, 80)].clone();
    waits.services.insert(service_key(1, 80), held_spec);
    waits.services.get_mut(&service_key(0, 80)).unwrap().routes = BTreeSet::from([group("b")]);
    waits.held.insert(name("b"));
    let plan = diff(&tables, &waits).unwrap();
    follow_all(&mut tables, &plan);
    let key = service_key(0, 80);
    for (client, expected) in [("11.0.0.1", &next[1]), ("10.0.0.1", &next[0])] {
        let met = packet(&tables, &key, client.parse().unwrap());
        assert_eq!(met, Some(met::met(&name("a"), expected)), "{client}");
    }
}

#[test]
fn rings_in_rows_and_of_answers_alone_are_found_again() {
    let mut tables = tables();
    let rows = Ring {
        columns: 4,
        ..over(&[1, 2])
    };
    let refused = Ring {
        slots: [Answer::REJECT.slot(); 7].into(),
        ..Ring::default()
    };
    let mixed = Ring {
        slots: [Answer::REJECT.slot(), Answer::DROP.slot()].into(),
        ..Ring::default()
    };
    let input = [("10.0.0.0/8", 1), ("11.0.0.0/8", 2), ("2000::/3", 3)];
    let image = divided(&input, vec![over(&[1, 2]), rows, refused, mixed]);
    let changes = settle_soundly(&mut tables, &image);
    assert_eq!(count(&changes, "slots"), 3, "one answer needs no ring");
    assert_shows(&tables, &image);
    let key = service_key(0, 80);
    let met = |client: &str| packet(&tables, &key, client.parse().unwrap());
    assert_eq!(met("11.0.0.1"), Some(Met::Answer(Answer::REJECT)));
    let service = tables.services[&key];
    let columns: BTreeSet<_> = tables
        .rings_of(service.row)
        .map(Descriptor::columns)
        .collect();
    assert_eq!(columns, [0, 4].into());
}

#[test]
fn rings_of_answers_alone_are_one_for_all_groups() {
    let mut tables = tables();
    let mixed = |columns| Ring {
        slots: [Answer::REJECT.slot(), Answer::DROP.slot()].into(),
        columns,
        ..Ring::default()
    };
    let rings = |group: &'static str, backend| {
        let own = ring(group, &[backend], CHUNK);
        (group, vec![own, mixed(0), mixed(1)])
    };
    let input = [(prefix("10.0.0.0/8"), 1), (prefix("11.0.0.0/8"), 2)];
    let services = [("a", vec![]), ("b", vec![])];
    let image = with_views(GROUPS, &services, &input, &[rings("a", 1), rings("b", 3)]);
    let changes = settle_soundly(&mut tables, &image);
    assert_eq!(count(&changes, "slots"), 4);
    assert_shows(&tables, &image);
}

#[test]
fn the_rings_of_a_group_find_room_together_or_wait() {
    let input = [("10.0.0.0/8", 1)];
    let image = |one: &[u8], two: &[u8]| divided(&input, vec![over(one), over(two)]);
    let sized = |chunks: usize| Tables::new(Capacity::new((chunks * CHUNK) as u32));
    let mut full = sized(7);
    settle_soundly(&mut full, &image(&[1], &[2]));
    rest(&mut full);
    let both = image(&[3], &[1, 2]);
    let needed = DoesNotFit::RingSlots {
        needed: 8 * CHUNK,
        size: 7 * CHUNK,
    };
    assert_eq!(diff(&full, &both), Err(needed));
    let one = image(&[1], &[3]);
    let before = places(&full, service_key(0, 80));
    settle_soundly(&mut full, &one);
    let after = places(&full, service_key(0, 80));
    assert_eq!(before.intersection(&after).count(), 1, "the other stays");

    let mut enough = sized(8);
    settle_soundly(&mut enough, &image(&[1], &[2]));
    settle_soundly(&mut enough, &both);
    settle_soundly(&mut enough, &one);
    assert_shows(&enough, &one);
    let rings: Vec<_> = enough.rings_in_use().map(Extent::of).collect();
    assert_eq!(rings.len(), 2);
}
