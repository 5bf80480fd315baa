use lb_common::FormerRing;

use super::*;

/// The former rings, as what stands in their slots, and until when they count.
fn formers(tables: &Tables) -> Vec<(Vec<u16>, u32)> {
    let formers = tables.formers.values();
    let known = |former: &FormerRing| (ids_in(tables, former.ring), former.until);
    formers.map(known).collect()
}

/// Takes out what is over at a tick, with a grace of so many.
fn expire_at(tables: &mut Tables, now: u32, ticks: u32) -> usize {
    let changes = expire(tables, Grace { now, ticks });
    changes.iter().for_each(|change| follow(tables, change));
    changes.len()
}

#[test]
fn a_ring_that_is_replaced_counts_until_the_grace_is_over_and_stands_until_packets_have_left_it() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    let row = tables.services[&service_key(0, 80)].row.first();
    let (old, ring) = (tables.ring(row).to_vec(), tables.row(row));
    update(&mut tables, &image(&[("a", &[2])]));
    rest(&mut tables);
    assert_eq!(formers(&tables), [(old, 1150)]);
    assert_eq!(expire_at(&mut tables, 1149, 150), 0);
    assert_eq!(expire_at(&mut tables, 1150, 150), 1);
    assert!(tables.rings_out_of_use().any(|it| it == ring), "it rests");
    rest(&mut tables);
    assert_eq!(tables.rings_out_of_use().count(), 0);
}

#[test]
fn of_several_changes_within_the_grace_the_first_counts() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    let first = tables.ring(0).to_vec();
    for backends in [&[2, 3][..], &[3], &[3, 4]] {
        update(&mut tables, &image(&[("a", backends)]));
        assert_eq!(formers(&tables), [(first.clone(), 1150)]);
    }
    let next = image(&[("a", &[4])]);
    let before = tables.ring(0).to_vec();
    let later = Grace { now: 1150, ..GRACE };
    let plan = super::super::diff(&tables, &next, later).unwrap();
    follow_all(&mut tables, &plan);
    assert_eq!(formers(&tables), [(before, 1300)]);
}

#[test]
fn without_a_grace_no_ring_counts_and_one_of_a_longer_grace_is_taken_out() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    let next = image(&[("a", &[2])]);
    let plan = super::super::diff(&tables, &next, Grace::OFF).unwrap();
    let mut without = tables.clone();
    follow_all(&mut without, &plan);
    assert_eq!(formers(&without), []);
    update(&mut tables, &next);
    assert_eq!(expire_at(&mut tables.clone(), GRACE.now, 149), 1);
    assert_eq!(expire_at(&mut tables, GRACE.now, 0), 1);
}

#[test]
fn an_empty_ring_leaves_the_former_one_and_an_answer_does_not() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    update(&mut tables, &image(&[("a", &[])]));
    assert_eq!(formers(&tables).len(), 1);
    let mut rejects = image(&[("a", &[])]);
    let ring = Ring {
        slots: [Answer::REJECT.slot()].into(),
        ..Ring::default()
    };
    rejects.rings.insert(name("a"), vec![ring].into());
    let changes = update(&mut tables, &rejects);
    assert_eq!(
        changes.iter().map(kind).collect::<Vec<_>>(),
        ["former", "row"]
    );
    assert_eq!(formers(&tables), []);
}

#[test]
fn a_service_that_comes_to_another_group_is_not_led_by_what_that_showed_before() {
    let mut tables = tables();
    let both = |second: &str, backends: &[u8]| {
        let mut image = image(&[("a", backends), ("b", &[7])]);
        publish(&mut image, service_key(1, 80), second);
        image
    };
    update(&mut tables, &both("b", &[1, 2]));
    update(&mut tables, &both("b", &[2]));
    assert_eq!(formers(&tables).len(), 1);
    let changes = update(&mut tables, &both("a", &[2, 3]));
    assert_eq!(kind(&changes[0]), "former", "before all else");
    assert_eq!(formers(&tables), []);
}

#[test]
fn a_row_that_no_service_looks_at_has_no_former_ring() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    update(&mut tables, &image(&[("a", &[2])]));
    let changes = update(&mut tables, &Image::default());
    assert_eq!(kind(&changes[0]), "former");
    assert_eq!(formers(&tables), []);
}

#[test]
fn a_former_ring_by_a_foreign_hand_is_taken_out() {
    let mut tables = tables();
    let image = image(&[("a", &[1])]);
    update(&mut tables, &image);
    let row = tables.services[&service_key(0, 80)].row.first();
    for (row, ring) in [
        (row, Descriptor::new(u32::MAX, u32::MAX)),
        (row, Descriptor::new(4096, 1)),
        (row, Descriptor::new(3, 5)),
        (u32::MAX, tables.row(row)),
    ] {
        tables.formers.insert(row, FormerRing::new(ring, 1001));
        let changes = diff(&tables, &image).unwrap().changes;
        assert_eq!(changes.iter().map(kind).collect::<Vec<_>>(), ["former"]);
        changes.iter().for_each(|change| tables.apply(change));
        assert_eq!(formers(&tables), []);
    }
}

#[test]
fn an_id_that_a_former_ring_names_is_not_given_back() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    let old = tables.target_id(&member("a", 1)).unwrap();
    let next = image(&[("a", &[2])]);
    update(&mut tables, &next);
    rest(&mut tables);
    assert_eq!(freed(&tables, &next, &BTreeSet::new()), [0; 0]);
    expire_at(&mut tables, 1150, 150);
    rest(&mut tables);
    assert_eq!(freed(&tables, &next, &BTreeSet::new()), [old]);
}

#[test]
fn a_pool_without_room_for_a_third_ring_keeps_none() {
    let turn = |chunks: usize| {
        let mut tables = Tables::new(Capacity::new((chunks * CHUNK) as u32));
        let with = |backend: u8| {
            let mut image = image(&[("a", &[backend])]);
            let ring = ring("a", &[backend], CHUNK);
            image.rings.insert(name("a"), vec![ring].into());
            image
        };
        for backend in [1, 2] {
            update(&mut tables, &with(backend));
            rest(&mut tables);
        }
        let kept = formers(&tables).len();
        update(&mut tables, &with(3));
        kept
    };
    assert_eq!((turn(2), turn(3)), (0, 1));
}

#[test]
fn former_rings_give_way_to_new_ones_once_packets_have_left_them() {
    let mut tables = Tables::new(Capacity::new(4 * CHUNK as u32));
    let of = |length: usize, backend: u8| {
        let mut image = image(&[("a", &[backend])]);
        let ring = ring("a", &[backend], length);
        image.rings.insert(name("a"), vec![ring].into());
        image
    };
    update(&mut tables, &of(2 * CHUNK, 1));
    update(&mut tables, &of(CHUNK, 2));
    rest(&mut tables);
    assert_eq!(formers(&tables).len(), 1);
    let long = of(2 * CHUNK, 3);
    let plan = diff(&tables, &long).unwrap();
    let kinds: Vec<_> = plan.changes.iter().map(kind).collect();
    assert!(plan.later && kinds == ["former"], "{kinds:?}");
    follow_all(&mut tables, &plan);
    assert!(
        diff(&tables, &long).unwrap().later,
        "packets may look at it"
    );
    rest(&mut tables);
    update(&mut tables, &long);
    assert_eq!(logical(&tables, &long), long);
}
