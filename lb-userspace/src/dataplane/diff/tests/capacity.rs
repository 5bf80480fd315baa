use super::*;

#[test]
fn case_38_too_many_members_are_refused_whole() {
    let capacity = Capacity {
        targets: 4,
        ..Capacity::new(4096)
    };
    let mut tables = Tables::new(capacity);
    update(&mut tables, &image(&[("a", &[1, 2, 3])]));
    let full = DoesNotFit::Targets { needed: 4, size: 3 };
    assert_eq!(diff(&tables, &image(&[("a", &[1, 2, 3, 4])])), Err(full));

    let next = image(&[("a", &[1, 2, 4])]);
    let error = diff(&tables, &next).unwrap_err();
    assert!(
        matches!(error, DoesNotFit::NotYet { map: "TARGETS", .. }),
        "{error}"
    );
    update(&mut tables, &image(&[("a", &[1, 2])]));
    tables.release();
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
    image.rings.insert(name("a"), ring("a", &[1], 65));
    let error = diff(&tables, &image).unwrap_err();
    assert_eq!(
        error,
        DoesNotFit::RingSlots {
            needed: 4 * CHUNK,
            size: 3 * CHUNK
        }
    );
    assert!(
        error
            .to_string()
            .contains("raise `edge.ring_slots` to at least 256"),
        "{error}"
    );

    image.rings.insert(name("a"), ring("a", &[1], 64));
    update(&mut tables, &image);
    image.rings.insert(name("a"), ring("a", &[1], 128));
    let error = diff(&tables, &image).unwrap_err();
    assert!(
        matches!(error, DoesNotFit::NotYet { map: "SLOTS", .. }),
        "{error}"
    );
    tables.release();
    update(&mut tables, &image);
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
    assert_eq!(
        diff(&tables, &three),
        Err(DoesNotFit::Services { needed: 3, size: 2 })
    );

    update(&mut tables, &Image::default());
    let error = diff(&tables, &image(&[("b", &[2])])).unwrap_err();
    assert!(
        matches!(error, DoesNotFit::NotYet { map: "RINGS", .. }),
        "{error}"
    );
}
