mod admin;
mod classes;
mod decisions;
mod forwarding;
mod health;
mod many;
mod on_down;
mod outlook;
mod quantum;
mod ramp;
mod reload;
mod rules;
mod steps;

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::{
    config,
    model::{Admin, Departure, Forward, Mac},
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
        Self::start_with(parse(text), saved, adopted)
    }

    fn start_with(checked: Checked, saved: Saved, adopted: &[&str]) -> Self {
        let adopted = adopted.iter().map(|name| name.parse().unwrap()).collect();
        let (engine, effects) = Engine::start(checked, saved, adopted, Duration::ZERO);
        let mut rig = Self {
            engine,
            effects,
            now: Duration::ZERO,
        };
        for host in 1..=3 {
            rig.event(Event::Ways(vec![(direct(ip(host)), open(host))]));
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

    fn only_a_up(&mut self) {
        for _ in 0..2 {
            self.good("a", 5);
            self.bad("b");
        }
    }

    fn admin(&mut self, admin: Admin, backend: &str) {
        let subject = Subject::Backend(backend.parse().unwrap());
        self.event(Event::Admin(AdminChange {
            subject,
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

    fn saves(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Save))
    }
}

fn parse(text: &str) -> Checked {
    config::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn ip(host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, host))
}

fn direct(address: IpAddr) -> Destination {
    Destination {
        address,
        forward: Forward::L2Dsr,
    }
}

fn open(host: u8) -> Way {
    Way::Open {
        next_hop: Mac([2, 0, 0, 0, 0, host]),
        source: Mac([2; 6]),
        edge_address: None,
        mtu: 1500,
        departure: Departure::AS_IT_CAME,
    }
}

fn fresh() -> Rig {
    Rig::start(BASE, Saved::default(), &[])
}
