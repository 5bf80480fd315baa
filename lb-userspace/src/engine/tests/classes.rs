//! Groups that decide by client.

pub(super) mod nested;

use lb_common::Answer;

use super::*;
use crate::{
    policy::Outcome,
    table::{Destination, Ring},
};

/// The base with other groups, of which `web` serves, and what else there is.
pub(super) fn with_groups(groups: &str, rest: &str) -> String {
    let start = BASE.find("[[group]]").unwrap();
    let end = BASE.find("[[service]]").unwrap();
    format!("{}{groups}{}{rest}", &BASE[..start], &BASE[end..])
}

pub(super) const PROBE: &str = "probe = { kind = \"http\", health = { window = 4, required = 2 } }";

fn by_subnet() -> String {
    with_groups(
        &format!(
            r#"
            [[group]]
            name = "web"
            stages = [{{ stage = "subnet" }}, {{ stage = "available" }}]
            member = [{{ backend = "a", clients = ["10.0.0.0/8"] }}, {{ backend = "b" }}]
            {PROBE}
            "#
        ),
        "",
    )
}

fn explained(rig: &Rig, client: &str) -> crate::policy::Explanation {
    rig.engine.explain("web", client.parse().unwrap()).unwrap()
}

/// Shares as `a 3/10, b 7/10`, with answers.
pub(super) fn shares(rig: &Rig, client: &str) -> String {
    let explanation = explained(rig, client);
    let backends = explanation.fractions.iter();
    let backends = backends.map(|(name, share)| format!("{name} {share}"));
    let answers = explanation.answers.iter();
    let answers = answers.map(|(answer, share)| format!("{answer} {share}"));
    backends.chain(answers).collect::<Vec<_>>().join(", ")
}

/// The backends that stand in a ring, by the last byte of their addresses.
fn hosts(ring: &Ring) -> BTreeSet<IpAddr> {
    let slots = ring.slots.iter();
    let destinations = slots.filter_map(|slot| ring.destination(*slot));
    destinations
        .filter_map(|it| Some(it.identity()?.address))
        .collect()
}

impl Rig {
    fn ring_of(&self, client: &str) -> &Ring {
        let class = self.image().clients.class_of(client.parse().unwrap());
        self.image().ring(&"web".parse().unwrap(), class).unwrap()
    }

    fn all_three_up(&mut self) {
        self.all_up();
        self.good("c", 5);
        self.good("c", 5);
    }
}

#[test]
fn clients_of_a_member_have_a_ring_of_it_and_others_one_of_the_fallback() {
    let mut rig = Rig::start(&by_subnet(), Saved::default(), &[]);
    rig.all_up();
    assert_eq!(rig.image().rings["web"].len(), 2);
    assert_eq!(hosts(rig.ring_of("10.9.9.9")), [ip(1)].into());
    assert_eq!(hosts(rig.ring_of("192.0.2.1")), [ip(2)].into());
    assert_eq!(shares(&rig, "10.9.9.9"), "a 1");
    assert_eq!(shares(&rig, "192.0.2.1"), "b 1");
    assert!(rig.image().services.values().all(|it| it.by_class));
    for _ in 0..3 {
        rig.bad("a");
    }
    assert_eq!(shares(&rig, "10.9.9.9"), "b 1");
    assert_eq!(rig.image().rings["web"].len(), 1, "all clients are alike");
    assert!(rig.target(1).dead.is_some() && rig.target(2).dead.is_none());
}

#[test]
fn health_never_moves_a_client_to_another_class() {
    let mut rig = Rig::start(&by_subnet(), Saved::default(), &[]);
    rig.all_up();
    let before = rig.image().clients.clone();
    for _ in 0..3 {
        rig.bad("a");
    }
    assert_eq!(rig.image().clients, before);
}

#[test]
fn nobody_is_rejected_before_an_unprobed_backend_s_next_hop_has_answered() {
    let text = BASE.replace(
        "probe = { kind = \"http\", health = { window = 4, required = 2 } }",
        "probe = { kind = \"none\" }",
    );
    let text = text.replace("latency_window = \"30ms\"", "policy = \"weighted\"");
    let silent = |host| Event::Ways(vec![(direct(ip(host)), Way::Unresolved(ip(host)))]);
    let (engine, effects) = Engine::start(
        parse(&text),
        Saved::default(),
        BTreeSet::new(),
        Duration::ZERO,
    );
    let mut rig = Rig {
        engine,
        effects,
        now: Duration::ZERO,
    };
    rig.event(silent(1));
    rig.event(silent(2));
    assert!(rig.image().held.contains("web"));
    rig.event(Event::Ways(vec![(direct(ip(1)), open(1))]));
    assert!(rig.image().held.contains("web"), "b may answer yet");
    rig.now = Duration::from_secs(10);
    rig.event(Event::Tick);
    assert_eq!(shares(&rig, "192.0.2.1"), "a 1");
    rig.event(silent(1));
    assert_eq!(
        explained(&rig, "192.0.2.1").outcome,
        Outcome::Reject,
        "it was decided once"
    );
}

#[test]
fn no_answer_is_a_ring_that_holds_the_answer() {
    let text = by_subnet().replace(", { backend = \"b\" }", "");
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    rig.good("a", 5);
    rig.good("a", 5);
    let ring = rig.ring_of("192.0.2.1");
    let to = ring.slots.iter().map(|slot| ring.destination(*slot));
    let reject = Some(Destination::Answer(Answer::REJECT));
    assert!(to.clone().count() > 0 && to.into_iter().all(|it| it == reject));
    assert_eq!(explained(&rig, "192.0.2.1").outcome, Outcome::Reject);
    assert_eq!(shares(&rig, "10.0.0.1"), "a 1");
}

#[test]
fn a_backup_group_takes_over_and_is_an_answer() {
    let text = with_groups(
        &format!(
            r#"
            [[group]]
            name = "web"
            stages = [{{ stage = "available", all_down = "backup" }}]
            backup = "spare"
            member = [{{ backend = "a" }}, {{ backend = "b" }}]
            {PROBE}
            [[group]]
            name = "spare"
            member = [{{ backend = "c" }}]
            {PROBE}
            "#
        ),
        "",
    );
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    rig.all_three_up();
    assert_eq!(shares(&rig, "192.0.2.1"), "a 1/2, b 1/2");
    for _ in 0..3 {
        rig.bad("a");
        rig.bad("b");
    }
    assert_eq!(shares(&rig, "192.0.2.1"), "c 1");
    let explained = explained(&rig, "192.0.2.1").to_string();
    let line = "no member is healthy: the backup group spare takes over";
    assert!(explained.contains(line), "{explained}");
    let view = rig.engine.view();
    let web = view
        .groups
        .iter()
        .find(|it| it.name.as_str() == "web")
        .unwrap();
    assert!(!web.no_answer);
    assert!(rig.target(1).dead.is_some() && rig.target(3).takes_new);
}

pub(super) fn preferring() -> String {
    let groups = format!(
        r#"
        [[group]]
        name = "web"
        policy = "static-proximity"
        member = [{{ backend = "a" }}, {{ backend = "b" }}, {{ backend = "c" }}]
        {PROBE}
        "#
    );
    let rest = r#"
        rule = [{ location = "*.ZMB.*.*", prefer = ["Asia.HK", "Europe.UK"] }]
        [locations]
        custom = [
            { range = "198.51.100.0/25", location = "Africa.ZMB" },
            { range = "198.51.100.128/25", location = "Europe.FR" },
        ]
    "#;
    let text = with_groups(&groups, rest);
    let at = |text: String, name: &str, place: &str| {
        let backend = format!("name = \"{name}\"\n");
        text.replacen(
            &backend,
            &format!("{backend}    location = \"{place}\"\n"),
            1,
        )
    };
    let text = at(text, "a", "Asia.HK");
    let text = at(text, "b", "Europe.UK");
    at(text, "c", "Africa.SD")
}

#[test]
fn a_rule_by_location_prefers_locations_for_its_clients_only() {
    let mut rig = Rig::start(&preferring(), Saved::default(), &[]);
    rig.all_three_up();
    assert_eq!(shares(&rig, "198.51.100.1"), "a 1", "S108");
    assert_eq!(shares(&rig, "198.51.100.200"), "b 1", "static proximity");
    assert_eq!(
        shares(&rig, "192.0.2.1"),
        "a 1/3, b 1/3, c 1/3",
        "of no known location"
    );
    let text = explained(&rig, "198.51.100.1").to_string();
    let line = "by rule 0 of location *.ZMB: group web, which prefers Asia.HK, Europe.UK";
    assert!(text.contains(line), "{text}");
    for _ in 0..3 {
        rig.bad("a");
    }
    assert_eq!(shares(&rig, "198.51.100.1"), "b 1", "S109");
}

#[test]
fn a_group_of_both_families_decides_for_each() {
    let text = with_groups(
        "[[group]]\nname = \"web\"\npolicy = \"multivalue\"\nprobe = { kind = \"none\" }\n\
         member = [{ backend = \"a\" }, { backend = \"b\" }, { backend = \"six\" }]\n",
        r#"
        [[service]]
        name = "web6"
        address = "2001:db8:203::10"
        protocol = "tcp"
        port = 80
        group = "web"
        [[backend]]
        name = "six"
        address = "2001:db8::6"
        "#,
    );
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    let six = rig.engine.model().backends["six"].destination();
    rig.event(Event::Ways(vec![(six, open(6))]));
    assert_eq!(shares(&rig, "192.0.2.1"), "a 1/2, b 1/2");
    let v6 = rig.engine.explain("web6", "2001:db8::1".parse().unwrap());
    assert_eq!(
        v6.unwrap()
            .fractions
            .keys()
            .map(Name::as_str)
            .collect::<Vec<_>>(),
        ["six"]
    );
}
