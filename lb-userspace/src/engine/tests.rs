mod many;

use std::net::Ipv4Addr;

use super::*;
use crate::{
    config,
    model::{Admin, Mac},
    probe::Failure,
    table::{TargetKey, TargetSpec, group_id},
};

const BASE: &str = r#"
    [edge]
    name = "test"
    interfaces = ["eth0"]
    [[backend]]
    name = "a"
    address = "198.51.100.1"
    [[backend]]
    name = "b"
    address = "198.51.100.2"
    [[backend]]
    name = "c"
    address = "198.51.100.3"
    [[group]]
    name = "web"
    latency_window = "30ms"
    member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7 }]
    probe = { kind = "http", health = { window = 4, required = 2 } }
    [[service]]
    name = "web"
    address = "203.0.113.10"
    protocol = "tcp"
    port = 80
    group = "web"
"#;

/// An engine with the effects of its last event.
struct Rig {
    engine: Engine,
    effects: Vec<Effect>,
    now: Duration,
}

impl Rig {
    /// An engine that knows the ways to all backends.
    fn start(text: &str, saved: Saved, adopted: &[&str]) -> Self {
        let adopted = adopted.iter().map(|name| name.parse().unwrap()).collect();
        let (engine, effects) = Engine::start(parse(text), saved, adopted, Duration::ZERO);
        let mut rig = Self {
            engine,
            effects,
            now: Duration::ZERO,
        };
        for host in 1..=3 {
            rig.event(Event::Ways(vec![(ip(host), open(host))]));
        }
        rig
    }

    fn event(&mut self, event: Event) {
        self.effects = self.engine.handle(event, self.now).unwrap();
    }

    fn good(&mut self, backend: &str, ms: u64) {
        let key = self.key(backend);
        self.event(Event::Samples(vec![(key, Ok(Duration::from_millis(ms)))]));
    }

    fn bad(&mut self, backend: &str) {
        let key = self.key(backend);
        self.event(Event::Samples(vec![(key, Err(Failure::Status(500)))]));
    }

    fn key(&self, backend: &str) -> StreamKey {
        let model = self.engine.model();
        let probe = model.groups["web"].probe.as_ref().unwrap();
        stream_key(&model.backends[backend], probe)
    }

    fn all_up(&mut self) {
        for backend in ["a", "b"] {
            self.good(backend, 5);
            self.good(backend, 5);
        }
    }

    fn admin(&mut self, admin: Admin, backend: &str) {
        let target = Target::Backend(backend.parse().unwrap());
        self.event(Event::Admin(AdminChange {
            target,
            change: Override::Admin(admin),
        }));
    }

    fn shares(&self) -> String {
        let view = self.engine.view();
        let members = view.groups[0]
            .members
            .iter()
            .filter(|member| member.share != "0");
        members
            .map(|m| format!("{} {}", m.backend, m.share))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn image(&self) -> &Image {
        self.engine.image().unwrap()
    }

    fn served(&self) -> bool {
        self.image().rings.contains_key("web")
    }

    fn target(&self, host: u8) -> &TargetSpec {
        let key = |key: &&TargetKey| key.identity.address == ip(host);
        &self.image().targets[self.image().targets.keys().find(key).unwrap()]
    }

    fn saved(&self) -> Option<&Saved> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Save(saved) => Some(saved),
            _ => None,
        })
    }
}

fn parse(text: &str) -> Model {
    config::parse(text)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .model
}

fn ip(host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, host))
}

fn open(host: u8) -> Way {
    Way::Open {
        next_hop: Mac([2, 0, 0, 0, 0, host]),
        source: Mac([2; 6]),
        mtu: 1500,
    }
}

fn fresh() -> Rig {
    Rig::start(BASE, Saved::default(), &[])
}

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
    assert!(rig.target(2).dead && !rig.target(2).takes_new);
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
    before.good("a", 5);
    before.good("a", 5);
    before.bad("b");
    before.bad("b");
    let saved = serde_json::to_vec(&before.engine.saved()).unwrap();
    let rig = Rig::start(BASE, serde_json::from_slice(&saved).unwrap(), &["web"]);
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
        !rig.target(1).dead,
        "a target in use as a best effort is not dead"
    );
    rig.good("b", 5);
    rig.good("b", 5);
    assert_eq!(rig.shares(), "b 1");
    assert!(rig.target(1).dead);
}

#[test]
fn a_backend_that_packets_can_not_reach_is_used_by_no_rule() {
    let mut rig = fresh();
    let refused = Way::Refused("the route leaves by eth1".into());
    rig.event(Event::Ways(vec![(ip(1), refused)]));
    rig.bad("b");
    rig.bad("b");
    assert_eq!(rig.shares(), "b 1");
}

#[test]
fn a_drain_takes_new_flows_only_and_outlives_the_daemon() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    assert_eq!(rig.shares(), "a 1");
    assert!(!rig.target(2).dead && !rig.target(2).takes_new);
    let saved = rig.saved().expect("a drain is kept at once").clone();
    let mut next = Rig::start(BASE, saved, &["web"]);
    assert_eq!(next.shares(), "a 1");
    next.admin(Admin::Enable, "b");
    assert_eq!(next.shares(), "a 3/10, b 7/10");
    assert!(!next.engine.view().groups[0].members[1].overridden);
}

#[test]
fn a_disabled_backend_is_dead_and_no_longer_probed() {
    let mut rig = fresh();
    rig.all_up();
    let key = rig.key("b");
    rig.admin(Admin::Disable, "b");
    assert!(rig.target(2).dead);
    let streams = rig.effects.iter().find_map(|effect| match effect {
        Effect::Probe(streams) => Some(streams),
        _ => None,
    });
    assert!(!streams.unwrap().contains_key(&key));
}

#[test]
fn the_stricter_of_a_backends_and_a_members_override_holds() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    let (group, backend) = ("web".parse().unwrap(), "b".parse().unwrap());
    let target = Target::Member { group, backend };
    rig.event(Event::Admin(AdminChange {
        target,
        change: Override::Admin(Admin::Enable),
    }));
    assert_eq!(rig.shares(), "a 1");
}

#[test]
fn an_operator_enables_what_the_file_disables() {
    let off = BASE.replace("weight = 7", "weight = 7, enabled = false");
    let mut rig = Rig::start(&off, Saved::default(), &[]);
    rig.all_up();
    assert_eq!(rig.shares(), "a 1");
    rig.admin(Admin::Enable, "b");
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    assert!(rig.engine.view().groups[0].members[1].overridden);
}

#[test]
fn an_operators_weight_stands_over_a_reload_until_it_is_cleared() {
    let mut rig = fresh();
    rig.all_up();
    let target = Target::Member {
        group: "web".parse().unwrap(),
        backend: "a".parse().unwrap(),
    };
    let weigh = |weight| AdminChange {
        target: target.clone(),
        change: Override::Weight(weight),
    };
    rig.event(Event::Admin(weigh(Some(21))));
    rig.event(Event::Reload(Box::new(parse(
        &BASE.replace("weight = 3", "weight = 14"),
    ))));
    assert_eq!(rig.shares(), "a 3/4, b 1/4");
    rig.event(Event::Admin(weigh(None)));
    assert_eq!(rig.shares(), "a 2/3, b 1/3");
    let refused = rig.engine.handle(Event::Admin(weigh(Some(1001))), rig.now);
    assert_eq!(refused.unwrap_err(), UnknownTarget::Weight(1001));
}

#[test]
fn what_does_not_exist_can_not_be_drained() {
    let mut rig = fresh();
    let name = |text: &str| text.parse::<Name>().unwrap();
    for target in [
        Target::Backend(name("x")),
        Target::Member {
            group: name("x"),
            backend: name("a"),
        },
        Target::Member {
            group: name("web"),
            backend: name("c"),
        },
    ] {
        let change = AdminChange {
            target,
            change: Override::Admin(Admin::Drain),
        };
        rig.engine
            .handle(Event::Admin(change), rig.now)
            .unwrap_err();
    }
    assert_eq!(rig.engine.saved().admin, AdminState::default());
}

#[test]
fn case_53_a_reload_keeps_health_and_does_not_turn_a_failed_server_up() {
    let mut rig = fresh();
    rig.good("a", 5);
    rig.good("a", 5);
    rig.bad("b");
    rig.bad("b");
    rig.event(Event::Reload(Box::new(parse(
        &BASE.replace("weight = 7", "weight = 9"),
    ))));
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.saved().is_some());
}

#[test]
fn case_51_a_weight_that_changes_while_down_holds_after_recovery() {
    let mut rig = fresh();
    rig.good("a", 5);
    rig.good("a", 5);
    rig.bad("b");
    rig.bad("b");
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
fn a_late_sample_of_a_stream_that_is_gone_is_ignored() {
    let mut rig = fresh();
    rig.all_up();
    let key = rig.key("b");
    let without = BASE.replace(", { backend = \"b\", weight = 7 }", "");
    rig.event(Event::Reload(Box::new(parse(&without))));
    rig.event(Event::Samples(vec![(key, Err(Failure::Status(500)))]));
    assert_eq!(rig.shares(), "a 1");
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
