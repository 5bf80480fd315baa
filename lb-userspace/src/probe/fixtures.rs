//! Models for tests.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    model::{
        Backend, Edge, FlowIdle, Forward, Group, HealthRule, HttpProbe, Initial, Method, Model,
        Name, Nat, Probe, ProbeKind, ProbedAt, Smoothing, StatusRange, Tunnels, XdpMode,
    },
    policy::fixtures,
};

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// Asks for `/healthz` with HEAD and wants 200.
pub(super) fn head() -> HttpProbe {
    HttpProbe {
        method: Method::Head,
        path: "/healthz".to_owned(),
        host: None,
        headers: vec![("User-Agent".to_owned(), "Waggle Health Probe".to_owned())],
        expect: vec![StatusRange::new(200, 200).unwrap()],
    }
}

/// [`head`] on port 80.
pub(super) fn probe(interval: Duration, timeout: Duration) -> Probe {
    Probe {
        kind: ProbeKind::Http(head()),
        port: 80,
        is_service_port: false,
        interval,
        timeout,
        smoothing: Smoothing::default(),
        initial: Initial::Down,
    }
}

pub(super) fn group(
    called: &str,
    members: &[&str],
    probe: Option<Probe>,
    health: (i64, i64),
) -> Group {
    let members = members.iter().map(|it| fixtures::member(it, 1, 50));
    Group {
        probe,
        health: HealthRule::window(health.0, health.1).unwrap(),
        ..fixtures::front_door(called, members.collect())
    }
}

/// A model with the backends `a` (10.0.0.1), `b` (10.0.0.2) and `a2`, a second name for `a`.
pub(super) fn model(groups: impl IntoIterator<Item = Group>) -> Model {
    let backends = [("a", 1), ("a2", 1), ("b", 2)].map(|(text, host)| {
        let backend = Backend {
            name: name(text),
            address: [10, 0, 0, host].into(),
            forward: Forward::L2Dsr,
            vlan: None,
            location: None,
            region: None,
            port: None,
            probe: ProbedAt::default(),
        };
        (backend.name.clone(), backend)
    });
    Model {
        edge: Edge {
            name: name("fra-1"),
            interfaces: vec!["eth0".to_owned()],
            xdp_mode: XdpMode::Auto,
            ring_key: String::new(),
            packet_log: false,
            pin_dir: PathBuf::new(),
            state_dir: PathBuf::new(),
            control: PathBuf::new(),
            metrics: None,
            location: None,
            startup_grace: Duration::from_secs(10),
            ring_grace: Duration::ZERO,
            flow_entries: 64,
            flow_idle: FlowIdle::DEFAULT,
            ring_slots: 0,
            insert_limit: 0,
            reply_limit: 0,
            answer_echo: true,
            affinity_entries: 0,
            tunnels: Tunnels {
                are_hops: true,
                have_checksums: false,
                sources: Vec::new(),
            },
            nat: Nat {
                sources: Vec::new(),
                ports: 61_000..=65_535,
                entries: 0,
            },
        },
        backends: backends.into(),
        groups: groups.into_iter().map(|g| (g.name.clone(), g)).collect(),
        services: BTreeMap::new(),
        whereabouts: Arc::default(),
    }
}
