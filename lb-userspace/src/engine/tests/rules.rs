use lb_common::ServiceKey;

use super::*;
use crate::{
    model::Route,
    policy::{MatchedRule, Outcome},
};

/// The base with a group `office` of backend c, and rules.
fn with_rules() -> String {
    let rules = r#"group = "web"
        rule = [
            { clients = ["10.0.0.0/8"], group = "office" },
            { clients = ["10.0.0.0-10.0.0.9"], answer = "drop" },
            { clients = ["2001:db8::/32"], answer = "pass" },
        ]
        [[group]]
        name = "office"
        member = [{ backend = "c" }]
        probe = { kind = "http", health = { window = 4, required = 2 } }"#;
    BASE.replace("group = \"web\"", rules)
}

fn key(rig: &Rig) -> ServiceKey {
    rig.engine.model().services["web"].key()
}

#[test]
fn groups_that_only_rules_name_are_decided_and_stand_in_the_image() {
    let mut rig = Rig::start(&with_rules(), Saved::default(), &[]);
    rig.all_up();
    assert!(rig.image().held.contains("office"), "c has no verdict yet");
    rig.good("c", 5);
    rig.good("c", 5);
    let image = rig.image();
    assert!(image.held.is_empty());
    let rings: Vec<_> = image.rings.keys().map(Name::as_str).collect();
    assert_eq!(rings, ["office", "web"]);
    let spec = &image.services[&key(&rig)];
    assert_eq!(spec.groups().count(), 2);
    let office = Route::Group("office".parse().unwrap());
    assert_eq!(
        spec.routes,
        BTreeSet::from([Route::Drop, Route::Pass, office.clone()])
    );
    let class = image.clients.class_of("10.9.9.9".parse().unwrap());
    assert_eq!(image.clients.classes[class].routes[&key(&rig)], office);
}

#[test]
fn an_explanation_names_the_class_and_the_rule() {
    let mut rig = Rig::start(&with_rules(), Saved::default(), &[]);
    rig.all_up();
    let explain =
        |rig: &Rig, client: &str| rig.engine.explain("web", client.parse().unwrap()).unwrap();
    assert!(
        explain(&rig, "192.0.2.1").undecided,
        "the whole service waits for c"
    );
    rig.good("c", 5);
    rig.good("c", 5);
    let rule = |rule, prefix: &str, group: Option<&str>, answer: Option<&str>| {
        Some(MatchedRule {
            rule,
            prefix: Some(prefix.to_owned()),
            location: None,
            region: None,
            prefer: Vec::new(),
            group: group.map(|name| name.parse().unwrap()),
            answer: answer.map(str::to_owned),
        })
    };
    for (client, class, matched, outcome, shares) in [
        ("192.0.2.1", 0, None, Outcome::Forward, 2),
        (
            "10.9.9.9",
            2,
            rule(0, "10.0.0.0/8", Some("office"), None),
            Outcome::Forward,
            1,
        ),
        (
            "::ffff:10.9.9.9",
            2,
            rule(0, "10.0.0.0/8", Some("office"), None),
            Outcome::Forward,
            1,
        ),
        (
            "10.0.0.9",
            1,
            rule(1, "10.0.0.8/31", None, Some("drop")),
            Outcome::Drop,
            0,
        ),
    ] {
        let explanation = explain(&rig, client);
        assert_eq!(
            (explanation.class, explanation.outcome),
            (class, outcome),
            "{client}"
        );
        assert_eq!(explanation.rule, matched, "{client}");
        assert_eq!(explanation.shares.len(), shares, "{client}");
        assert!(!explanation.undecided);
    }
}

#[test]
fn a_reload_of_equal_rules_in_another_order_changes_no_class() {
    let mut rig = Rig::start(&with_rules(), Saved::default(), &[]);
    let before = rig.image().clients.clone();
    let lines = with_rules();
    let (first, second) = (
        r#"{ clients = ["10.0.0.0/8"], group = "office" },"#,
        r#"{ clients = ["2001:db8::/32"], answer = "pass" },"#,
    );
    let swapped = lines
        .replace(first, "X")
        .replace(second, first)
        .replace('X', second);
    rig.event(Event::Reload(Box::new(parse(&swapped))));
    assert_eq!(rig.image().clients, before);
}
