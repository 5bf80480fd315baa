//! An edge with 50 services whose groups decide by 1,000 classes of clients, one of whose 50 backends
//! is a bad probe away from being unhealthy.
//!
//! All groups have the same 49 backends, the last ten the fiftieth too. Backends stand in 15 regions,
//! three by three near to each other, and each class of clients has latencies of its own to all of
//! them: it goes to two or three regions of one neighbourhood, or everywhere if nothing is known of it.
//! So a backend is in four rings of each of its groups, of which one is that of all its backends.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    net::Ipv4Addr,
    time::Duration,
};

use lb_userspace::{
    config::{self, Checked},
    engine::{Engine, Event, Saved},
    model::{Departure, Identity, Mac, Model, Name, Share},
    neighbour::Way,
    probe::{Failure, StreamKey, stream_key},
    table::{DEFAULT_LENGTH, Image, Ring, Shares, Spread, ring},
};

const SERVICES: u32 = 50;
const BACKENDS: u32 = 50;
const CLASSES: u32 = 1_000;
/// Services whose groups have the backend that becomes unhealthy, which is the first.
const TOUCHED: usize = 10;
/// Rings that are new then.
const NEW_RINGS: usize = 40;
const REGIONS: u32 = 15;

/// The engine before the last bad probe, and what follows from that.
pub(crate) struct Workload {
    pub(crate) engine: Engine,
    /// The rings that become new.
    pub(crate) rings: Vec<(Name, Spread)>,
    flip: StreamKey,
}

impl Workload {
    /// # Panics
    ///
    /// What comes about is not what the names of the constants say.
    pub(crate) fn new() -> Self {
        let checked = checked();
        let model = &checked.model;
        let classes = &checked.clients;
        assert_eq!(model.services.len(), SERVICES as usize);
        assert_eq!(model.backends.len(), BACKENDS as usize);
        assert_eq!(model.root_groups().len(), SERVICES as usize);
        for root in model.root_groups() {
            let meanings = &classes.meanings(root).clients;
            assert_eq!(
                meanings.len(),
                CLASSES as usize,
                "all classes differ to {root}"
            );
        }
        let flip = key(model, "b0");
        let (engine, _) = Engine::start(checked, Saved::default(), BTreeSet::new(), Duration::ZERO);
        let mut workload = Self {
            engine,
            rings: Vec::new(),
            flip,
        };
        workload.begin();
        workload.rings = workload.new_rings();
        workload
    }

    /// The last bad probe.
    pub(crate) fn flip(&self) -> Event {
        Event::Samples(vec![(self.flip.clone(), Err(Failure::Status(500)))])
    }

    /// All backends are up, and the first has two bad probes of the three that it takes.
    fn begin(&mut self) {
        let model = self.engine.model().clone();
        let way = Way::Open {
            next_hop: Mac([2, 0, 0, 0, 0, 1]),
            source: Mac([2, 0, 0, 0, 0, 2]),
            edge_address: None,
            mtu: 1_500,
            departure: Departure::AS_IT_CAME,
        };
        let backends = model.backends.values();
        let ways = backends.map(|it| (it.destination(), way.clone())).collect();
        self.take(Event::Ways(ways));
        let took = Duration::from_millis(5);
        for _ in 0..4 {
            let good = model
                .backends
                .keys()
                .map(|it| (key(&model, it.as_str()), Ok(took)));
            self.take(Event::Samples(good.collect()));
        }
        for _ in 0..2 {
            self.take(self.flip());
        }
    }

    fn take(&mut self, event: Event) {
        let taken = self.engine.handle(event, Duration::ZERO);
        taken.unwrap_or_else(|refusal| panic!("{refusal}"));
    }

    /// The rings that the last bad probe makes, which are as many as they should be.
    fn new_rings(&self) -> Vec<(Name, Spread)> {
        let mut engine = self.engine.clone();
        let before = image(&self.engine);
        let taken = engine.handle(self.flip(), Duration::ZERO);
        taken.unwrap_or_else(|refusal| panic!("{refusal}"));
        let after = image(&engine);
        assert!(
            before.held.is_empty() && after.held.is_empty(),
            "all groups are decided"
        );
        let touched = after
            .rings
            .iter()
            .filter(|(group, rings)| before.rings[*group] != **rings);
        let touched: BTreeMap<&Name, _> = touched.collect();
        assert_eq!(touched.len(), TOUCHED);
        let services = after.services.values();
        assert_eq!(
            services
                .filter(|it| touched.contains_key(&it.group))
                .count(),
            TOUCHED
        );
        let new = touched.into_iter().flat_map(|(group, rings)| {
            let is_new = |ring: &&Ring| !before.rings[group].contains(ring);
            rings.iter().filter(is_new).map(move |ring| (group, ring))
        });
        let new: Vec<_> = new.collect();
        let distinct: BTreeSet<_> = new
            .iter()
            .map(|(_, ring)| (identities(ring), &ring.slots))
            .collect();
        assert_eq!((new.len(), distinct.len()), (NEW_RINGS, NEW_RINGS));
        assert!(
            new.iter()
                .all(|(_, ring)| ring.slots.len() == DEFAULT_LENGTH)
        );
        let model = engine.model();
        let spread = |(group, made): (&Name, &Ring)| {
            let spread = spread(model, group, made);
            assert!(ring(group, &spread) == *made, "it is made of {spread:?}");
            (group.clone(), spread)
        };
        new.into_iter().map(spread).collect()
    }
}

fn image(engine: &Engine) -> &Image {
    engine
        .image()
        .expect("an engine that has begun has an image")
}

fn identities(ring: &Ring) -> Vec<Identity> {
    ring.targets.iter().map(|it| it.identity).collect()
}

/// What a ring was made of: its backends share by weight.
fn spread(model: &Model, group: &Name, ring: &Ring) -> Spread {
    let identities = identities(ring);
    let members = model.groups[group].members.iter().filter_map(|member| {
        let identity = model.backends[member.name()].identity();
        let weight = u64::from(member.weight.value());
        identities.contains(&identity).then_some((identity, weight))
    });
    let members: Vec<_> = members.collect();
    let sum: u64 = members.iter().map(|it| it.1).sum();
    let share = |(identity, weight): (Identity, u64)| {
        let share = Share::new(weight.into(), sum.into());
        (identity.into(), share)
    };
    Spread::Flows(members.into_iter().map(share).collect::<Shares>())
}

fn key(model: &Model, backend: &str) -> StreamKey {
    let probes = model.groups.values().find_map(|it| it.probe.as_ref());
    stream_key(
        &model.backends[backend],
        probes.expect("all groups are probed"),
    )
}

fn checked() -> Checked {
    let directory = tempfile::tempdir().expect("a directory for the files");
    fs::write(directory.path().join("latency.csv"), latencies()).expect("a file of latencies");
    let path = directory.path().join("waggle.toml");
    let checked = config::load_text(&path, &configuration());
    checked.unwrap_or_else(|refused| panic!("{refused}"))
}

fn configuration() -> String {
    let mut text = "[edge]\nname = \"edge\"\ninterfaces = [\"eth0\"]\nring_slots = 33554432\n\
        [latency]\nfiles = [\"latency.csv\"]\n"
        .to_owned();
    for backend in 0..BACKENDS {
        let (address, region) = (
            Ipv4Addr::from_bits(0x0a00_0001 + backend),
            backend % REGIONS,
        );
        let _ = writeln!(
            text,
            "[[backend]]\nname = \"b{backend}\"\naddress = \"{address}\"\nregion = \"r{region}\""
        );
    }
    for service in 0..SERVICES {
        let with_first = service >= SERVICES - TOUCHED as u32;
        let members = (u32::from(!with_first)..BACKENDS).map(|backend| {
            let weight = 10 + (3 * backend + service) % 10;
            format!("{{ backend = \"b{backend}\", weight = {weight} }}")
        });
        let members: Vec<_> = members.collect();
        let address = Ipv4Addr::from_bits(0xcb00_7101 + service);
        let _ = writeln!(
            text,
            "[[group]]\nname = \"g{service}\"\npolicy = \"dynamic-rtt\"\nlatency_window = \"30ms\"\n\
             member = [{}]\n\
             probe = {{ kind = \"http\", health = {{ window = 4, required = 2 }} }}\n\
             [[service]]\nname = \"s{service}\"\naddress = \"{address}\"\nprotocol = \"tcp\"\nport = 80\n\
             group = \"g{service}\"",
            members.join(", ")
        );
    }
    text
}

/// A row of latencies for each class but that of the clients of whom nothing is known.
fn latencies() -> String {
    /// Which two or three of three neighbours are near.
    const NEAR: [[bool; 3]; 4] = [
        [true, true, false],
        [true, false, true],
        [false, true, true],
        [true, true, true],
    ];
    let mut text = "prefix,region,ms\n".to_owned();
    for class in 1..CLASSES {
        let prefix = Ipv4Addr::from_bits(0xc633_0000 + 64 * class);
        let near = NEAR[(class / (REGIONS / 3) % 4) as usize];
        for region in 0..REGIONS {
            let is_near = region / 3 == class % (REGIONS / 3) && near[(region % 3) as usize];
            let ms = if is_near {
                10 + (class + region) % 20
            } else {
                100 + class + region
            };
            let _ = writeln!(text, "{prefix}/26,r{region},{ms}");
        }
    }
    text
}
