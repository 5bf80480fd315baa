use super::*;

#[test]
fn members_that_are_up_but_not_in_use_do_not_make_a_decision_on_no_data() {
    let mut rig = fresh();
    rig.all_up();
    let more = BASE.replace("weight = 7 }", "weight = 7 }, { backend = \"c\" }");
    rig.event(Event::Reload(Box::new(parse(&more))));
    rig.admin(Admin::Disable, "a");
    rig.admin(Admin::Drain, "b");
    assert!(rig.image().held.contains("web"), "c has no verdict yet");
}

#[test]
fn an_operators_weight_stands_over_a_reload_until_it_is_cleared() {
    let mut rig = fresh();
    rig.all_up();
    let subject = Subject::Member {
        group: "web".parse().unwrap(),
        backend: "a".parse().unwrap(),
    };
    let weigh = |weight| AdminChange {
        subject: subject.clone(),
        change: weight,
    };
    rig.event(Event::Admin(weigh(Override::Weight(21))));
    rig.event(Event::Reload(Box::new(parse(
        &BASE.replace("weight = 3", "weight = 14"),
    ))));
    assert_eq!(rig.shares(), "a 3/4, b 1/4");
    rig.event(Event::Admin(weigh(Override::Reset)));
    assert_eq!(rig.shares(), "a 2/3, b 1/3");
    let refused = rig
        .engine
        .handle(Event::Admin(weigh(Override::Weight(1001))), rig.now);
    assert_eq!(refused.unwrap_err().code, "bad-weight");
}

#[test]
fn case_53_a_reload_keeps_health_and_does_not_turn_a_failed_server_up() {
    let mut rig = fresh();
    rig.only_a_up();
    rig.event(Event::Reload(Box::new(parse(
        &BASE.replace("weight = 7", "weight = 9"),
    ))));
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.saves());
}

#[test]
fn case_51_a_weight_that_changes_while_down_holds_after_recovery() {
    let mut rig = fresh();
    rig.only_a_up();
    rig.event(Event::Reload(Box::new(parse(
        &BASE.replace("weight = 7", "weight = 9"),
    ))));
    rig.good("b", 5);
    rig.good("b", 5);
    assert_eq!(rig.shares(), "a 1/4, b 3/4");
}

#[test]
fn a_new_member_gets_nothing_before_its_verdict_while_the_others_serve() {
    let mut rig = fresh();
    rig.all_up();
    let more = BASE.replace(
        "weight = 7 }",
        "weight = 7 }, { backend = \"c\", weight = 90 }",
    );
    rig.event(Event::Reload(Box::new(parse(&more))));
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    rig.good("c", 5);
    rig.good("c", 5);
    assert_eq!(rig.shares(), "a 3/100, b 7/100, c 9/10");
}

#[test]
fn a_group_whose_every_probe_is_new_keeps_its_old_tables_until_it_is_decided() {
    let mut rig = fresh();
    rig.all_up();
    let other = BASE.replace("kind = \"http\"", "kind = \"http\", path = \"/new\"");
    rig.event(Event::Reload(Box::new(parse(&other))));
    assert!(rig.image().held.contains("web"));
    rig.all_up();
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    assert!(rig.image().held.is_empty());
}

#[test]
fn a_service_that_moves_to_a_new_group_is_held_until_that_one_is_decided() {
    let mut rig = fresh();
    rig.all_up();
    let moved = BASE
        .replace("name = \"web\"\n    latency", "name = \"new\"\n    latency")
        .replace("group = \"web\"", "group = \"new\"")
        .replace("kind = \"http\"", "kind = \"http\", path = \"/new\"");
    rig.event(Event::Reload(Box::new(parse(&moved))));
    assert!(rig.image().held.contains("new"));
    assert_eq!(rig.image().services.len(), 1, "or it would be withdrawn");
}

#[test]
fn a_group_that_a_reload_adds_has_a_grace_of_its_own() {
    let mut rig = fresh();
    rig.all_up();
    rig.now = Duration::from_secs(100);
    let other = BASE
        .replace("name = \"web\"\n    latency", "name = \"new\"\n    latency")
        .replace("group = \"web\"", "group = \"new\"")
        .replace("kind = \"http\"", "kind = \"http\", path = \"/new\"");
    rig.event(Event::Reload(Box::new(parse(&other))));
    rig.now = Duration::from_secs(109);
    rig.event(Event::Tick);
    assert!(rig.image().held.contains("new"));
    rig.now = Duration::from_secs(110);
    rig.event(Event::Tick);
    assert!(rig.image().held.is_empty());
}

#[test]
fn a_new_group_takes_over_what_the_same_probes_have_found() {
    let mut rig = fresh();
    rig.all_up();
    let other = BASE
        .replace("name = \"web\"\n    latency", "name = \"new\"\n    latency")
        .replace("group = \"web\"", "group = \"new\"");
    rig.event(Event::Reload(Box::new(parse(&other))));
    assert!(rig.image().rings.contains_key("new"));
}

#[test]
fn a_removed_service_leaves_the_image() {
    let mut rig = fresh();
    rig.all_up();
    let none = BASE
        .split("[[service]]")
        .next()
        .unwrap()
        .replace("kind = \"http\"", "kind = \"http\", port = 80");
    rig.event(Event::Reload(Box::new(parse(&none))));
    assert_eq!(*rig.image(), Image::default());
}

#[test]
fn an_update_equals_delete_and_create() {
    let changed = BASE
        .replace("weight = 7", "weight = 9")
        .replace("30ms", "0ms");
    let mut updated = fresh();
    updated.all_up();
    updated.event(Event::Reload(Box::new(parse(&changed))));
    let mut created = Rig::start(&changed, Saved::default(), &[]);
    created.all_up();
    assert_eq!(updated.image(), created.image());
}

#[test]
fn a_late_sample_of_a_stream_that_is_gone_is_ignored() {
    let mut rig = fresh();
    rig.all_up();
    let key = rig.key("b");
    let without = BASE.replace(", { backend = \"b\", weight = 7 }", "");
    rig.event(Event::Reload(Box::new(parse(&without))));
    rig.event(Event::Samples(vec![(key, Err(Failure::Status(500)))]));
    assert_eq!(rig.shares(), "a 1");
}
