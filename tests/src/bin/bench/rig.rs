//! The three programs, loaded, with the same service and targets.

use std::{
    fs,
    os::fd::{AsFd as _, AsRawFd as _},
};

use anyhow::{Context as _, ensure};
use aya::{
    Ebpf, EbpfLoader, Pod, TestRun as _, TestRunOptions,
    maps::{Array, HashMap, MapData, MapInfo, PerCpuArray, ProgramArray},
    programs::Xdp,
};
use lb_common::{FlowEvent, ForwardMode, Service, Target, Tuple, WAYS};
use lb_tests::{
    PROGRAMS,
    datapath::edge::{self, Edge, Settings, Through, WEB, XDP_TX},
};
use nix::time::{ClockId, clock_gettime};

use crate::{
    columns::{By, Column},
    stream::{Stream, WORDS},
    wire::Wire,
};

/// Entries of the product's flow table: four times the flows, and no less than its default.
pub(crate) const FLOW_ENTRIES: u32 = 1 << 20;

/// The same for columns with hundreds of thousands of flows.
pub(crate) const MANY_FLOW_ENTRIES: u32 = 1 << 22;

/// Entries of the reference's: it evicts nothing while there is room.
pub(crate) const REFERENCE_ENTRIES: u32 = 1 << 20;

/// The same for IPv6, which is measured with fewer flows.
const REFERENCE_ENTRIES_V6: u32 = 1 << 16;

/// Targets of the service.
const TARGETS: u8 = 16;

/// Slots of its ring.
const SLOTS: u16 = 16_381;

/// A program that is measured, by its index in the map MEASURED.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Subject {
    Floor = 0,
    Reference = 1,
    Product = 2,
}

/// All of them.
pub(crate) const SUBJECTS: [Subject; 3] = [Subject::Floor, Subject::Reference, Subject::Product];

/// The programs and their maps.
pub(crate) struct Rig {
    object: Ebpf,
    edge: Edge,
    /// For columns of packets that come by it.
    wire: Option<Wire>,
    /// Held because the programs leave it when it is closed.
    _measured: ProgramArray<MapData>,
}

/// What a run was like.
pub(crate) struct Ran {
    /// Return value for the last packet.
    pub(crate) action: u32,
    /// Time per packet in nanoseconds, the generator's included.
    pub(crate) nanoseconds: f64,
}

impl Rig {
    /// Loads them, with the service of a column. No flow is known.
    pub(crate) fn new(column: &Column) -> anyhow::Result<Self> {
        let mut object = load()?;
        let settings = Settings {
            nat_ports: [1024, 64_512],
            buckets: column.flow_entries / WAYS as u32,
            insert_limit: column.insert_limit,
            ..Settings::default()
        };
        let (first, other) = (&column.traffic.first, &column.baseline.traffic.first);
        let mut edge = Edge::serving(&settings, first);
        let address = first.tuple().service;
        edge.publish(other, Service { address, ..WEB });
        let measured = object.take_map("MEASURED").context("MEASURED")?;
        let mut measured: ProgramArray<_> = measured.try_into()?;
        for subject in SUBJECTS {
            let program = program(&object, &edge, subject)?;
            measured.set(subject as u32, program.fd()?, 0)?;
        }
        let wire = match column.by {
            By::Cable => Some(Wire::new(&mut object, &mut edge)?),
            By::Call => None,
        };
        let mut rig = Self {
            object,
            edge,
            wire,
            _measured: measured,
        };
        rig.set_targets(column.through)?;
        rig.publish(&other.tuple())?;
        Ok(rig)
    }

    /// Calls a program for the next packets of a stream.
    pub(crate) fn call(
        &mut self,
        subject: Subject,
        stream: &mut Stream,
        packets: u32,
    ) -> anyhow::Result<Ran> {
        self.announce(stream)?;
        let generator = match subject {
            Subject::Floor => "generate_for_floor",
            Subject::Reference => "generate_for_reference",
            Subject::Product => "generate_for_product",
        };
        let generator = xdp(&self.object, generator)?;
        let start = cpu_time()?;
        let result = generator.test_run(TestRunOptions {
            data_in: Some(stream.frame()),
            repeat: packets,
            ..TestRunOptions::default()
        })?;
        let nanoseconds = (cpu_time()? - start) / f64::from(packets);
        stream.advance(packets);
        Ok(Ran {
            action: result.return_value,
            nanoseconds,
        })
    }

    /// Sends the next packets of a stream through the cable at whose other end the program stands.
    ///
    /// # Errors
    /// Among others, when not all came back.
    pub(crate) fn send(
        &mut self,
        subject: Subject,
        stream: &mut Stream,
        packets: u32,
    ) -> anyhow::Result<Ran> {
        self.announce(stream)?;
        let wire = self.wire.as_ref().context("the column has no cable")?;
        let generator = xdp(&self.object, "generate_live")?;
        let absorbed = self.counted("ABSORBED")?;
        let start = cpu_time()?;
        wire.send(generator, subject, stream.frame(), packets)?;
        let nanoseconds = (cpu_time()? - start) / f64::from(packets);
        let absorbed = self.counted("ABSORBED")? - absorbed;
        ensure!(
            absorbed == u64::from(packets),
            "{subject:?}: {absorbed} of {packets} frames came back"
        );
        stream.advance(packets);
        Ok(Ran {
            action: XDP_TX,
            nanoseconds,
        })
    }

    /// Tells the generator what to make.
    fn announce(&mut self, stream: &Stream) -> anyhow::Result<()> {
        let map = self.object.map_mut("STREAM").context("STREAM")?;
        let mut streams: Array<_, [u32; WORDS]> = map.try_into()?;
        Ok(streams.set(0, stream.words(), 0)?)
    }

    /// Packets so far that the product found an entry for.
    pub(crate) fn hits(&self) -> u64 {
        self.edge.events(FlowEvent::Hit)
    }

    /// Packets so far that the reference found none for.
    pub(crate) fn reference_misses(&self) -> anyhow::Result<u64> {
        self.counted("REFERENCE_MISSES")
    }

    /// The sum of a counter of the bench's programs over all CPUs.
    fn counted(&self, map: &'static str) -> anyhow::Result<u64> {
        let counter = self.object.map(map).context(map)?;
        let counter: PerCpuArray<_, u64> = counter.try_into()?;
        Ok(counter.get(&0, 0)?.iter().sum())
    }

    /// Entries that the product has written where none was live.
    pub(crate) fn inserted(&self) -> u64 {
        self.edge.events(FlowEvent::Inserted)
    }

    /// Memory of a program's maps in bytes.
    pub(crate) fn maps_bytes(&self, subject: Subject) -> anyhow::Result<u64> {
        let maps = program(&self.object, &self.edge, subject)?
            .info()?
            .map_ids()?;
        let maps = maps.context("the kernel names no maps")?;
        maps.into_iter().map(map_bytes).sum()
    }

    fn set_targets(&mut self, through: Through) -> anyhow::Result<()> {
        let map = self.object.map_mut("REFERENCE_TARGETS");
        let mut targets: Array<_, [u8; 44]> = map.context("REFERENCE_TARGETS")?.try_into()?;
        for id in 1..=TARGETS {
            let target = through(edge::target(id));
            targets.set(id.into(), plain(&target), 0)?;
            self.edge.set_target(id.into(), target);
        }
        let slots: Vec<u16> = (0..SLOTS)
            .map(|slot| 1 + slot % u16::from(TARGETS))
            .collect();
        self.edge.set_ring(WEB.row, 0, &slots);
        Ok(())
    }

    /// Makes the edge's service the reference's too.
    fn publish(&mut self, tuple: &Tuple) -> anyhow::Result<()> {
        let [high, low] = tuple.ports.service().to_be_bytes();
        let last = u32::from_ne_bytes([high, low, tuple.protocol.0, 0]);
        let [a, b, c, d] = tuple.service.words();
        let targets = [1, TARGETS.into()];
        if tuple.service.is_v4() {
            self.insert("REFERENCE_SERVICES", [d, last], targets)
        } else {
            self.insert("REFERENCE_SERVICES_V6", [a, b, c, d, last], targets)
        }
    }

    fn insert<K: Pod>(&mut self, map: &'static str, key: K, value: [u32; 2]) -> anyhow::Result<()> {
        let services = self.object.map_mut(map).context(map)?;
        let mut services: HashMap<_, K, [u32; 2]> = services.try_into()?;
        Ok(services.insert(key, value, 0)?)
    }
}

/// The target as the reference has it: MAC addresses, and the addresses of the outer header, those
/// of IPv4 in the first four of 16 bytes.
fn plain(target: &Target) -> [u8; 44] {
    let mut plain = [0; 44];
    plain[..6].copy_from_slice(&target.next_hop);
    plain[6..12].copy_from_slice(&target.source);
    let address = target.address.octets();
    match target.forward.mode() {
        // The reference knows no translation: it puts a header around the packet instead.
        ForwardMode::FULL_NAT if target.address.is_v4() => {
            plain[12..16].copy_from_slice(&target.nat.source.octets()[12..]);
            plain[28..32].copy_from_slice(&address[12..]);
        }
        ForwardMode::FULL_NAT => {
            plain[12..28].copy_from_slice(&target.nat.source.octets());
            plain[28..].copy_from_slice(&address);
        }
        ForwardMode::IPIP | ForwardMode::GUE if target.address.is_v4() => {
            plain[12..16].copy_from_slice(&target.outer.as_v4().0);
            plain[28..32].copy_from_slice(&address[12..]);
        }
        ForwardMode::IPIP | ForwardMode::GUE => {
            let source = target.outer.words().map(u32::to_ne_bytes);
            plain[12..28].copy_from_slice(source.as_flattened());
            plain[28..].copy_from_slice(&address);
        }
        _ => {}
    }
    plain
}

/// The bench's own programs, ready to run.
fn load() -> anyhow::Result<Ebpf> {
    let mut loader = EbpfLoader::new();
    // The object has nothing to relocate, and reading the kernel's types takes a while.
    let mut object = loader
        .btf(None)
        .map_max_entries("REFERENCE_FLOWS", REFERENCE_ENTRIES)
        .map_max_entries("REFERENCE_FLOWS_V6", REFERENCE_ENTRIES_V6)
        .load(PROGRAMS)
        .context("the bench needs root to load programs")?;
    for (name, program) in object.programs_mut() {
        let program: &mut Xdp = program.try_into()?;
        program.load().with_context(|| name.to_owned())?;
    }
    Ok(object)
}

fn program<'a>(object: &'a Ebpf, edge: &'a Edge, subject: Subject) -> anyhow::Result<&'a Xdp> {
    match subject {
        Subject::Floor => xdp(object, "floor"),
        Subject::Reference => xdp(object, "reference"),
        Subject::Product => Ok(edge.program()),
    }
}

fn xdp<'a>(object: &'a Ebpf, name: &'static str) -> anyhow::Result<&'a Xdp> {
    Ok(object.program(name).context(name)?.try_into()?)
}

/// Memory of a map in bytes, as the kernel accounts for it.
fn map_bytes(id: u32) -> anyhow::Result<u64> {
    let map = MapInfo::from_id(id)?.fd()?;
    let path = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
    let info = fs::read_to_string(&path).with_context(|| path.clone())?;
    let bytes = info.lines().find_map(|line| line.strip_prefix("memlock:"));
    let bytes = bytes.with_context(|| format!("{path} names no memory"))?;
    bytes.trim().parse().context(path)
}

/// Nanoseconds that this thread has run. What else runs on the machine is not in it.
fn cpu_time() -> anyhow::Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}
