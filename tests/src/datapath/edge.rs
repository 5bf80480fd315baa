//! The program, loaded but attached nowhere, and its maps.

mod settings;
mod targets;

use std::{fs, ops::AddAssign, path::Path};

use aya::{
    Ebpf, EbpfLoader, Pod, TestRun as _, TestRunOptions,
    maps::{
        Array, HashMap, Map, MapData,
        lpm_trie::{Key, LpmTrie},
    },
    programs::{ProgramInfo, Xdp},
};
use aya_log::EbpfLogger;
use lb_common::{
    ABI_VERSION, Address, Affinity, Answer, Bucket, CHUNK, Chunk, Control, Counter, Descriptor,
    Entry, FlowEvent, HashKey, Pin, PinKey, Place, Port, Row, Service, ServiceKey, Station, Target,
    Translation, TranslationKey, Verdict, WAYS, ring_head,
};
use lb_userspace::dataplane::{
    CounterParts, PacketLines, TableParts, monotonic,
    object::{OBJECT, cpus},
};

pub use self::{
    settings::Settings,
    targets::{
        ENDS_V4, ENDS_V6, GUE_PORT, THROUGH, Through, forwarded, gue_v4, gue_v6, target,
        through_v4, through_v6, translated_v4, translated_v6,
    },
};
use super::packet::{self, Packet};
use crate::random::Random;

/// The frame is dropped.
pub const XDP_DROP: u32 = 1;
/// The frame goes on to the host.
pub const XDP_PASS: u32 = 2;
/// The frame is sent back to where it came from.
pub const XDP_TX: u32 = 3;
/// The frame is sent by another interface.
pub const XDP_REDIRECT: u32 = 4;

/// Index of the interface that the kernel lets packets of a test come by.
pub const LOOPBACK: u32 = 1;

/// Its MAC address.
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// The group of [`WEB`].
pub const GROUP: u32 = 7;

/// The service that a default packet is addressed to.
pub const WEB: Service = Service {
    address: Address::v4([203, 0, 113, 10]),
    group: GROUP,
    id: 5,
    row: Row::new(3, 1),
};

/// An edge without a network.
pub struct Edge {
    ebpf: Ebpf,
    /// What packets of known flows are looked up in.
    pub tables: TableParts,
    counters: Vec<CounterParts>,
}

/// What the program made of a packet.
#[derive(Debug, Eq, PartialEq)]
pub struct Ran {
    /// Its return value.
    pub action: u32,
    /// The frame as it left it.
    pub frame: Vec<u8>,
}

impl Ran {
    /// Runs a program once for a frame.
    pub fn of(program: &Xdp, frame: &[u8]) -> Self {
        let mut out = vec![0; frame.len() + 256];
        let result = program
            .test_run(TestRunOptions {
                data_in: Some(frame),
                data_out: Some(&mut out),
                ..TestRunOptions::default()
            })
            .unwrap();
        out.truncate(result.data_size_out as usize);
        Self {
            action: result.return_value,
            frame: out,
        }
    }
}

impl Edge {
    /// Loads the program; its tables are empty but for the keys.
    pub fn load(settings: &Settings) -> Self {
        let cpus = cpus().unwrap();
        let mut ebpf = EbpfLoader::new()
            // The object has nothing to relocate, and reading the kernel's types takes a while.
            .btf(None)
            .override_global("FLOW_MASK", &(settings.buckets - 1), true)
            .override_global("INSERT_LIMIT", &settings.insert_limit, true)
            .override_global("REPLY_LIMIT", &settings.reply_limit, true)
            .override_global("NAT_FIRST_PORT", &settings.nat_ports[0], true)
            .override_global("NAT_PORT_COUNT", &settings.nat_ports[1], true)
            .override_global("TUNNEL_CHECKSUM", &u8::from(settings.tunnel_checksum), true)
            .override_global("TUNNEL_HOPS", &settings.tunnel_hops, true)
            .override_global("MORE_SOURCES_V4", &settings.more_sources[0], true)
            .override_global("MORE_SOURCES_V6", &settings.more_sources[1], true)
            .override_global("ANSWER_ECHO", &u8::from(settings.answer_echo), true)
            .override_global("PACKET_LOG", &u8::from(settings.packet_log), true)
            .override_global("PROOF", &u8::from(settings.proof), true)
            .map_max_entries("FLOWS", settings.buckets)
            .map_max_entries("CPUS", cpus)
            .load(OBJECT)
            .expect("these tests need root");
        let program: &mut Xdp = ebpf.program_mut("waggle").unwrap().try_into().unwrap();
        program.load().unwrap();
        let parts = TableParts::new(data(&ebpf, "TABLES")).unwrap();
        let counters = CounterParts::of_cpus(data(&ebpf, "CPUS")).unwrap();
        let mut edge = Self {
            ebpf,
            tables: parts,
            counters,
        };
        edge.tables.control.store(0, &control(settings));
        edge.insert("STATIONS", LOOPBACK, Station::new(STATION));
        edge
    }

    /// An edge with the service [`WEB`], whose ring is target 1 alone.
    pub fn with_web(settings: &Settings) -> Self {
        Self::serving(settings, &packet::syn())
    }

    /// An edge on which [`WEB`] is the service that `packet` is addressed to.
    pub fn serving(settings: &Settings, packet: &Packet) -> Self {
        let mut edge = Self::load(settings);
        let address = packet.tuple().service;
        edge.publish(packet, Service { address, ..WEB });
        edge.set_target(1, target(1));
        edge.set_ring(WEB.row, 100, &[1; 10]);
        edge
    }

    /// Makes `service` the service that `packet` is addressed to.
    pub fn publish(&mut self, packet: &Packet, service: Service) {
        let tuple = packet.tuple();
        let port = tuple.ports.service();
        let key = ServiceKey::new(tuple.service, port.to_be_bytes(), tuple.protocol);
        let id = u16::try_from(service.id).unwrap();
        self.tables.put_service(&service);
        self.hash_map("SERVICE_IDS")
            .insert(key, service.id, 0)
            .unwrap();
        self.hash_map("ADDRESSES")
            .insert(tuple.service, 1_u32, 0)
            .unwrap();
        let services: Port = self.tables.ports.load(port.into());
        let services = match services.listener(tuple.protocol) {
            Some((first, _)) if first != id => services.with(tuple.protocol, first, true),
            _ => services.with(tuple.protocol, id, false),
        };
        self.tables.ports.store(port.into(), &services);
    }

    /// Writes a target.
    pub fn set_target(&mut self, id: u16, target: Target) {
        self.tables.put_target(id, &target);
    }

    /// Writes a ring into the pool and points the row's first descriptor to it.
    pub fn set_ring(&mut self, row: Row, offset: u32, slots: &[u16]) {
        self.write_pool(offset, slots);
        let length = u32::try_from(slots.len()).unwrap();
        self.set("RINGS", row.first(), Descriptor::new(offset, length));
    }

    /// The same for a ring with affinity.
    pub fn set_pinning_ring(&mut self, row: Row, offset: u32, affinity: Affinity, slots: &[u16]) {
        let targets = slots.iter().copied();
        let targets = targets.filter(|slot| Answer::of_slot(*slot).is_none());
        let mut written = ring_head(affinity, targets).to_vec();
        written.extend(slots);
        self.write_pool(offset, &written);
        let length = u32::try_from(slots.len()).unwrap();
        let ring = Descriptor::new(offset, length).with_head();
        self.set("RINGS", row.first(), ring);
    }

    fn write_pool(&mut self, offset: u32, slots: &[u16]) {
        let first = offset as usize / CHUNK;
        let mut pool = vec![0; offset as usize % CHUNK];
        pool.extend(slots);
        pool.resize(pool.len().next_multiple_of(CHUNK), 0);
        for (i, chunk) in pool.chunks_exact(CHUNK).enumerate() {
            let chunk = Chunk(chunk.try_into().unwrap());
            self.set("SLOTS", u32::try_from(first + i).unwrap(), chunk);
        }
    }

    /// Writes an element of FLOWS.
    pub fn set_bucket(&mut self, index: u32, bucket: Bucket) {
        self.set("FLOWS", index, bucket);
        self.tables.renew();
    }

    /// Writes an element of an array.
    pub fn set<T: Pod>(&mut self, map: &str, index: u32, value: T) {
        let map = self.ebpf.map_mut(map).unwrap();
        let mut array: Array<&mut MapData, T> = map.try_into().unwrap();
        array.set(index, value, 0).unwrap();
    }

    /// Pins the maps in a directory on a BPF file system, for others to open.
    pub fn pin_maps(&self, dir: &Path) {
        fs::create_dir(dir).unwrap();
        // The compiler's own maps have dots in their names, and such a pin is not allowed.
        for (name, map) in self.ebpf.maps().filter(|(name, _)| !name.contains('.')) {
            map.pin(dir.join(name)).unwrap();
        }
    }

    /// Runs the program once for a frame.
    pub fn run(&self, frame: &[u8]) -> Ran {
        Ran::of(self.program(), frame)
    }

    /// Runs the program for a packet, and returns which backend its frame goes to.
    pub fn backend(&self, packet: &Packet) -> Option<u8> {
        let ran = self.run(&packet.bytes());
        (ran.action == XDP_TX).then(|| ran.frame[5])
    }

    /// Every entry of the flow table with its bucket.
    pub fn entries(&self) -> Vec<(u32, Entry)> {
        let map = self.ebpf.map("FLOWS").unwrap();
        let flows: Array<&MapData, Bucket> = map.try_into().unwrap();
        (0..flows.len())
            .flat_map(|i| flows.get(&i, 0).unwrap().0.map(|entry| (i, entry)))
            .filter(|(_, entry)| *entry != Entry::default())
            .collect()
    }

    /// The one entry of the flow table.
    pub fn only_entry(&self) -> (u32, Entry) {
        let entries = self.entries();
        assert_eq!(entries.len(), 1, "{entries:x?}");
        entries[0]
    }

    /// Packets and bytes with a verdict.
    pub fn verdict(&self, verdict: Verdict) -> Counter {
        let mut counter = self.sum(|cpu| cpu.verdicts.load(verdict as u32));
        if verdict == Verdict::Forwarded {
            counter += self.hits();
        }
        counter
    }

    /// Number of packets with a flow event.
    pub fn events(&self, event: FlowEvent) -> u64 {
        match event {
            FlowEvent::Hit => self.hits().packets,
            _ => self.sum(|cpu| cpu.flow_events.load(event as u32)).packets,
        }
    }

    /// Packets and bytes to a service.
    pub fn service(&self, id: u32) -> Counter {
        self.sum(|cpu| cpu.services.load(id)).all()
    }

    /// Packets and bytes to a target.
    pub fn target(&self, id: u16) -> Counter {
        self.sum(|cpu| cpu.targets.load(id.into()))
    }

    /// Packets and bytes that were sent by the entry of their flow, to any service.
    fn hits(&self) -> Counter {
        let mut hits = Counter::default();
        for id in 0..=WEB.id {
            hits += self.sum(|cpu| cpu.services.load(id)).hits;
        }
        hits
    }

    /// The sum of a counter over all CPUs.
    fn sum<T: Default + AddAssign>(&self, counter: impl Fn(&CounterParts) -> T) -> T {
        let mut sum = T::default();
        for counted in self.counters.iter().map(counter) {
            sum += counted;
        }
        sum
    }

    /// What the kernel says of the program.
    pub fn info(&self) -> ProgramInfo {
        self.program().info().unwrap()
    }

    /// The program.
    pub fn program(&self) -> &Xdp {
        self.ebpf.program("waggle").unwrap().try_into().unwrap()
    }

    /// The same, to attach it.
    pub fn program_mut(&mut self) -> &mut Xdp {
        self.ebpf.program_mut("waggle").unwrap().try_into().unwrap()
    }

    /// A map by its name.
    pub fn map(&self, name: &str) -> &Map {
        self.ebpf.map(name).unwrap()
    }

    /// Says of what class some networks of 256 IPv4 addresses are; all others are of class 0.
    pub fn set_networks(&mut self, buffer: u32, networks: &[([u8; 3], Place)]) {
        const NETWORKS: usize = 1 << 24;
        let mut table = vec![0_u16; NETWORKS];
        for ([a, b, c], Place(place)) in networks {
            let network = u32::from_be_bytes([0, *a, *b, *c]);
            table[network as usize] = *place;
        }
        let map = self.ebpf.map_mut("CLIENTS_V4").unwrap();
        let mut array: Array<&mut MapData, [u16; NETWORKS]> = map.try_into().unwrap();
        let table: &[u16; NETWORKS] = table.as_slice().try_into().unwrap();
        array.set(buffer, table, 0).unwrap();
    }

    /// Says of what class an IPv6 prefix is.
    pub fn set_prefix(&mut self, map: &str, prefix: &Key<Address>, class: u32) {
        let map = self.ebpf.map_mut(map).unwrap();
        let mut prefixes: LpmTrie<&mut MapData, Address, u32> = map.try_into().unwrap();
        prefixes.insert(prefix, class, 0).unwrap();
    }

    /// Empties the flow table.
    pub fn forget_flows(&mut self) {
        for (bucket, _) in self.entries() {
            self.set_bucket(bucket, Bucket([Entry::default(); WAYS]));
        }
    }

    /// The pins of all clients.
    pub fn pins(&self) -> Vec<(PinKey, Pin)> {
        let pins: HashMap<&MapData, PinKey, Pin> = self.map("AFFINITY_PINS").try_into().unwrap();
        pins.iter().map(Result::unwrap).collect()
    }

    /// The flows of `full-nat` targets.
    pub fn translations(&self) -> Vec<(TranslationKey, Translation)> {
        let map: HashMap<&MapData, _, _> = self.map("TRANSLATIONS").try_into().unwrap();
        map.iter().map(Result::unwrap).collect()
    }

    /// Hands the lines of the packet log to `hear`, whenever the logger is flushed.
    pub fn log<F: Fn(&str) + Send + Sync>(&mut self, hear: F) -> EbpfLogger<PacketLines<F>> {
        EbpfLogger::init_with_logger(&mut self.ebpf, PacketLines(hear)).unwrap()
    }

    /// Writes an element of a hash map.
    pub fn insert<K: Pod, V: Pod>(&mut self, map: &str, key: K, value: V) {
        self.hash_map(map).insert(key, value, 0).unwrap();
        self.tables.renew();
    }

    /// Removes an element of a hash map, whose values are `V`.
    pub fn remove<K: Pod, V: Pod>(&mut self, map: &str, key: K) {
        self.hash_map::<K, V>(map).remove(&key).unwrap();
        self.tables.renew();
    }

    fn hash_map<K: Pod, V: Pod>(&mut self, name: &str) -> HashMap<&mut MapData, K, V> {
        self.ebpf.map_mut(name).unwrap().try_into().unwrap()
    }
}

/// An array map.
fn data<'a>(ebpf: &'a Ebpf, map: &str) -> &'a MapData {
    match ebpf.map(map) {
        Some(Map::Array(data)) => data,
        other => panic!("{map}: {other:?}"),
    }
}

/// A control element with the ring key that all edges share, a secret of its own, and idle times.
pub fn control(settings: &Settings) -> Control {
    let secret = settings.secret;
    Control {
        abi: ABI_VERSION,
        clients: 0,
        heartbeat: 0,
        generation: 0,
        idle: settings.idle,
        ring_key: key(0),
        flow_keys: [key(2 * secret + 1), key(2 * secret + 2)],
    }
}

/// The present tick of the clock that the program reads.
pub fn now() -> u32 {
    lb_common::tick(monotonic())
}

/// A key whose bytes look random.
fn key(seed: u64) -> HashKey {
    let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95));
    let mut bytes = [0; HashKey::BYTES];
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&random.draw().to_ne_bytes());
    }
    HashKey::from_bytes(bytes)
}
