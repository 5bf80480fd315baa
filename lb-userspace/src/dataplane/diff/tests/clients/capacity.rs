use super::*;
use crate::refusal::Refusal;

/// That this is why the image does not fit, and what the catalogue calls it.
#[track_caller]
fn refused(tables: &Tables, image: &Image, why: DoesNotFit, code: &str) {
    assert_eq!(diff(tables, image).as_ref(), Err(&why));
    assert_eq!(Refusal::from(why).code, code);
}

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
    let image_of_long = image(&["10.0.0.1/32", "10.0.1.1/32"]);
    refused(&tables, &image_of_long, long, "full-long-prefixes");
    let v6 = DoesNotFit::V6Prefixes { needed: 2, size: 1 };
    let image_of_v6 = image(&["2000::/64", "4000::/64"]);
    refused(&tables, &image_of_v6, v6, "full-v6-prefixes");
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
    refused(&tables, &two, rows, "full-rows");
    let groups = DoesNotFit::ServiceGroups { needed: 2, size: 1 };
    let equal = with_rules(GROUPS, &[("a", one.clone()), ("a", one)]);
    refused(&tables, &equal, groups, "full-service-groups");
}

#[test]
fn classes_that_do_not_fit_beside_the_old_ones_are_told_from_those_that_will() {
    let code = |why| Refusal::from(why).code;
    let most = lb_common::CLASSES as usize;
    assert_eq!(code(classes::too_many(2, most - 2, 1)), "no-room-yet");
    assert_eq!(code(classes::too_many(2, most - 1, 0)), "full-classes");
}
