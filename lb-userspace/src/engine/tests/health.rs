//! Rules of health and what a member without a verdict gets.

use super::*;
use crate::probe::vector;

fn with_rule(health: &str) -> String {
    BASE.replace(
        "health = { window = 4, required = 2 }",
        &format!("health = {{ {health} }}"),
    )
}

const CHECKING: &str = "fall = 4, initial = \"checking\"";

#[test]
fn who_may_serve_without_a_verdict_does_until_it_is_bad() {
    let mut rig = Rig::start(&with_rule(CHECKING), Saved::default(), &[]);
    assert_eq!(
        rig.shares(),
        "a 3/10, b 7/10",
        "as soon as the ways are known"
    );
    for _ in 0..3 {
        rig.bad("b");
        assert_eq!(rig.shares(), "a 3/10, b 7/10");
        assert!(rig.image().held.is_empty());
    }
    rig.bad("b");
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.target(2).dead.is_some());
    rig.good("b", 5);
    assert_eq!(rig.shares(), "b 1", "a has no latency yet");
}

#[test]
fn t36_an_endpoint_that_is_checked_for_the_first_time_serves() {
    let members = "member = [{ backend = \"a\", weight = 3 }, { backend = \"b\", weight = 7 }]";
    let ranked = "member = [{ backend = \"a\", priority = 1 }, { backend = \"b\", priority = 2 },
        { backend = \"c\", priority = 3 }]";
    let text = with_rule(CHECKING).replace(members, ranked);
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    rig.good("b", 5);
    rig.good("c", 5);
    let expected = vector("T36", "expected").replace("P1", "a");
    assert_eq!(rig.shares(), expected);
    (0..4).for_each(|_| rig.bad("a"));
    assert_eq!(rig.shares(), "b 1");
}

#[test]
fn a_new_member_that_may_serve_without_a_verdict_does_so_at_once() {
    let mut rig = Rig::start(&with_rule(CHECKING), Saved::default(), &[]);
    let more = with_rule(CHECKING).replace("weight = 7 }", "weight = 7 }, { backend = \"c\" }");
    rig.event(Event::Reload(Box::new(parse(&more))));
    assert_eq!(rig.shares(), "a 1/20, b 7/60, c 5/6");
}

#[test]
fn tables_of_an_earlier_daemon_know_more_than_members_without_a_verdict() {
    let mut rig = Rig::start(&with_rule(CHECKING), Saved::default(), &["web"]);
    assert!(rig.image().held.contains("web"));
    rig.good("a", 5);
    (0..4).for_each(|_| rig.bad("b"));
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.image().held.is_empty());
}

#[test]
fn a_group_that_no_rule_decides_is_not_waited_for_for_ever() {
    let mut rig = Rig::start(&with_rule("fall = 2, rise = 2"), Saved::default(), &["web"]);
    rig.good("a", 5);
    rig.good("a", 5);
    rig.bad("b");
    rig.good("b", 5);
    assert!(rig.image().held.contains("web"), "b takes turns");
    rig.bad("b");
    assert!(rig.image().held.is_empty());
    assert_eq!(rig.shares(), "a 1");
}

#[test]
fn counted_failures_outlive_a_restart() {
    for rule in ["fall = 4", "burst = 4", "leaky = { down = 4, up = 1 }"] {
        let mut before = Rig::start(&with_rule(rule), Saved::default(), &[]);
        before.good("a", 5);
        before.good("b", 5);
        (0..3).for_each(|_| before.bad("b"));
        assert_eq!(before.shares(), "a 3/10, b 7/10", "{rule}");
        let text = serde_json::to_string(&before.engine.saved().found).unwrap();
        let saved = Saved {
            found: serde_json::from_str(&text).unwrap(),
            ..Saved::default()
        };
        let mut rig = Rig::start(&with_rule(rule), saved, &["web"]);
        assert_eq!(rig.shares(), "a 3/10, b 7/10", "{rule}");
        rig.bad("b");
        assert_eq!(rig.shares(), "a 1", "{rule}");
    }
}

#[test]
fn what_a_daemon_with_windows_only_left_is_taken_up() {
    let mut before = fresh();
    before.only_a_up();
    let text = serde_json::to_string(&before.engine.saved().found).unwrap();
    let text = text.replace("\"histories\"", "\"windows\"");
    let saved = Saved {
        found: serde_json::from_str(&text).unwrap(),
        ..Saved::default()
    };
    let rig = Rig::start(&with_rule("fall = 4"), saved, &["web"]);
    assert_eq!(rig.shares(), "a 1");
}

#[test]
fn another_rule_turns_no_failed_server_up() {
    let mut rig = fresh();
    rig.only_a_up();
    rig.event(Event::Reload(Box::new(parse(&with_rule(
        "fall = 4, rise = 2",
    )))));
    assert_eq!(rig.shares(), "a 1");
    rig.good("b", 5);
    assert_eq!(rig.shares(), "a 1");
    rig.good("b", 5);
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
}
