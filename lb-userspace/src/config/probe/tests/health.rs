//! The keys of `health`, and what a policy's defaults change.

use super::*;
use crate::{
    config::{
        authorities::{Host, Store},
        raw,
        report::Report,
    },
    model::{
        BurstRule, ConsecutiveRule, HealthRule, Initial, LeakyRule, ProbeDefaults, WindowRule,
    },
    refusal::{Errors, Problem},
};

fn rule(keys: &str) -> HealthRule {
    let model = parse(&file(&format!(", health = {{ {keys} }}"))).unwrap();
    model.model.groups["g"].health
}

/// The same number in each of the fields.
macro_rules! counts {
    ($rule:ident { $($field:ident: $number:literal),+ }) => {
        $rule { $($field: $number.try_into().unwrap()),+ }
    };
}

#[test]
fn the_keys_say_which_rule_it_is() {
    let window = |window, required| HealthRule::window(window, required).unwrap();
    assert_eq!(rule(""), window(4, 2));
    assert_eq!(rule("initial = \"down\""), window(4, 2));
    assert_eq!(rule("window = 255, required = 255"), window(255, 255));
    assert_eq!(rule("window = 1"), window(1, 1));
    let expected = counts!(ConsecutiveRule {
        fall: 4_u8,
        rise: 1_u8
    });
    assert_eq!(rule("fall = 4"), HealthRule::Consecutive(expected));
    let expected = counts!(ConsecutiveRule {
        fall: 4_u8,
        rise: 255_u8
    });
    assert_eq!(rule("rise = 255"), HealthRule::Consecutive(expected));
    let burst = |retries, failures, rise: u8| {
        let rule = BurstRule::new(retries, failures, rise.try_into().unwrap());
        HealthRule::Burst(rule.unwrap())
    };
    assert_eq!(rule("burst = 10, failures = 6, rise = 2"), burst(10, 6, 2));
    assert_eq!(rule("burst = 127"), burst(127, 0, 1));
    assert_eq!(rule("failures = 2"), burst(3, 2, 1));
    let expected = counts!(LeakyRule {
        down: 3_u8,
        ok: 2_u8,
        up: 1_u8
    });
    let leaky = rule("leaky = { down = 3, ok = 2, up = 1 }");
    assert_eq!(leaky, HealthRule::Leaky(expected));
    assert_eq!(rule("leaky = {}"), HealthRule::Leaky(LeakyRule::DEFAULT));
}

#[test]
fn what_a_member_without_a_verdict_gets_is_a_setting() {
    assert_eq!(probe("health = {}").initial, Initial::Down);
    let checking = probe("health = { fall = 4, initial = \"checking\" }");
    assert_eq!(checking.initial, Initial::Checking);
}

/// Each of these in `health`, and what is wrong with it.
#[track_caller]
fn refused(cases: &[(&str, &str)]) {
    for (keys, expected) in cases {
        let found = bad(&format!("health = {{ {keys} }}"));
        assert_eq!(found, [format!("group[0].probe.health.{expected}")]);
    }
}

#[test]
fn numbers_out_of_range() {
    let range =
        |key: &str, given: i64, range: &str| format!("{key}: {given} is out of range; use {range}");
    for (keys, key, given, wanted) in [
        ("window = 0", "window", 0, "1 to 255"),
        ("window = 256", "window", 256, "1 to 255"),
        ("required = 0", "required", 0, "1 to 4"),
        ("required = 5", "required", 5, "1 to 4"),
        ("window = 2, required = 3", "required", 3, "1 to 2"),
        ("window = 256, required = 9", "window", 256, "1 to 255"),
        ("fall = 0", "fall", 0, "1 to 255"),
        ("fall = 256", "fall", 256, "1 to 255"),
        ("fall = 4, rise = -1", "rise", -1, "1 to 255"),
        ("burst = 0", "burst", 0, "1 to 127"),
        ("burst = 128, failures = 9", "burst", 128, "1 to 127"),
        ("burst = 3, failures = 4", "failures", 4, "0 to 3"),
        ("burst = 3, rise = 0", "rise", 0, "1 to 255"),
        ("leaky = { down = 0 }", "leaky.down", 0, "1 to 255"),
        ("leaky = { ok = 256 }", "leaky.ok", 256, "1 to 255"),
        ("leaky = { up = 0 }", "leaky.up", 0, "1 to 255"),
    ] {
        refused(&[(keys, &range(key, given, wanted))]);
    }
}

#[test]
fn values_and_keys_of_the_wrong_kind() {
    refused(&[
        ("fall = \"4\"", "fall: \"4\" is a string; use 1 to 255"),
        (
            "leaky = 3",
            "leaky: 3 is an integer; use a table: `leaky = { .. }`",
        ),
        (
            "leaky = { out = 1 }",
            "leaky.out: unknown key; known here: down, ok, up",
        ),
        (
            "initial = \"up\"",
            "initial: \"up\" is unknown; use \"down\" or \"checking\"",
        ),
        (
            "slow = 1",
            "slow: unknown key; known here: window, required, fall, rise, burst, failures, leaky, initial",
        ),
    ]);
}

#[test]
fn keys_of_two_rules() {
    for (keys, key, rule) in [
        ("fall = 4, window = 4", "window", "`fall`, `rise`"),
        (
            "burst = 3, rise = 1, fall = 1",
            "fall",
            "`burst`, `failures`, `rise`",
        ),
        ("leaky = {}, rise = 1", "rise", "`leaky`"),
    ] {
        let expected = format!(
            "{key}: belongs to another rule than {rule}; leave out the keys of all rules but one"
        );
        refused(&[(keys, &expected)]);
    }
}

/// A probe of service port 443 as a policy with these defaults reads it.
fn with_defaults(
    defaults: ProbeDefaults,
    keys: &str,
) -> Result<(Option<Probe>, HealthRule), Vec<String>> {
    let host = Host::empty();
    let report = Report::default();
    let text = format!("probe = {{ {keys} }}");
    let found = raw::document(&text, &report, |root| {
        let (ports, store) = ([443].into(), Store::new(host));
        root.table("probe", |probe| {
            super::super::read(probe, Some(&ports), &store, &defaults)
        })
    });
    let told = |Errors(problems)| problems.iter().map(Problem::to_string).collect();
    report.verdict(found).map_err(told)
}

#[test]
fn a_policy_has_defaults_of_its_own() {
    let of = |defaults, keys: &str| {
        let (probe, rule) = with_defaults(defaults, keys).unwrap();
        let probe = probe.unwrap();
        let times = [probe.interval, probe.timeout].map(|it| it.as_secs());
        let method = match &probe.kind {
            ProbeKind::Http(http) => Some(http.method),
            ProbeKind::Https(https) => Some(https.http.method),
            ProbeKind::Tcp => None,
        };
        (times, rule, probe.initial, method.unwrap())
    };
    let http = "kind = \"http\"";
    let window = HealthRule::Window(WindowRule::DEFAULT);
    assert_eq!(
        of(ProbeDefaults::FRONT_DOOR, http),
        ([30, 5], window, Initial::Down, Method::Head)
    );
    let burst = HealthRule::Burst(BurstRule::DEFAULT);
    assert_eq!(
        of(ProbeDefaults::NETSCALER, http),
        ([5, 2], burst, Initial::Down, Method::Head)
    );
    let consecutive = HealthRule::Consecutive(ConsecutiveRule::DEFAULT);
    // It does not look at certificates, so no authority need be known.
    let https = "kind = \"https\", host = \"a.example\"";
    for probe in [http, https] {
        assert_eq!(
            of(ProbeDefaults::TRAFFIC_MANAGER, probe),
            ([30, 10], consecutive, Initial::Checking, Method::Get)
        );
    }
    let fast = format!("{http}, interval = \"10s\"");
    assert_eq!(of(ProbeDefaults::TRAFFIC_MANAGER, &fast).0, [10, 9]);
}

#[test]
fn who_names_authorities_wants_them_asked_by_any_default() {
    let keys = "kind = \"https\", host = \"a.example\", ca_file = \"/ca.pem\"";
    let found = with_defaults(ProbeDefaults::TRAFFIC_MANAGER, keys).unwrap_err();
    assert!(
        found[0].starts_with("probe.ca_file: can not read"),
        "{found:?}"
    );
}

#[test]
fn what_traffic_manager_does_not_allow_is_told_with_what_it_does() {
    for (keys, expected) in [
        (
            "interval = \"20s\"",
            "interval: 20s is out of range; use 10s or 30s",
        ),
        (
            "interval = \"10s 1ms\"",
            "interval: 10s 1ms is out of range; use 10s or 30s",
        ),
        (
            "timeout = \"4s\"",
            "timeout: 4s is out of range; use 5s to 10s",
        ),
        (
            "timeout = \"11s\"",
            "timeout: 11s is out of range; use 5s to 10s",
        ),
        (
            "interval = \"10s\", timeout = \"10s\"",
            "timeout: 10s is out of range; use 5s to 9s",
        ),
        (
            "interval = \"20s\", timeout = \"1s\"",
            "interval: 20s is out of range; use 10s or 30s",
        ),
        (
            "health = { fall = 11 }",
            "health.fall: 11 is out of range; use 1 to 10",
        ),
    ] {
        let keys = format!("kind = \"http\", {keys}");
        let found = with_defaults(ProbeDefaults::TRAFFIC_MANAGER, &keys).unwrap_err();
        assert_eq!(found, [format!("probe.{expected}")]);
    }
}
