mod retired;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use lb_common::{
    Address, Affinity, CHUNK, Descriptor, FormerRing, LONG_NETWORKS, Port, Row, SERVICE_COUNT,
    Service, ServiceGroup, ServiceKey, TARGET_COUNT, Target, V6_PREFIXES,
};

use self::retired::Retired;
use super::{Change, pool::Extent};
use crate::table::{ClassTable, TargetKey, group_id};

/// Sizes of the maps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Capacity {
    /// Targets; the first is never used.
    pub targets: u32,
    /// Slots of the ring pool.
    pub ring_slots: u32,
    /// Elements of RINGS.
    pub rows: u32,
    /// Services, and elements of ADDRESSES.
    pub services: u32,
    /// Elements of SERVICE_GROUPS.
    pub service_groups: u32,
    /// Elements of CLIENTS_V4_LONG for one buffer.
    pub long_networks: u32,
    /// Elements of CLIENTS_V6_0, and of CLIENTS_V6_1.
    pub v6_prefixes: u32,
}

impl Capacity {
    /// The sizes with a ring pool of `ring_slots`, rounded down to whole chunks; the others are
    /// fixed.
    pub fn new(ring_slots: u32) -> Self {
        let chunk = CHUNK as u32;
        Self {
            targets: TARGET_COUNT as u32,
            ring_slots: ring_slots / chunk * chunk,
            rows: 1 << 17,
            services: SERVICE_COUNT as u32,
            service_groups: 16 * 1024,
            long_networks: LONG_NETWORKS,
            v6_prefixes: V6_PREFIXES,
        }
    }
}

/// A mirror of what the maps hold, with the ids and places in use there.
///
/// A class is in use while some client has its number; a row while a published service names it; a
/// part of the ring pool while a row in use points to it for a class in use, or did before it changed and
/// that counts. What goes out of use is retired: a packet may still be looking at it. It is not
/// written again before [`Self::release`] was called twice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tables {
    pub(super) capacity: Capacity,
    pub(super) services: BTreeMap<ServiceKey, Service>,
    pub(super) addresses: BTreeMap<Address, u32>,
    pub(super) ports: BTreeMap<u16, Port>,
    pub(super) rows: Vec<Descriptor>,
    /// What rows showed before they changed, by their indices, as long as that counts.
    pub(super) formers: BTreeMap<u32, FormerRing>,
    pub(super) slots: Vec<u16>,
    pub(super) targets: BTreeMap<u16, Target>,
    /// The groups whose targets may serve a service besides its own.
    pub(super) service_groups: BTreeSet<ServiceGroup>,
    /// What the buffer of client prefixes says that is in use.
    pub(super) clients: Arc<ClassTable>,
    /// Which buffer that is, 0 or 1.
    pub(super) buffer: u32,
    /// What was written to the other one, to be put into use.
    pub(super) next_clients: Option<Arc<ClassTable>>,
    /// Since the last release, and between that and the one before.
    pub(super) retired: [Retired; 2],
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
            formers: BTreeMap::new(),
            slots: vec![0; capacity.ring_slots as usize],
            targets: BTreeMap::new(),
            service_groups: BTreeSet::new(),
            clients: Arc::default(),
            buffer: 0,
            next_clients: None,
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

    /// The target of an id; none if that is free.
    pub fn target(&self, id: u16) -> Option<&Target> {
        self.targets.get(&id)
    }

    /// The id of a target.
    pub fn target_id(&self, key: &TargetKey) -> Option<u16> {
        let (identity, group) = (key.hash(), group_id(&key.group));
        self.targets()
            .find(|(_, target)| target.identity == identity && target.group == group)
            .map(|(id, _)| id)
    }

    /// The groups whose targets may serve a published service.
    pub fn groups(&self) -> BTreeSet<u32> {
        let own = self.services.values().map(|service| service.group);
        let others = self.service_groups.iter().map(|other| other.group);
        own.chain(others).collect()
    }

    /// The class numbers of clients, as packets find them.
    pub fn clients_in_use(&self) -> &ClassTable {
        &self.clients
    }

    /// Class number and descriptor that the packets of a client find for a published service.
    pub fn row_for(&self, key: &ServiceKey, client: IpAddr) -> Option<(u32, Descriptor)> {
        let row = self.services.get(key)?.row;
        let classes = row.classes().max(1);
        let class = match classes {
            1 => 0,
            _ => self.clients.class_of(client).into(),
        };
        (class < classes).then(|| (class, self.row(row.first().saturating_add(class))))
    }

    /// The target ids in the slots of the ring that a row points to; empty if it has no answer.
    pub fn ring(&self, row: u32) -> &[u16] {
        self.slots_of(self.row(row))
    }

    /// The target ids in the slots of a ring that [`Self::row`] gave.
    pub(super) fn slots_of(&self, ring: Descriptor) -> &[u16] {
        let start = ring.first_slot() as usize;
        &self.slots[start..start + ring.length() as usize]
    }

    /// How the clients of a ring that [`Self::row`] gave are pinned.
    pub(super) fn affinity_of(&self, ring: Descriptor) -> Affinity {
        match ring.has_head() {
            true => Affinity::of_head(&self.slots[Extent::of(ring).slots()]),
            false => Affinity::NONE,
        }
    }

    /// How the clients of services are pinned, by [`lb_common::PinKey::realm`].
    pub(super) fn affinities(&self) -> BTreeMap<(ServiceKey, u32), Affinity> {
        let of_service = |(key, service): (ServiceKey, Service)| {
            let rings = self.rings_of(service.row);
            let affinities = rings.map(|ring| self.affinity_of(ring));
            let some = affinities.filter(|affinity| affinity.is_some());
            some.map(move |affinity| ((key, affinity.realm()), affinity))
        };
        self.services().flat_map(of_service).collect()
    }

    /// What [`super::Kernel::execute`] does to the maps, done to the mirror.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::AllowGroup(allowed) => {
                self.service_groups.insert(*allowed);
            }
            Change::ForbidGroup(forbidden) => {
                self.service_groups.remove(forbidden);
            }
            Change::FreeTarget { id } => {
                self.targets.remove(id);
            }
            Change::PointRow { row, descriptor } => {
                let old = self.row(*row);
                let mut services = self.services.values();
                if services.any(|service| self.is_seen(service.row, *row)) {
                    self.retire(old);
                }
                self.rows[*row as usize] = *descriptor;
            }
            Change::PutService { key, service } => {
                if let Some(old) = self.services.insert(*key, *service) {
                    self.leave(old.row);
                }
            }
            Change::RemoveService { key } => {
                if let Some(old) = self.services.remove(key) {
                    self.retired[0].services.insert(old.id);
                    self.leave(old.row);
                }
            }
            Change::SelectClients { buffer } => self.select(*buffer),
            Change::SetAddress { address, services } => {
                set(&mut self.addresses, *address, *services)
            }
            Change::SetFormer { row, former } => self.set_former(*row, *former),
            Change::SetPort { port, services } => set(&mut self.ports, *port, *services),
            Change::SetTarget { id, target } => {
                self.targets.insert(*id, *target);
            }
            Change::WriteClients { table, .. } => self.next_clients = Some(table.clone()),
            Change::WriteSlots { offset, slots } => {
                let start = *offset as usize;
                self.slots[start..start + slots.len()].copy_from_slice(slots);
            }
        }
    }

    /// The ring that a row points to, or what it says instead. A ring that is not in the pool, which
    /// only a foreign hand can have written, is none.
    pub(super) fn row(&self, row: u32) -> Descriptor {
        self.placed(self.rows.get(row as usize).copied().unwrap_or_default())
    }

    /// A descriptor, unless it is of a ring that is not in the pool.
    pub(super) fn placed(&self, ring: Descriptor) -> Descriptor {
        if ring.answer().is_some() {
            return ring;
        }
        let end = u64::from(ring.first_slot()) + u64::from(ring.length());
        let whole = ring.offset().is_multiple_of(CHUNK as u32);
        let has_rows = ring.columns() <= ring.length();
        if whole && has_rows && end <= self.slots.len() as u64 {
            ring
        } else {
            Descriptor::NO_ANSWER
        }
    }

    /// The group of a ring's targets.
    pub(super) fn group_of(&self, ring: Descriptor) -> Option<u32> {
        let target = |id| self.targets.get(id);
        let first = self.slots_of(ring).iter().find_map(target);
        first.map(|target| target.group)
    }

    /// The rows that services name, each once.
    pub(super) fn rows_in_use(&self) -> Vec<Row> {
        let rows = self.services.values().map(|service| service.row);
        let by_place: BTreeMap<_, _> = rows
            .map(|row| ((row.first(), row.classes()), row))
            .collect();
        by_place.into_values().collect()
    }

    /// Where in a row packets look: class numbers with indices in RINGS.
    pub(super) fn seen_places(&self, row: Row) -> impl Iterator<Item = (u16, u32)> {
        let told_apart = row.classes() > 1;
        let all = (!told_apart).then_some(0);
        let numbers = self.clients_in_use().numbers().iter().copied();
        let numbers =
            numbers.filter(move |number| told_apart && u32::from(*number) < row.classes());
        let place = move |number: u16| (number, row.first().saturating_add(number.into()));
        all.into_iter().chain(numbers).map(place)
    }

    /// The rings that packets find, each once.
    pub(super) fn rings_in_use(&self) -> impl Iterator<Item = Descriptor> {
        let rows = self.rows_in_use().into_iter();
        let rings = rows.flat_map(|row| self.rings_of(row));
        let rings = rings.map(|ring| (ring.offset(), ring));
        rings.collect::<BTreeMap<_, _>>().into_values()
    }

    /// The rings that packets find by a row.
    pub(super) fn rings_of(&self, row: Row) -> impl Iterator<Item = Descriptor> {
        let rings = self.seen_places(row).map(|(_, place)| self.row(place));
        rings.filter(|ring| ring.length() > 0)
    }

    /// Every target id in a slot that a packet may be looking at.
    pub(super) fn visible_targets(&self) -> BTreeSet<u16> {
        self.rings_in_use()
            .chain(self.rings_out_of_use())
            .flat_map(|ring| self.slots_of(ring))
            .copied()
            .collect()
    }

    /// Whether packets find the element `place` of RINGS by a row.
    fn is_seen(&self, row: Row, place: u32) -> bool {
        let number = place.checked_sub(row.first());
        number.is_some_and(|number| match row.classes() {
            0 | 1 => number == 0,
            classes => {
                let number = u16::try_from(number)
                    .ok()
                    .filter(|it| u32::from(*it) < classes);
                number.is_some_and(|it| self.clients_in_use().numbers().contains(&it))
            }
        })
    }
}

fn set<K: Ord, V: Default + PartialEq>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    if value == V::default() {
        map.remove(&key);
    } else {
        map.insert(key, value);
    }
}
