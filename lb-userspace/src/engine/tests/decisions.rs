use super::*;

#[test]
fn a_service_is_published_when_every_member_has_its_verdict() {
    let mut rig = fresh();
    rig.good("a", 5);
    rig.good("a", 5);
    assert!(!rig.served(), "b has no verdict yet");
    rig.bad("b");
    assert!(!rig.served());
    rig.bad("b");
    assert!(rig.served());
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.target(2).dead.is_some() && !rig.target(2).takes_new);
}

#[test]
fn an_undecided_service_is_published_after_the_grace() {
    let mut rig = fresh();
    rig.good("a", 5);
    rig.good("a", 5);
    rig.now = Duration::from_secs(9);
    rig.event(Event::Tick);
    assert!(!rig.served());
    rig.now = Duration::from_secs(10);
    rig.event(Event::Tick);
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.served());
}

#[test]
fn tables_of_an_earlier_daemon_stand_until_decided_even_beyond_the_grace() {
    let mut rig = Rig::start(BASE, Saved::default(), &["web"]);
    rig.now = Duration::from_secs(60);
    rig.event(Event::Tick);
    assert!(rig.image().held.contains("web"));
    rig.all_up();
    assert!(rig.image().held.is_empty());
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
}

#[test]
fn health_of_an_earlier_daemon_decides_at_once() {
    let mut before = fresh();
    before.only_a_up();
    let rig = Rig::start(BASE, before.engine.saved(), &["web"]);
    assert!(rig.image().held.is_empty());
    assert_eq!(rig.shares(), "a 1");
}

#[test]
fn when_all_are_down_all_enabled_ones_are_used_alike_and_it_is_told() {
    let mut rig = fresh();
    for backend in ["a", "a", "b", "b"] {
        rig.bad(backend);
    }
    assert_eq!(rig.shares(), "a 1/2, b 1/2");
    let told = Notice::BestEffort {
        group: "web".parse().unwrap(),
        active: true,
    };
    assert!(
        rig.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Tell(n) if *n == told))
    );
    assert!(
        rig.target(1).dead.is_none(),
        "a target in use as a best effort is not dead"
    );
    rig.good("b", 5);
    rig.good("b", 5);
    assert_eq!(rig.shares(), "b 1");
    assert!(rig.target(1).dead.is_some());
}

#[test]
fn a_backend_that_packets_can_not_reach_is_used_by_no_rule() {
    let mut rig = fresh();
    rig.event(Event::Ways(vec![(
        direct(ip(1)),
        Way::Refused("the route leaves by eth1".into()),
    )]));
    rig.bad("b");
    rig.bad("b");
    assert_eq!(rig.shares(), "b 1");
}

#[test]
fn without_the_ways_to_its_members_a_group_is_not_decided_even_after_the_grace() {
    let text = BASE.replace("[edge]", "[edge]\nstartup_grace = \"0s\"");
    let (engine, _) = Engine::start(
        parse(&text),
        Saved::default(),
        BTreeSet::new(),
        Duration::ZERO,
    );
    assert!(engine.image().unwrap().held.contains("web"));
}

#[test]
fn running_flows_keep_the_last_way_to_a_backend_that_new_ones_can_not_reach() {
    let mut rig = fresh();
    rig.all_up();
    rig.event(Event::Ways(vec![(
        direct(ip(1)),
        Way::Refused("there is no route to it".into()),
    )]));
    assert_eq!(rig.shares(), "b 1");
    assert_eq!(rig.target(1).next_hop, Some(Mac([2, 0, 0, 0, 0, 1])));
}

#[test]
fn it_is_told_when_nobody_may_get_traffic() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "a");
    rig.admin(Admin::Drain, "b");
    let told = Notice::NoAnswer {
        group: "web".parse().unwrap(),
        active: true,
    };
    assert!(
        rig.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Tell(n) if *n == told))
    );
    assert!(rig.image().rings["web"][0].targets.is_empty());
}

#[test]
fn the_order_of_events_does_not_show_in_the_image() {
    let mut one = fresh();
    one.all_up();
    let mut other = fresh();
    for backend in ["b", "a", "b", "a"] {
        other.good(backend, 5);
    }
    assert_eq!(one.image(), other.image());
}

#[test]
fn a_sample_that_changes_nothing_writes_nothing() {
    let mut rig = fresh();
    rig.all_up();
    rig.good("a", 5);
    assert!(rig.effects.is_empty(), "{:?}", rig.effects);
}

#[test]
fn the_reason_of_a_failure_reaches_the_operator() {
    let mut rig = fresh();
    rig.all_up();
    for _ in 0..3 {
        rig.bad("b");
    }
    let why = rig.engine.view().groups[0].members[1].why.clone();
    assert!(
        why.contains("1 of the last 4") && why.contains("500"),
        "{why}"
    );
}

#[test]
fn a_groups_number_does_not_depend_on_the_host() {
    assert_eq!(group_id(&"web".parse().unwrap()), 0x4b5e_57f6);
}

#[test]
fn groups_that_share_probes_smooth_their_latencies_each_by_its_own_settings() {
    let second = r#"
    [[group]]
    name = "steady"
    member = [{ backend = "a" }, { backend = "b" }]
    probe = { kind = "http", port = 80, latency = { dead_band = "1s" } }
    "#;
    let mut rig = Rig::start(&format!("{BASE}{second}"), Saved::default(), &[]);
    (0..3).for_each(|_| rig.good("a", 10));
    (0..2).for_each(|_| rig.good("a", 50));
    let latencies = |engine: &Engine| {
        let view = engine.view();
        let groups = view.groups.iter();
        let latencies = groups.map(|group| (group.name.to_string(), group.members[0].latency_ms));
        BTreeMap::from_iter(latencies)
    };
    let expected = [("steady", 10.0), ("web", 20.0)];
    let expected = expected
        .map(|(name, ms)| (name.to_owned(), Some(ms)))
        .into();
    assert_eq!(latencies(&rig.engine), expected);
    // So it is after a restart.
    let again = Rig::start(&format!("{BASE}{second}"), rig.engine.saved(), &[]);
    assert_eq!(latencies(&again.engine), expected);
}

#[test]
fn the_reason_of_a_bad_tls_probe_is_told() {
    let mut rig = fresh();
    let key = rig.key("b");
    let why = "the certificate expired on 2020-02-03T00:00:00Z".to_owned();
    for _ in 0..2 {
        let failure = Err(Failure::Tls(why.clone()));
        rig.event(Event::Samples(vec![(key.clone(), failure)]));
    }
    let told = &rig.engine.view().groups[0].members[1].why;
    let expected = format!(
        "0 of the last 2 probes were good, 2 needed; last failure: no TLS connection: {why}"
    );
    assert_eq!(*told, expected);
}
