use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Address, CHUNK, Descriptor, Port, Service, ServiceKey, Target};

use super::{Change, pool::Extent};
use crate::table::{TargetKey, group_id};

/// Sizes of the maps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Capacity {
    /// Elements of TARGETS; the first is never used.
    pub targets: u32,
    /// Slots of the ring pool.
    pub ring_slots: u32,
    /// Elements of RINGS.
    pub rows: u32,
    /// Elements of SERVICES, ADDRESSES and SERVICE_COUNTERS.
    pub services: u32,
}

impl Capacity {
    /// The sizes with a ring pool of `ring_slots`, rounded down to whole chunks; the others are
    /// fixed.
    pub fn new(ring_slots: u32) -> Self {
        let chunk = CHUNK as u32;
        Self {
            targets: 4096,
            ring_slots: ring_slots / chunk * chunk,
            rows: 1 << 17,
            services: 1024,
        }
    }
}

/// A mirror of what the maps hold, with the ids and places in use there.
///
/// A row is in use while a published service names it; a part of the ring pool while a row in use
/// points to it. What goes out of use is retired: a packet may still be looking at it. It is not
/// written again before [`Self::release`] was called twice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tables {
    pub(super) capacity: Capacity,
    pub(super) services: BTreeMap<ServiceKey, Service>,
    pub(super) addresses: BTreeMap<Address, u32>,
    pub(super) ports: BTreeMap<u16, Port>,
    pub(super) rows: Vec<Descriptor>,
    pub(super) slots: Vec<u16>,
    pub(super) targets: BTreeMap<u16, Target>,
    /// Since the last release, and between that and the one before.
    pub(super) retired: [Retired; 2],
}

/// What a packet may still be looking at.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Retired {
    pub(super) services: BTreeSet<u32>,
    pub(super) rows: BTreeSet<u32>,
    pub(super) rings: Vec<Descriptor>,
}

impl Tables {
    /// The maps as they are when they were just made.
    pub fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            services: BTreeMap::new(),
            addresses: BTreeMap::new(),
            ports: BTreeMap::new(),
            rows: vec![Descriptor::NO_ANSWER; capacity.rows as usize],
            slots: vec![0; capacity.ring_slots as usize],
            targets: BTreeMap::new(),
            retired: Default::default(),
        }
    }

    /// The published services.
    pub fn services(&self) -> impl Iterator<Item = (ServiceKey, Service)> {
        self.services.iter().map(|(key, service)| (*key, *service))
    }

    /// The targets whose id is not free.
    pub fn targets(&self) -> impl Iterator<Item = (u16, &Target)> {
        self.targets.iter().map(|(id, target)| (*id, target))
    }

    /// The id of a target.
    pub fn target_id(&self, key: &TargetKey) -> Option<u16> {
        let (identity, group) = (key.hash(), group_id(&key.group));
        self.targets()
            .find(|(_, target)| target.identity == identity && target.group == group)
            .map(|(id, _)| id)
    }

    /// The target ids in the slots of the ring that a row points to; empty if it has no answer.
    pub fn ring(&self, row: u32) -> &[u16] {
        let ring = self.row(row);
        let start = ring.offset() as usize;
        &self.slots[start..start + ring.length() as usize]
    }

    /// What [`super::Kernel::execute`] does to the maps, done to the mirror.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::FreeTarget { id } => {
                self.targets.remove(id);
            }
            Change::PointRow { row, descriptor } => {
                let old = self.row(*row);
                if self.in_use(*row) {
                    self.retire(old);
                }
                self.rows[*row as usize] = *descriptor;
            }
            Change::PutService { key, service } => {
                if let Some(old) = self.services.insert(*key, *service) {
                    self.leave(old.row.first());
                }
            }
            Change::RemoveService { key } => {
                if let Some(old) = self.services.remove(key) {
                    self.retired[0].services.insert(old.id);
                    self.leave(old.row.first());
                }
            }
            Change::SetAddress { address, services } => {
                set(&mut self.addresses, *address, *services)
            }
            Change::SetPort { port, services } => set(&mut self.ports, *port, *services),
            Change::SetTarget { id, target } => {
                self.targets.insert(*id, *target);
            }
            Change::WriteSlots { offset, slots } => {
                let start = *offset as usize;
                self.slots[start..start + slots.len()].copy_from_slice(slots);
            }
        }
    }

    /// Makes free what was retired before the last call. To be called every turn: what was retired
    /// rests for at least one, and packets take microseconds.
    pub fn release(&mut self) {
        let [recent, rested] = &mut self.retired;
        *rested = std::mem::take(recent);
    }

    /// The ring that a row points to. One that is not in the pool, which only a foreign hand can have
    /// written, is none.
    pub(super) fn row(&self, row: u32) -> Descriptor {
        let ring = self.rows.get(row as usize).copied().unwrap_or_default();
        let end = u64::from(ring.offset()) + u64::from(ring.length());
        let whole = ring.offset().is_multiple_of(CHUNK as u32);
        if whole && end <= self.slots.len() as u64 {
            ring
        } else {
            Descriptor::NO_ANSWER
        }
    }

    /// The rows that services name.
    pub(super) fn rows_in_use(&self) -> BTreeSet<u32> {
        self.services
            .values()
            .map(|service| service.row.first())
            .collect()
    }

    /// The rings that packets find.
    pub(super) fn rings_in_use(&self) -> impl Iterator<Item = Descriptor> {
        self.rows_in_use().into_iter().map(|row| self.row(row))
    }

    /// The ids that packets may still be looking at, without a service.
    pub(super) fn retired_services(&self) -> BTreeSet<u32> {
        let ids = self.retired.iter().flat_map(|retired| &retired.services);
        ids.copied().collect()
    }

    /// The rows that packets may still be looking at, without a service.
    pub(super) fn retired_rows(&self) -> BTreeSet<u32> {
        let rows = self.retired.iter().flat_map(|retired| &retired.rows);
        rows.copied().collect()
    }

    /// The rings that packets may still be looking at, without a row.
    pub(super) fn retired_rings(&self) -> impl Iterator<Item = Descriptor> {
        self.retired
            .iter()
            .flat_map(|retired| retired.rings.iter().copied())
    }

    /// Every target id in a slot that a packet may be looking at.
    pub(super) fn visible_targets(&self) -> BTreeSet<u16> {
        self.rings_in_use()
            .chain(self.retired_rings())
            .flat_map(|ring| &self.slots[Extent::of(ring).slots()])
            .copied()
            .collect()
    }

    fn in_use(&self, row: u32) -> bool {
        self.services
            .values()
            .any(|service| service.row.first() == row)
    }

    fn leave(&mut self, row: u32) {
        if !self.in_use(row) {
            self.retired[0].rows.insert(row);
            self.retire(self.row(row));
        }
    }

    fn retire(&mut self, ring: Descriptor) {
        if ring != Descriptor::NO_ANSWER {
            self.retired[0].rings.push(ring);
        }
    }
}

fn set<K: Ord, V: Default + PartialEq>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    if value == V::default() {
        map.remove(&key);
    } else {
        map.insert(key, value);
    }
}
