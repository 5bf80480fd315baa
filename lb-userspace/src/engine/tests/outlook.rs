use super::*;
use crate::plan::{Load, ServiceChange};

/// What a plan says of each backend: before and after, in per cent.
fn loads(rig: &Rig, text: &str) -> Vec<(String, i32, i32)> {
    let plan = rig.engine.plan(parse(text));
    let backends = plan.backends.iter();
    let percent = |part: f64| (part * 100.0).round() as i32;
    backends
        .flat_map(|it| {
            it.services
                .iter()
                .map(|load| (it.backend.to_string(), load))
        })
        .map(|(name, Load { before, after, .. })| (name, percent(*before), percent(*after)))
        .collect()
}

fn load(backend: &str, before: i32, after: i32) -> (String, i32, i32) {
    (backend.to_owned(), before, after)
}

fn equal_weights() -> String {
    let text = BASE.replace("weight = 3", "weight = 5");
    text.replace("weight = 7", "weight = 5")
}

#[test]
fn a_plan_goes_by_what_is_observed() {
    let mut rig = fresh();
    rig.all_up();
    let both = [load("a", 30, 50), load("b", 70, 50)];
    assert_eq!(loads(&rig, &equal_weights()), both);
    rig.bad("b");
    rig.bad("b");
    rig.bad("b");
    assert_eq!(
        loads(&rig, &equal_weights()),
        [],
        "a has all before and after"
    );
}

#[test]
fn a_plan_keeps_to_the_overrides() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    let plan = rig.engine.plan(parse(&equal_weights()));
    assert_eq!(plan.services, []);
    assert!(!plan.is_empty(), "the weights are others all the same");
}

#[test]
fn the_configuration_in_use_is_an_empty_plan_and_a_plan_changes_nothing() {
    let mut rig = fresh();
    rig.all_up();
    let image = rig.image().clone();
    assert!(rig.engine.plan(parse(BASE)).is_empty());
    assert!(!rig.engine.plan(parse(&equal_weights())).is_empty());
    assert_eq!(*rig.image(), image);
    rig.event(Event::Tick);
    assert_eq!(*rig.image(), image);
}

#[test]
fn a_member_that_nobody_has_observed_is_assumed_up_and_said_to_be() {
    let mut rig = fresh();
    rig.all_up();
    let text = BASE.replace(
        "{ backend = \"b\", weight = 7 }",
        "{ backend = \"b\", weight = 7 }, { backend = \"c\", weight = 10 }",
    );
    let plan = rig.engine.plan(parse(&text));
    assert_eq!(plan.assumed_up, ["web/c"]);
    let expected = [load("a", 30, 15), load("b", 70, 35), load("c", 0, 50)];
    assert_eq!(loads(&rig, &text), expected);
}

#[test]
fn before_the_first_verdicts_both_sides_are_assumed_alike() {
    let rig = fresh();
    let plan = rig.engine.plan(parse(BASE));
    assert_eq!(plan.assumed_up, ["web/a", "web/b"]);
    assert!(plan.is_empty(), "{plan:?}");
}

#[test]
fn a_service_that_is_new_is_added() {
    let mut rig = fresh();
    rig.all_up();
    let more = BASE.replace("port = 80", "port = 81").replace(
        "name = \"web\"\n    address",
        "name = \"other\"\n    address",
    );
    let plan = rig.engine.plan(parse(&more));
    let changes: Vec<_> = plan
        .services
        .iter()
        .map(|it| (it.service.as_str(), it.change))
        .collect();
    let expected = [
        ("other", ServiceChange::Added),
        ("web", ServiceChange::Removed),
    ];
    assert_eq!(changes, expected);
}
