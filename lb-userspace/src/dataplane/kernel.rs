use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use aya::{
    Pod,
    maps::{HashMap, Map, MapData, MapError},
};
use lb_common::{
    ABI_VERSION, Address, Bucket, CHUNK, Chunk, Control, Descriptor, FormerRing, HEARTBEAT_OFFSET,
    HashKey, IdleTicks, Pin, PinKey, Port, Service, ServiceGroup, ServiceKey, Station, Target,
    Translation, TranslationKey, WAYS,
};

use super::{
    Capacity, Change, Tables,
    clients::Clients,
    counters::{Counters, Totals},
    mapped::Mapped,
    parts::TableParts,
    pins::Pins,
    pool::Extent,
};
use crate::refusal::{Refusal, pins::unusable_map, program::no_random, reason};

/// The pinned maps of an edge, which the packet program reads.
pub struct Kernel {
    pub(super) tables: TableParts,
    service_ids: HashMap<MapData, ServiceKey, u32>,
    addresses: HashMap<MapData, Address, u32>,
    rows: Mapped<Descriptor>,
    formers: Mapped<FormerRing>,
    slots: Mapped<Chunk>,
    service_groups: HashMap<MapData, ServiceGroup, u32>,
    stations: HashMap<MapData, u32, Station>,
    clients: Clients,
    pub(super) flows: Mapped<Bucket>,
    pub(super) pins: HashMap<MapData, PinKey, Pin>,
    pub(super) translations: HashMap<MapData, TranslationKey, Translation>,
    counters: Counters,
}

impl Kernel {
    /// Opens the maps that a running or ended daemon has pinned in `pin_dir`.
    ///
    /// # Errors
    ///
    /// If one of them is not there, is not of the right kind, or this process may not open it.
    pub fn open(pin_dir: &Path) -> Result<Self, Refusal> {
        let pins = Pins::new(pin_dir);
        Ok(Self {
            tables: mapped_by(&pins, "TABLES", TableParts::new)?,
            service_ids: hash_map(&pins, "SERVICE_IDS")?,
            addresses: hash_map(&pins, "ADDRESSES")?,
            rows: mapped(&pins, "RINGS")?,
            formers: mapped(&pins, "FORMER_RINGS")?,
            slots: mapped(&pins, "SLOTS")?,
            service_groups: hash_map(&pins, "SERVICE_GROUPS")?,
            stations: hash_map(&pins, "STATIONS")?,
            clients: Clients::open(&pins)?,
            flows: mapped(&pins, "FLOWS")?,
            pins: hash_map(&pins, "AFFINITY_PINS")?,
            translations: hash_map(&pins, "TRANSLATIONS")?,
            counters: Counters::open(&pins)?,
        })
    }

    /// The sizes of the maps.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            targets: self.tables.targets.len(),
            ring_slots: self.slots.len() * CHUNK as u32,
            rows: self.rows.len(),
            services: self.tables.services.len(),
            long_networks: self.clients.long_networks(),
            ..Capacity::new(0)
        }
    }

    /// Everything that the maps hold: how a daemon takes over what the last one left.
    pub fn read_tables(&self) -> Result<Tables, Refusal> {
        let mut tables = Tables::new(self.capacity());
        for pair in self.service_ids.iter() {
            let (key, id) = pair.map_err(|e| failed("SERVICE_IDS", e))?;
            if id < self.tables.services.len() {
                let service = self.tables.services.load(id);
                tables.services.insert(key, Service { id, ..service });
            }
        }
        for pair in self.addresses.iter() {
            let (address, services) = pair.map_err(|e| failed("ADDRESSES", e))?;
            tables.addresses.insert(address, services);
        }
        let ports = (0..=u16::MAX).map(|port| (port, self.tables.ports.load(port.into())));
        tables.ports = ports.filter(|(_, port)| *port != Port::default()).collect();
        tables.rows = (0..self.rows.len())
            .map(|row| self.rows.load(row))
            .collect();
        let formers = (0..self.formers.len()).map(|row| (row, self.formers.load(row)));
        tables.formers = formers.filter(|(_, it)| *it != FormerRing::NONE).collect();
        let chunks = (0..self.slots.len()).map(|chunk| self.slots.load(chunk));
        tables.slots = chunks.flat_map(|Chunk(slots)| slots).collect();
        let ids = 1..u16::try_from(self.tables.targets.len()).unwrap_or(u16::MAX);
        let targets = ids.map(|id| (id, self.tables.targets.load(id.into())));
        tables.targets = targets.filter(|(_, target)| target.identity != 0).collect();
        for key in self.service_groups.keys() {
            let allowed = key.map_err(|e| failed("SERVICE_GROUPS", e))?;
            tables.service_groups.insert(allowed);
        }
        tables.buffer = self.tables.control.load(0).clients & 1;
        tables.clients = Arc::new(self.clients.read(tables.buffer)?);
        Ok(tables)
    }

    /// The target ids in the slots of a ring, as they stand in the map now; none for what is no ring
    /// of the pool.
    pub fn slots(&self, ring: Descriptor) -> Vec<u16> {
        let first = ring.first_slot() as usize;
        let extent = Extent::of(ring);
        let chunks = u32::try_from(extent.slots().end / CHUNK).ok();
        let last = chunks.filter(|it| *it <= self.slots.len()).unwrap_or(0);
        let chunks = (ring.first_slot() / CHUNK as u32..last).map(|chunk| self.slots.load(chunk).0);
        let slots = chunks.flatten().skip(first % CHUNK);
        slots.take(ring.length() as usize).collect()
    }

    /// A target as it stands in the map now; none if the map has no such id.
    pub fn target(&self, id: u16) -> Option<Target> {
        (u32::from(id) < self.tables.targets.len()).then(|| self.tables.targets.load(id.into()))
    }

    /// Does one change. Done twice, it changes nothing more.
    pub fn execute(&mut self, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::AllowGroup(allowed) => {
                let inserted = self.service_groups.insert(allowed, 1, 0);
                inserted.map_err(|e| failed("SERVICE_GROUPS", e))?;
            }
            Change::ForbidGroup(forbidden) => {
                let removed = self.service_groups.remove(forbidden);
                present(removed).map_err(|e| failed("SERVICE_GROUPS", e))?;
                self.tables.renew();
            }
            Change::FreeTarget { id } => {
                self.tables.put_target(*id, &Target::FREE);
                self.counters.end_target(*id);
            }
            Change::PointRow { row, descriptor } => self.rows.store(*row, descriptor),
            Change::PutService { key, service } => {
                self.tables.put_service(service);
                let inserted = self.service_ids.insert(key, service.id, 0);
                inserted.map_err(|e| failed("SERVICE_IDS", e))?;
            }
            Change::RemoveService { key } => self.remove_service(key)?,
            Change::SelectClients { buffer } => {
                let found = self.tables.control.load(0);
                let clients = *buffer;
                self.tables.control.store(0, &Control { clients, ..found });
            }
            Change::SetAddress { address, services } => match services {
                0 => present(self.addresses.remove(address)),
                _ => self.addresses.insert(address, services, 0),
            }
            .map_err(|e| failed("ADDRESSES", e))?,
            Change::SetFormer { row, former } => self.formers.store(*row, former),
            Change::SetPort { port, services } => self.tables.ports.store((*port).into(), services),
            Change::SetTarget { id, target } => self.tables.put_target(*id, target),
            Change::WriteClients { buffer, table } => self.clients.write(*buffer, table)?,
            Change::WriteSlots { offset, slots } => {
                let (chunks, _) = slots.as_chunks::<CHUNK>();
                for (i, chunk) in (offset / CHUNK as u32..).zip(chunks) {
                    self.slots.store(i, &Chunk(*chunk));
                }
            }
        }
        Ok(())
    }

    /// Says which interfaces packets are served on, by index, and their MAC addresses: a frame for another
    /// address is another host's.
    pub fn set_stations(&mut self, stations: &BTreeMap<u32, [u8; 6]>) -> Result<(), Refusal> {
        let known: Result<Vec<u32>, _> = self.stations.keys().collect();
        let known = known.map_err(|e| failed("STATIONS", e))?;
        for gone in known.iter().filter(|index| !stations.contains_key(index)) {
            present(self.stations.remove(gone)).map_err(|e| failed("STATIONS", e))?;
        }
        for (index, mac) in stations {
            let station = Station::new(*mac);
            // The kernel would put another element in its place, while packets look at it.
            if self.stations.get(index, 0).is_ok_and(|it| it == station) {
                continue;
            }
            let put = self.stations.insert(index, station, 0);
            put.map_err(|e| failed("STATIONS", e))?;
        }
        Ok(())
    }

    /// Says how long entries of the flow table may stay idle. One that was over is live again if its
    /// state may stay idle for longer now; its target's id may be another target's of the group then.
    pub fn set_idle(&self, idle: IdleTicks) {
        let found = self.tables.control.load(0);
        self.tables.control.store(0, &Control { idle, ..found });
    }

    /// How long entries of the flow table may stay idle, by their states.
    pub fn idle(&self) -> IdleTicks {
        self.tables.control.load(0).idle
    }

    /// Says that the daemon is alive. `now` is CLOCK_MONOTONIC in nanoseconds.
    pub fn heartbeat(&self, now: u64) {
        self.tables.control.store_word(0, HEARTBEAT_OFFSET / 8, now);
    }

    /// When the daemon was last alive: CLOCK_MONOTONIC in nanoseconds, 0 if it never was.
    pub fn last_heartbeat(&self) -> u64 {
        self.tables.control.load(0).heartbeat
    }

    /// What was counted for the services and targets in `tables`, and in all.
    pub fn counters(&self, tables: &Tables) -> Totals {
        self.counters.totals(tables)
    }

    /// Entries that the flow table has place for.
    pub fn flow_entries(&self) -> u32 {
        self.flows.len() * WAYS as u32
    }

    /// Draws the secret of the flow table, once: then it stays.
    pub(super) fn draw_secret(&self) -> Result<(), Refusal> {
        let mut control = self.tables.control.load(0);
        if control.abi != 0 {
            return Ok(());
        }
        for key in &mut control.flow_keys {
            let mut bytes = [0; HashKey::BYTES];
            getrandom::fill(&mut bytes).map_err(no_random)?;
            *key = HashKey::from_bytes(bytes);
        }
        self.tables.control.store(0, &control);
        // Last, so that maps whose daemon ended before this count as never seeded.
        control.abi = ABI_VERSION;
        self.tables.control.store(0, &control);
        Ok(())
    }

    /// Puts the key of the ring hash into force, if it is another one. By that, no flow stands in a former
    /// ring where it stood before.
    pub(super) fn set_ring_key(&self, ring_key: HashKey) {
        let found = self.tables.control.load(0);
        if found.ring_key != ring_key {
            (0..self.formers.len()).for_each(|row| self.formers.store(row, &FormerRing::NONE));
            self.tables.control.store(0, &Control { ring_key, ..found });
        }
    }

    fn remove_service(&mut self, key: &ServiceKey) -> Result<(), Refusal> {
        let id = match self.service_ids.get(key, 0) {
            Ok(id) => id,
            Err(MapError::KeyNotFound) => return Ok(()),
            Err(error) => return Err(failed("SERVICE_IDS", error)),
        };
        // First, so that whatever fails leaves the service there to be removed again.
        self.counters.end_service(id);
        present(self.service_ids.remove(key)).map_err(|e| failed("SERVICE_IDS", e))?;
        self.tables.renew();
        Ok(())
    }
}

/// What was to be removed may already be gone.
pub(super) fn present(removed: Result<(), MapError>) -> Result<(), MapError> {
    match removed {
        Err(MapError::KeyNotFound) => Ok(()),
        other => other,
    }
}

pub(super) fn mapped<T: Pod>(pins: &Pins, map: &'static str) -> Result<Mapped<T>, Refusal> {
    mapped_by(pins, map, Mapped::new)
}

/// A pinned map as `open` maps it.
pub(super) fn mapped_by<M>(
    pins: &Pins,
    map: &'static str,
    open: impl FnOnce(&MapData) -> io::Result<M>,
) -> Result<M, Refusal> {
    let data = pins.map(map).map_err(|e| failed(map, e))?;
    open(&data).map_err(|e| unusable_map(map, e))
}

fn hash_map<K: Pod, V: Pod>(
    pins: &Pins,
    map: &'static str,
) -> Result<HashMap<MapData, K, V>, Refusal> {
    let open = || HashMap::try_from(Map::from_map_data(pins.map(map)?)?);
    open().map_err(|e| failed(map, e))
}

pub(super) fn failed(map: &str, error: MapError) -> Refusal {
    unusable_map(map, reason(&error))
}
