use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use aya::{
    Pod,
    maps::{Array, Map, MapData, MapInfo},
    programs::links::{FdLink, PinnedLink},
};
use lb_common::{Control, HashKey, Protocol, ServiceKey};
use lb_tests::maps::pinned_tables;
use lb_userspace::{
    dataplane::{Grace, Kernel, Mapped, Started, Tables, diff},
    model::{Departure, Edge, FlowIdle, Forward, Identity, Mac, Nat, Tunnels, XdpMode},
    refusal::{Refusal, Refused},
    table::{Image, Ring, ServiceSpec, TargetKey, TargetSpec},
};
use nix::sched::{CloneFlags, unshare};

/// A network namespace with one end of a veth pair in it, and a BPF file system; all gone on drop.
pub(crate) struct Host {
    pub(crate) dir: tempfile::TempDir,
}

impl Host {
    pub(crate) fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("these tests need root");
        run("ip link add edge0 type veth peer name peer0");
        run("ip link set edge0 up");
        let host = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(host.bpf()).unwrap();
        run(&format!("mount -t bpf bpf {}", host.bpf().display()));
        host
    }

    pub(crate) fn bpf(&self) -> PathBuf {
        self.dir.path().join("bpf")
    }

    pub(crate) fn edge(&self) -> Edge {
        edge_in(self.dir.path())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(self.bpf()).status();
        assert!(done.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// An edge that keeps everything in `dir`.
pub(crate) fn edge_in(dir: &Path) -> Edge {
    Edge {
        name: "fra-1".parse().unwrap(),
        interfaces: vec!["edge0".into()],
        xdp_mode: XdpMode::Native,
        ring_key: "ring".into(),
        packet_log: false,
        pin_dir: dir.join("bpf/waggle/fra-1"),
        state_dir: dir.join("state"),
        control: dir.join("control"),
        metrics: None,
        location: None,
        startup_grace: Duration::from_secs(10),
        ring_grace: Duration::from_secs(10),
        flow_entries: 1024,
        flow_idle: FlowIdle::DEFAULT,
        ring_slots: 4096,
        insert_limit: 1000,
        reply_limit: 1000,
        answer_echo: true,
        affinity_entries: 1024,
        tunnels: Tunnels {
            are_hops: true,
            have_checksums: false,
            sources: Vec::new(),
        },
        nat: Nat {
            sources: Vec::new(),
            ports: 61_000..=65_535,
            entries: 1024,
        },
    }
}

pub(crate) fn run(line: &str) -> String {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The id of the XDP program on an interface.
pub(crate) fn program_on(interface: &str) -> Option<u64> {
    let text = run(&format!("ip -j link show dev {interface}"));
    let links: serde_json::Value = serde_json::from_str(&text).unwrap();
    links[0]["xdp"]["prog"]["id"].as_u64()
}

pub(crate) fn key(byte: u8) -> HashKey {
    HashKey::from_bytes([byte; HashKey::BYTES])
}

pub(crate) fn start(edge: &Edge) -> Started {
    Kernel::start(edge, key(1)).unwrap_or_else(|error| panic!("{error}"))
}

/// The one line that a refused start prints.
pub(crate) fn refusal(edge: &Edge) -> String {
    line(Kernel::start(edge, key(1)))
}

/// The one line that a refusal prints.
pub(crate) fn line<T>(refused: Result<T, Refusal>) -> String {
    let Err(refusal) = refused else {
        panic!("it was not refused");
    };
    let line = Refused::from(refusal).to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

fn service(port: u16) -> ServiceKey {
    let address = Ipv4Addr::new(203, 0, 113, 10);
    ServiceKey::new(address.into(), port.to_be_bytes(), Protocol::TCP)
}

pub(crate) fn image(backends: &[u8]) -> Image {
    let mut image = Image::default();
    let spec = ServiceSpec {
        name: "web".parse().unwrap(),
        group: "web".parse().unwrap(),
        routes: BTreeSet::new(),
        by_class: false,
    };
    image.services.insert(service(80), spec.clone());
    image.services.insert(service(443), spec.clone());
    let member = |backend| TargetKey {
        group: spec.group.clone(),
        identity: Identity {
            address: Ipv4Addr::new(10, 0, 0, backend).into(),
            forward: Forward::L2Dsr,
            port: None,
        },
    };
    let target = TargetSpec {
        next_hop: Some(Mac([2, 0, 0, 0, 0, 9])),
        source: Mac([2, 0, 0, 0, 0, 1]),
        edge_address: None,
        mtu: 1500,
        departure: Departure::AS_IT_CAME,
        takes_new: true,
        dead: None,
    };
    let targets: Vec<_> = backends.iter().map(|backend| member(*backend)).collect();
    image.targets = targets
        .iter()
        .cloned()
        .map(|t| (t, target.clone()))
        .collect();
    let slots = (0..targets.len() as u16).cycle().take(500).collect();
    let ring = Ring {
        targets,
        slots,
        columns: 0,
    };
    image.rings.insert(spec.group, vec![ring].into());
    image
}

/// Does to the maps and to their mirror what it takes to show `image`.
pub(crate) fn show(kernel: &mut Kernel, tables: &mut Tables, image: &Image) {
    let grace = Grace { now: 1, ticks: 100 };
    let plan = diff(tables, image, grace).unwrap();
    assert!(!plan.later);
    for change in &plan.changes {
        kernel.execute(change).unwrap();
        tables.apply(change);
    }
    tables.release();
    tables.release();
}

pub(crate) fn map_ids(edge: &Edge) -> BTreeMap<String, u32> {
    fs::read_dir(edge.pin_dir.join("maps"))
        .unwrap()
        .map(|map| map.unwrap())
        .map(|map| {
            let id = MapInfo::from_pin(map.path()).unwrap().id();
            (map.file_name().into_string().unwrap(), id)
        })
        .collect()
}

/// Where the only link is pinned.
pub(crate) fn link_pin(edge: &Edge) -> PathBuf {
    let index = nix::net::if_::if_nametoindex("edge0").unwrap();
    edge.pin_dir.join(format!("link-{index}"))
}

pub(crate) fn link_id(edge: &Edge) -> u32 {
    let link = FdLink::from(PinnedLink::from_pin(link_pin(edge)).unwrap());
    link.info().unwrap().id()
}

pub(crate) fn pinned(edge: &Edge, map: &str) -> Map {
    let data = MapData::from_pin(edge.pin_dir.join("maps").join(map)).unwrap();
    Map::from_map_data(data).unwrap()
}

/// What outlives daemon and program.
pub(crate) fn control(edge: &Edge) -> Mapped<Control> {
    pinned_tables(&edge.pin_dir.join("maps/TABLES")).control
}

pub(crate) fn array<T: Pod>(edge: &Edge, map: &str) -> Array<MapData, T> {
    Array::try_from(pinned(edge, map)).unwrap()
}
