//! Vectors of affinity, from a configuration and its probes to packets through the program.

use std::{collections::BTreeSet, time::Duration};

use lb_common::FlowEvent;
use lb_tests::{
    datapath::{
        edge::{self, Edge, Settings},
        packet::{ACK, Packet, syn},
    },
    lab::{BpfFs, Scratch},
};
use lb_userspace::{
    config,
    dataplane::{Grace, Kernel, Tables, diff},
    engine::{AdminChange, Engine, Event, Override, Saved, Subject},
    model::{Admin, Departure, Mac},
    neighbour::Way,
    probe::{Failure, stream_key},
};

/// The worked example W1, whose backend number n is at 10.0.0.n.
const W1: &str = r#"
[edge]
name = "e"
interfaces = ["eth0"]
[[group]]
name = "web"
latency_window = "30ms"
affinity = { scope = "SCOPE" }
probe = { kind = "http", latency = { smoothing = 1, dead_band = "0s", dead_band_percent = 0 } }
member = [
    { backend = "A", priority = 1, weight = 3 }, { backend = "B", priority = 1, weight = 7 },
    { backend = "C", priority = 1 }, { backend = "D", priority = 1 },
    { backend = "E", priority = 1, enabled = false }, { backend = "F", priority = 2 },
]
[[service]]
name = "web"
address = "203.0.113.10"
protocol = "tcp"
port = 80
group = "web"
"#;

const BACKENDS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// An engine, the tables that it decides for, and the program that reads them.
struct Rig {
    engine: Engine,
    kernel: Kernel,
    tables: Tables,
    edge: Edge,
    now: Duration,
    _maps: BpfFs,
    _scratch: Scratch,
}

impl Rig {
    fn new(scope: &str) -> Self {
        let mut text = W1.replace("SCOPE", scope);
        for (number, name) in (1..).zip(BACKENDS) {
            let backend = format!("name = \"{name}\"\naddress = \"10.0.0.{number}\"\n");
            text += &format!("[[backend]]\n{backend}");
        }
        let checked = config::parse(&text).expect("a configuration");
        let edge = Edge::load(&Settings::default());
        let scratch = Scratch::new();
        let maps = BpfFs::mount(&scratch);
        edge.pin_maps(&maps.path().join("maps"));
        let kernel = Kernel::open(maps.path()).expect("pinned maps");
        let tables = kernel.read_tables().expect("empty tables");
        let (engine, _) = Engine::start(checked, Saved::default(), BTreeSet::new(), Duration::ZERO);
        let mut rig = Self {
            engine,
            kernel,
            tables,
            edge,
            now: Duration::ZERO,
            _maps: maps,
            _scratch: scratch,
        };
        let ways = rig.engine.model().backends.values().map(|backend| {
            let number = BACKENDS.iter().position(|it| *it == backend.name.as_str());
            let way = Way::Open {
                next_hop: Mac([2, 0, 0, 0, 1, 1 + number.expect("a backend") as u8]),
                source: Mac(edge::STATION),
                edge_address: None,
                mtu: 1500,
                departure: Departure::AS_IT_CAME,
            };
            (backend.destination(), way)
        });
        let ways = ways.collect();
        rig.event(Event::Ways(ways));
        rig
    }

    fn event(&mut self, event: Event) {
        self.now += Duration::from_secs(1);
        self.engine.handle(event, self.now).expect("a good event");
        let image = self.engine.image().expect("an image");
        let plan = diff(&self.tables, image, Grace::OFF).expect("an image that fits");
        for change in &plan.changes {
            self.kernel.execute(change).expect("a change");
            self.tables.apply(change);
        }
        self.tables.release();
        self.tables.release();
    }

    /// Four probes of each backend with these milliseconds, or none.
    fn probes(&mut self, latencies: [Option<u64>; 6]) {
        for _ in 0..4 {
            let model = self.engine.model();
            let probe = model.groups["web"].probe.as_ref().expect("a probe");
            let samples = BACKENDS.iter().zip(latencies).map(|(name, latency)| {
                let sample = latency.map(Duration::from_millis);
                let key = stream_key(&model.backends[*name], probe);
                (key, sample.ok_or(Failure::Status(500)))
            });
            let samples = samples.collect();
            self.event(Event::Samples(samples));
        }
    }

    /// A client that a flow has pinned to a backend.
    fn client_of(&self, backend: &str) -> u8 {
        let is_its = |client: &u8| self.new_flow(*client, 1) == Some(backend);
        (1..=254).find(is_its).expect("somebody is pinned to it")
    }

    fn new_flow(&self, client: u8, port: u16) -> Option<&'static str> {
        self.sent(&of(client, port))
    }

    fn sent(&self, packet: &Packet) -> Option<&'static str> {
        let backend = self.edge.backend(packet)?;
        Some(BACKENDS[usize::from(backend) - 1])
    }

    /// Who gets forty new flows of a client.
    fn new_flows(&self, client: u8) -> BTreeSet<Option<&'static str>> {
        (100..140).map(|port| self.new_flow(client, port)).collect()
    }
}

/// A SYN of a client.
fn of(client: u8, port: u16) -> Packet {
    let address = std::net::Ipv4Addr::new(198, 51, 100, client);
    syn().from((address.into(), port))
}

/// `lat A15 B30 C10 D60`, C unhealthy.
const MEASURED: [Option<u64>; 6] = [Some(15), Some(30), None, Some(60), Some(5), Some(1)];

/// B is out of the window of 30 ms.
const B_SLOW: [Option<u64>; 6] = [Some(15), Some(60), None, Some(60), Some(5), Some(1)];

#[test]
fn t19_a_backend_that_leaves_the_window_loses_its_clients_where_it_must_be_eligible() {
    let mut rig = Rig::new("eligible");
    rig.probes(MEASURED);
    let client = rig.client_of("B");
    assert_eq!(rig.new_flows(client), BTreeSet::from([Some("B")]));
    rig.probes(B_SLOW);
    assert_eq!(rig.new_flows(client), BTreeSet::from([Some("A")]));
    rig.probes(MEASURED);
    assert_eq!(
        rig.new_flows(client),
        BTreeSet::from([Some("A")]),
        "a new pin"
    );
}

#[test]
fn t22_a_backend_that_leaves_the_window_keeps_its_clients_where_it_need_only_be_healthy() {
    let mut rig = Rig::new("healthy");
    rig.probes(MEASURED);
    let client = rig.client_of("B");
    rig.probes(B_SLOW);
    assert_eq!(rig.new_flows(client), BTreeSet::from([Some("B")]));
    let mut down = B_SLOW;
    down[1] = None;
    rig.probes(down);
    assert_eq!(
        rig.new_flows(client),
        BTreeSet::from([Some("A")]),
        "down (R9)"
    );
}

#[test]
fn t21_a_disabled_backend_loses_its_clients_and_keeps_its_open_connections() {
    for scope in ["eligible", "healthy"] {
        let mut rig = Rig::new(scope);
        rig.probes(MEASURED);
        let client = rig.client_of("B");
        let admin = |change| {
            Event::Admin(AdminChange {
                subject: Subject::Backend("B".parse().expect("a name")),
                change: Override::Admin(change),
            })
        };
        rig.event(admin(Admin::Disable));
        assert_eq!(
            rig.new_flows(client),
            BTreeSet::from([Some("A")]),
            "{scope}"
        );
        let open = of(client, 1).flags(ACK);
        assert_eq!(rig.sent(&open), Some("B"), "{scope}");
    }
}

#[test]
fn a_draining_backend_keeps_its_clients_where_it_need_only_be_healthy() {
    for (scope, expected) in [("eligible", "A"), ("healthy", "B")] {
        let mut rig = Rig::new(scope);
        rig.probes(MEASURED);
        let client = rig.client_of("B");
        rig.event(Event::Admin(AdminChange {
            subject: Subject::Backend("B".parse().expect("a name")),
            change: Override::Admin(Admin::Drain),
        }));
        assert_eq!(rig.new_flows(client), BTreeSet::from([Some(expected)]));
    }
}

#[test]
fn pins_are_found_again_by_a_daemon_that_starts_anew_and_counted_by_service() {
    let mut rig = Rig::new("eligible");
    rig.probes(MEASURED);
    let clients: Vec<_> = (1..=20)
        .map(|client| (client, rig.new_flow(client, 1)))
        .collect();
    let tables = rig.kernel.read_tables().expect("tables");
    let live = rig.kernel.live(&tables, edge::now()).expect("pins");
    assert_eq!(live.pins.into_values().collect::<Vec<_>>(), [20]);
    // Another daemon has other ids in mind, and finds those that are there.
    rig.tables = tables;
    rig.event(Event::Tick);
    for (client, before) in clients {
        assert_eq!(rig.new_flow(client, 2), before);
    }
    assert_eq!(rig.edge.events(FlowEvent::Pinned), 20);
}
