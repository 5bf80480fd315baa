use super::*;

#[test]
fn a_held_group_is_left_alone_whatever_else_the_image_says_of_it() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1]), ("b", &[2])]));
    let before = tables.clone();
    let mut held = image(&[("a", &[7]), ("b", &[3])]);
    held.held.extend([name("a"), name("b")]);
    assert_eq!(diff(&tables, &held), Ok(Plan::default()));
    assert_eq!(collect(&tables, &held, &BTreeSet::new()), []);

    let mut half = image(&[("a", &[7]), ("b", &[3])]);
    half.held.insert(name("a"));
    update(&mut tables, &half);
    let service = before.services[&service_key(0, 80)];
    assert_eq!(tables.services[&service_key(0, 80)], service);
    assert_eq!(
        tables.ring(service.row.first()),
        before.ring(service.row.first())
    );
    assert_eq!(tables.target_id(&member("a", 7)), None);
    assert!(tables.target_id(&member("b", 3)).is_some());
}

#[test]
fn a_service_that_is_deleted_ends_though_its_group_is_held() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    let before = tables.targets.clone();
    let mut next = Image::default();
    publish(&mut next, service_key(7, 80), "a");
    next.held.insert(name("a"));
    update(&mut tables, &next);
    assert_eq!(tables.services().count(), 0);
    assert_eq!(tables.targets, before, "flows may still name them");
    next.held.clear();
    update(&mut tables, &next);
    assert!(tables.services.contains_key(&service_key(7, 80)));
}

#[test]
fn a_held_group_publishes_no_new_service() {
    let mut image = image(&[("a", &[1])]);
    image.held.insert(name("a"));
    assert_eq!(diff(&tables(), &image), Ok(Plan::default()));
}

#[test]
fn a_service_goes_on_with_its_old_group_until_the_new_one_is_decided() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    let mut moved = image(&[("b", &[2])]);
    moved.held.insert(name("b"));
    assert_eq!(
        diff(&tables, &moved),
        Ok(Plan::default()),
        "nothing of a goes either"
    );
    moved.held.clear();
    update(&mut tables, &moved);
    assert_eq!(logical(&tables, &moved), moved);
}
