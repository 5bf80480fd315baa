use super::*;

#[test]
fn client_prefixes_that_do_not_fit_are_refused_whole_with_the_map() {
    let capacity = Capacity {
        long_networks: 1,
        v6_prefixes: 1,
        ..Capacity::new(4096)
    };
    let tables = Tables::new(capacity);
    let image = |prefixes: &[&str]| {
        let rules = prefixes.iter().map(|it| (prefix(it), group("b")));
        with_rules(GROUPS, &[("a", rules.collect())])
    };
    assert!(diff(&tables, &image(&["10.0.0.1/32", "10.0.0.9/32", "2000::/3"])).is_ok());
    let long = DoesNotFit::LongNetworks { needed: 2, size: 1 };
    assert_eq!(
        diff(&tables, &image(&["10.0.0.1/32", "10.0.1.1/32"])),
        Err(long)
    );
    let v6 = DoesNotFit::V6Prefixes { needed: 2, size: 1 };
    assert_eq!(diff(&tables, &image(&["2000::/64", "4000::/64"])), Err(v6));
}

#[test]
fn too_many_descriptors_and_groups_of_services_are_refused_whole() {
    let capacity = Capacity {
        rows: 17,
        service_groups: 1,
        ..Capacity::new(4096)
    };
    let tables = Tables::new(capacity);
    let one = vec![(prefix("10.0.0.0/8"), group("b"))];
    assert!(
        diff(
            &tables,
            &with_rules(GROUPS, &[("a", one.clone()), ("a", vec![])])
        )
        .is_ok()
    );
    let dropped = vec![(prefix("10.0.0.0/8"), Route::Drop)];
    let rows = DoesNotFit::Rows {
        needed: 32,
        size: 17,
    };
    let two = with_rules(GROUPS, &[("a", one.clone()), ("a", dropped)]);
    assert_eq!(diff(&tables, &two), Err(rows));
    let groups = DoesNotFit::ServiceGroups { needed: 2, size: 1 };
    let equal = with_rules(GROUPS, &[("a", one.clone()), ("a", one)]);
    assert_eq!(diff(&tables, &equal), Err(groups));
}
