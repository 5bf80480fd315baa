use std::net::Ipv4Addr;

use super::*;
use crate::{
    model::{Admin, Forward, Health, Identity, MemberState, Weight},
    policy::fixtures::{decided, front_door, member, state},
    table,
};

/// The worked example W1 of semantics.md.
fn w1() -> (Group, Vec<MemberState>) {
    let mut members = vec![
        member("a", 1, 3),
        member("b", 1, 7),
        member("c", 1, 50),
        member("d", 1, 50),
        member("e", 1, 50),
        member("f", 2, 50),
    ];
    members[4].enabled = false;
    let up = |millis| {
        let why = "4 of the last 4 probes were good, 2 needed";
        state(Health::Up, Some(millis), why)
    };
    let why = "1 of the last 4 probes was good, 2 needed";
    let down = state(Health::Down, Some(10), why);
    let group = front_door("web-pool", members);
    (group, vec![up(15), up(30), down, up(60), up(5), up(1)])
}

/// The explanation of a decision.
fn explained(group: &Group, states: &[MemberState]) -> Explanation {
    let decision = decided(group, states);
    let shares = decision.rows.total().into_iter().filter_map(|(to, share)| {
        let place = group
            .members
            .iter()
            .position(|it| Some(it.name()) == to.backend())?;
        let identity = Identity {
            address: Ipv4Addr::from_bits(0x0a00_0000 + place as u32).into(),
            forward: Forward::L2Dsr,
            port: None,
        };
        Some((identity.into(), share))
    });
    let ring = table::ring(&group.name, &table::Spread::Flows(shares.collect()));
    let client = Ipv4Addr::new(198, 51, 100, 7).into();
    let asked = Asked {
        service: "web".parse().unwrap(),
        client,
        class: 0,
        rule: None,
    };
    let groups = BTreeMap::from([(group.name.clone(), group.clone())]);
    Explanation::of_decision(asked, &groups, &decision, &ring)
}

#[test]
fn the_text_of_w1() {
    let (group, states) = w1();
    let text = "\
service web, client 198.51.100.7

group web-pool
  enabled    a, b, c, d, f  - e  disabled in the configuration
  available  a, b, d, f     - c  not healthy: 1 of the last 4 probes was good, 2 needed
  priority   a, b, d        - f  priority 2, and 1 is available
  latency    a, b           - d  45 ms slower than a, the window is 30 ms
  weight     a, b

shares
  a  3/10  30 %
  b  7/10  70 %

ring 734716611c97c46b, 16381 slots
";
    assert_eq!(explained(&group, &states).to_string(), text);
}

#[test]
fn the_text_when_all_members_are_down() {
    let (group, mut states) = w1();
    for state in &mut states {
        state.health = Health::Down;
    }
    states[5].admin = Admin::Drain;
    let text = "\
service web, client 198.51.100.7

group web-pool
  enabled    a, b, c, d  - e  disabled in the configuration
                         - f  draining: takes no new flows
  available  a, b, c, d  no member is healthy: all get equal parts

shares
  a  1/4  25 %
  b  1/4  25 %
  c  1/4  25 %
  d  1/4  25 %
  too few members of a group are healthy: its all-down rule holds

ring b6192876fd04e345, 16381 slots
";
    assert_eq!(explained(&group, &states).to_string(), text);
}

#[test]
fn the_text_when_nobody_may_get_traffic() {
    let (mut group, mut states) = w1();
    group.members.truncate(2);
    states.truncate(2);
    states[0].admin = Admin::Disable;
    states[1].unreachable = Some("10.0.1.12 is behind a gateway".to_owned());
    let text = "\
service web, client 198.51.100.7

group web-pool
  enabled  nobody  - a  disabled by the operator
                   - b  10.0.1.12 is behind a gateway

no member may get traffic: new flows are rejected
";
    let explanation = explained(&group, &states);
    assert_eq!(explanation.to_string(), text);
    assert_eq!(explanation.outcome, Outcome::Reject);
}

#[test]
fn the_text_names_the_rule_and_what_it_says() {
    let asked = |group: Option<&str>, answer: Option<&str>| Asked {
        service: "web".parse().unwrap(),
        client: Ipv4Addr::new(10, 0, 0, 9).into(),
        class: 3,
        rule: Some(MatchedRule {
            rule: 1,
            prefix: Some("10.0.0.8/31".to_owned()),
            location: None,
            region: None,
            prefer: Vec::new(),
            group: group.map(|name| name.parse().unwrap()),
            answer: answer.map(str::to_owned),
        }),
    };
    let dropped = Explanation::of_answer(asked(None, Some("drop")), Outcome::Drop);
    let expected = "service web, client 10.0.0.9\nclass 3, by rule 1 of 10.0.0.8/31: drop\n\n\
        new flows are dropped\n";
    assert_eq!(dropped.to_string(), expected);
    let passed = Explanation::of_answer(asked(None, Some("pass")), Outcome::Pass);
    let expected = "service web, client 10.0.0.9\nclass 3, by rule 1 of 10.0.0.8/31: pass\n\n\
        new flows are left to this host\n";
    assert_eq!(passed.to_string(), expected);
    let (group, states) = w1();
    let decision = decided(&group, &states);
    let by_group = asked(Some("web-pool"), None);
    let groups = BTreeMap::from([(group.name.clone(), group)]);
    let text = Explanation::of_decision(by_group, &groups, &decision, &Ring::default()).to_string();
    let line = "class 3, by rule 1 of 10.0.0.8/31: group web-pool";
    assert!(text.lines().any(|it| it == line), "{text}");
}

#[test]
fn a_long_list_is_cut_and_columns_stay_aligned() {
    let (mut group, _) = w1();
    group.members = (1..=12)
        .map(|it| member(&format!("b{it}"), 1, 50))
        .collect();
    group.members[9].weight = Weight::new(1000).unwrap();
    group.members[10].weight = Weight::new(1).unwrap();
    group.members[11].enabled = false;
    let states = vec![state(Health::Up, Some(1), ""); 12];
    let text = explained(&group, &states).to_string();
    for line in [
        "  enabled    b1, b2, b3, b4, b5, b6 and 5 more  - b12  disabled in the configuration",
        "  b1     50/1451   3.45 %",
        "  b10  1000/1451  68.92 %",
        "  b11     1/1451   0.07 %",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
}

#[test]
fn the_json_is_the_documented_one_and_reads_back() {
    let (mut group, mut states) = w1();
    group.members.truncate(3);
    states.truncate(3);
    let explanation = explained(&group, &states);
    let stage = |stage, kept, removed| serde_json::json!({"group": "web-pool", "stage": stage, "kept": kept, "removed": removed});
    let why = "not healthy: 1 of the last 4 probes was good, 2 needed";
    let expected = serde_json::json!({
        "service": "web",
        "client": "198.51.100.7",
        "class": 0,
        "outcome": "forward",
        "best_effort": false,
        "shares": {"a": 0.3, "b": 0.7},
        "fractions": {"a": "3/10", "b": "7/10"},
        "stages": [
            stage("enabled", &["a", "b", "c"][..], serde_json::json!([])),
            stage("available", &["a", "b"], serde_json::json!([{"member": "c", "why": why}])),
            stage("priority", &["a", "b"], serde_json::json!([])),
            stage("latency", &["a", "b"], serde_json::json!([])),
            stage("weight", &["a", "b"], serde_json::json!([])),
        ],
        "ring": {"length": 16381, "hash": "734716611c97c46b"},
    });
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json, expected);
    assert_eq!(
        serde_json::from_value::<Explanation>(json).unwrap(),
        explanation
    );
}

#[test]
fn percentages_have_up_to_two_decimals() {
    let cases = [
        (1., "100 %"),
        (0.3, "30 %"),
        (7. / 60., "11.67 %"),
        (1e-3, "0.1 %"),
    ];
    for (share, text) in cases.into_iter().chain([(1e-5, "<0.01 %"), (0.2, "20 %")]) {
        assert_eq!(percent(share), text);
    }
}
