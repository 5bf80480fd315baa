use super::*;
use crate::refusal::{Code, Refusal};

fn code(error: DoesNotFit) -> Code {
    Refusal::from(error).code
}

#[test]
fn case_38_too_many_members_are_refused_whole() {
    let capacity = Capacity {
        targets: 4,
        ..Capacity::new(4096)
    };
    let mut tables = Tables::new(capacity);
    update(&mut tables, &image(&[("a", &[1, 2, 3])]));
    let full = DoesNotFit::Targets { needed: 4, size: 3 };
    let error = diff(&tables, &image(&[("a", &[1, 2, 3, 4])])).unwrap_err();
    assert_eq!(error, full);
    assert_eq!(code(error), "full-targets");

    let next = image(&[("a", &[1, 2, 4])]);
    let error = diff(&tables, &next).unwrap_err();
    assert!(
        matches!(error, DoesNotFit::NotYet { map: "TABLES", .. }),
        "{error:?}"
    );
    assert_eq!(code(error), "no-room-yet");
    update(&mut tables, &image(&[("a", &[1, 2])]));
    forget_formers(&mut tables);
    rest(&mut tables);
    for change in collect(&tables, &next, &BTreeSet::new()) {
        tables.apply(&change);
    }
    update(&mut tables, &next);
}

#[test]
fn case_38_a_ring_that_does_not_fit_names_the_setting_and_the_size() {
    let mut tables = Tables::new(Capacity::new(3 * CHUNK as u32));
    let mut image = image(&[("a", &[1])]);
    update(&mut tables, &image);
    image
        .rings
        .insert(name("a"), vec![ring("a", &[1], 65)].into());
    let error = diff(&tables, &image).unwrap_err();
    assert_eq!(
        error,
        DoesNotFit::RingSlots {
            needed: 4 * CHUNK,
            size: 3 * CHUNK
        }
    );
    let refusal = Refusal::from(error);
    assert_eq!(refusal.code, "full-ring-pool");
    assert_eq!(refusal.mend, "raise `edge.ring_slots` to at least 256");

    image
        .rings
        .insert(name("a"), vec![ring("a", &[1], 64)].into());
    update(&mut tables, &image);
    image
        .rings
        .insert(name("a"), vec![ring("a", &[1], 128)].into());
    let later = Plan {
        changes: vec![],
        later: true,
    };
    assert_eq!(diff(&tables, &image), Ok(later.clone()));
    tables.release();
    assert_eq!(diff(&tables, &image), Ok(later), "not in the same turn");
    tables.release();
    update(&mut tables, &image);
}

/// Groups `g0`, `g1`, .. that all have these backends, with rings of one chunk.
fn groups(number: usize, backends: &[u8]) -> Image {
    let names: Vec<_> = (0..number).map(|n| format!("g{n}")).collect();
    let groups: Vec<_> = names.iter().map(|n| (n.as_str(), backends)).collect();
    let mut image = image(&groups);
    for name in &names {
        let ring = ring(name, backends, CHUNK);
        image.rings.insert(name.parse().unwrap(), vec![ring].into());
    }
    image
}

#[test]
fn a_backend_of_many_groups_dies_in_a_pool_that_does_not_hold_their_rings_twice() {
    let mut tables = Tables::new(Capacity::new(64 * CHUNK as u32));
    update(&mut tables, &groups(40, &[1, 2, 3]));
    rest(&mut tables);
    let mut dead = groups(40, &[1, 3]);
    for group in 0..40 {
        let spec = TargetSpec {
            takes_new: false,
            dead: Some(OnDown::DEFAULT),
            ..live(2)
        };
        dead.targets.insert(member(&format!("g{group}"), 2), spec);
    }
    let plan = diff(&tables, &dead).unwrap();
    assert!(plan.later);
    let written = |plan: &Plan| plan.changes.iter().filter(|c| kind(c) == "row").count();
    assert_eq!(written(&plan), 24);
    assert_eq!(settle(&mut tables, &dead), Ok(3), "the second waits");
    assert_eq!(logical(&tables, &dead), dead);
}

#[test]
fn rings_that_a_target_leaves_come_first() {
    let mut tables = Tables::new(Capacity::new(5 * CHUNK as u32));
    update(&mut tables, &groups(4, &[1, 2]));
    let mut next = groups(4, &[2, 1]);
    next.rings
        .insert(name("g2"), vec![ring("g2", &[1], CHUNK)].into());
    let plan = diff(&tables, &next).unwrap();
    follow_all(&mut tables, &plan);
    let row = tables.services[&service_key(2, 80)].row;
    let leaving = tables.target_id(&member("g2", 2)).unwrap();
    assert!(plan.later && !tables.ring(row.first()).contains(&leaving));
}

#[test]
fn many_rings_that_find_no_place_even_in_time_are_refused_with_the_size_that_does() {
    let size = |chunks: usize| (chunks * CHUNK) as u32;
    let wanted = groups(5, &[1]);
    let small = Tables::new(Capacity::new(size(4)));
    let (needed, size_there) = (5 * CHUNK, 4 * CHUNK);
    let error = DoesNotFit::RingSlots {
        needed,
        size: size_there,
    };
    assert_eq!(diff(&small, &wanted), Err(error), "all must stand");

    let mut full = Tables::new(Capacity::new(size(5)));
    update(&mut full, &wanted);
    let (needed, size_there) = (6 * CHUNK, 5 * CHUNK);
    let error = DoesNotFit::RingSlots {
        needed,
        size: size_there,
    };
    let next = groups(5, &[2]);
    assert_eq!(diff(&full, &next), Err(error), "there is no first");

    let mut enough = Tables::new(Capacity::new(size(6)));
    update(&mut enough, &wanted);
    assert!(settle(&mut enough, &next).is_ok());
    assert_eq!(logical(&enough, &next), next);
}

#[test]
fn a_service_keeps_its_old_group_until_the_ring_of_the_new_one_finds_room() {
    let mut tables = Tables::new(Capacity::new(3 * CHUNK as u32));
    update(&mut tables, &groups(2, &[1]));
    rest(&mut tables);
    let mut next = Image::default();
    for (n, group) in ["c", "d"].into_iter().enumerate() {
        publish(&mut next, service_key(n as u8, 80), group);
        let ring = ring(group, &[1], CHUNK);
        next.rings.insert(name(group), vec![ring].into());
        next.targets.insert(member(group, 1), live(1));
    }
    let plan = diff(&tables, &next).unwrap();
    follow_all(&mut tables, &plan);
    let group = |n| tables.services[&service_key(n, 80)].group;
    assert!(plan.later);
    assert_eq!(
        (group(0), group(1)),
        (group_id(&name("c")), group_id(&name("g1")))
    );
    let old = tables.target_id(&member("g1", 1)).unwrap();
    assert!(tables.targets[&old].state.takes_new());
    settle(&mut tables, &next).unwrap();
    assert_eq!(logical(&tables, &next), next);
}

#[test]
fn case_38_too_many_groups_and_services_are_refused_whole() {
    let capacity = Capacity {
        rows: 1,
        services: 2,
        ..Capacity::new(4096)
    };
    let mut tables = Tables::new(capacity);
    update(&mut tables, &image(&[("a", &[1])]));
    let two = image(&[("a", &[1]), ("b", &[2])]);
    assert_eq!(
        diff(&tables, &two),
        Err(DoesNotFit::Rows { needed: 2, size: 1 })
    );

    let mut three = image(&[("a", &[1])]);
    publish(&mut three, service_key(0, 81), "a");
    publish(&mut three, service_key(0, 82), "a");
    let error = diff(&tables, &three).unwrap_err();
    assert_eq!(error, DoesNotFit::Services { needed: 3, size: 2 });
    assert_eq!(code(error), "full-services");

    update(&mut tables, &Image::default());
    let error = diff(&tables, &image(&[("b", &[2])])).unwrap_err();
    assert!(
        matches!(error, DoesNotFit::NotYet { map: "RINGS", .. }),
        "{error:?}"
    );
}
