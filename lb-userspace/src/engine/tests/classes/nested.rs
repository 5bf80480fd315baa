//! Groups in groups.

use super::*;

pub(in crate::engine::tests) fn nested() -> String {
    with_groups(
        &format!(
            r#"
            [[group]]
            name = "web"
            policy = "front-door"
            member = [{{ group = "inner", weight = 1 }}, {{ backend = "c", weight = 1 }}]
            {PROBE}
            [[group]]
            name = "inner"
            policy = "front-door"
            member = [{{ backend = "a", weight = 3 }}, {{ backend = "b", weight = 7 }}]
            {PROBE}
            "#
        ),
        "",
    )
}

#[test]
fn a_service_waits_for_the_groups_within_its_group() {
    let mut rig = Rig::start(&nested(), Saved::default(), &[]);
    rig.good("c", 5);
    rig.good("c", 5);
    assert!(rig.image().held.contains("web"));
    assert!(explained(&rig, "192.0.2.1").undecided);
    rig.all_up();
    assert!(rig.image().held.is_empty());
    assert_eq!(shares(&rig, "192.0.2.1"), "a 3/20, b 7/20, c 1/2");
}

#[test]
fn targets_are_those_of_the_group_that_the_service_names() {
    let mut rig = Rig::start(&nested(), Saved::default(), &[]);
    rig.all_three_up();
    let groups: BTreeSet<_> = rig
        .image()
        .targets
        .keys()
        .map(|it| it.group.as_str())
        .collect();
    assert_eq!(groups, BTreeSet::from(["web"]));
    assert_eq!(rig.image().targets.len(), 3);
    assert_eq!(
        rig.image()
            .rings
            .keys()
            .map(Name::as_str)
            .collect::<Vec<_>>(),
        ["web"]
    );
}

#[test]
fn a_nested_group_is_drained_as_a_member() {
    let mut rig = Rig::start(&nested(), Saved::default(), &[]);
    rig.all_three_up();
    rig.event(Event::Admin(AdminChange {
        subject: Subject::Member {
            group: "web".parse().unwrap(),
            backend: "inner".parse().unwrap(),
        },
        change: Override::Admin(Admin::Drain),
    }));
    assert_eq!(shares(&rig, "192.0.2.1"), "c 1");
    assert!(
        !rig.target(1).takes_new && rig.target(1).dead.is_none(),
        "its flows go on"
    );
}

#[test]
fn a_nested_group_that_is_down_leaves_its_part_to_the_others() {
    let mut rig = Rig::start(&nested(), Saved::default(), &[]);
    rig.all_three_up();
    for _ in 0..3 {
        rig.bad("a");
        rig.bad("b");
    }
    assert_eq!(shares(&rig, "192.0.2.1"), "c 1");
    let text = explained(&rig, "192.0.2.1").to_string();
    assert!(
        text.contains("inner  not healthy: 0 of its 2 members healthy, 1 needed"),
        "{text}"
    );
    assert!(rig.target(1).dead.is_some() && rig.target(2).dead.is_some());
}

#[test]
fn the_explanation_goes_down_through_the_groups() {
    let mut rig = Rig::start(&nested(), Saved::default(), &[]);
    rig.all_three_up();
    let explanation = explained(&rig, "192.0.2.1");
    let groups: Vec<_> = explanation
        .stages
        .iter()
        .map(|it| it.group.as_str())
        .collect();
    assert_eq!(groups, [["web"; 5], ["inner"; 5]].concat());
}

#[test]
fn a_reject_within_keeps_its_part_as_reject() {
    let text = nested().replace(
        "name = \"inner\"\n            policy = \"front-door\"",
        "name = \"inner\"\n            stages = [{ stage = \"available\", all_down = \"no-answer\" }]",
    );
    // The parent takes the child for healthy whatever its members are.
    let text = text.replace(
        "name = \"web\"\n            policy = \"front-door\"",
        "name = \"web\"\n            stages = [{ stage = \"weight\" }]",
    );
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    rig.all_three_up();
    assert_eq!(shares(&rig, "192.0.2.1"), "a 1/4, b 1/4, c 1/2");
    for _ in 0..3 {
        rig.bad("a");
        rig.bad("b");
    }
    assert_eq!(shares(&rig, "192.0.2.1"), "c 1/2, reject 1/2");
    assert_eq!(explained(&rig, "192.0.2.1").outcome, Outcome::Forward);
}
