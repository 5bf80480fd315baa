use std::{
    collections::{BTreeMap, btree_map::Entry},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use lb_common::{Affinity, Answer, Descriptor, ServiceKey};

use super::Tables;
use crate::{
    model::{Identity, Prefix},
    table::{Destination, slots_hash},
};

/// A published service as packets find it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceContents {
    /// What packets are addressed to.
    pub key: ServiceKey,
    /// The number of its own group.
    pub group: u32,
    /// Its clients by class, in the order of the class numbers; those of the other family, who can not
    /// reach it, are left out.
    pub classes: Vec<ClassContents>,
}

/// A class of clients of a service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClassContents {
    /// Its number in the kernel's tables, which is not the configuration's.
    pub class: u32,
    /// Its clients, as the fewest prefixes in ascending order.
    pub clients: Arc<[Prefix]>,
    /// What becomes of their new flows.
    pub fate: Fate,
}

/// What becomes of new flows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fate {
    /// They are dropped.
    Drop,
    /// They go by a ring.
    Forward(Arc<RingContents>),
    /// There is no ring now, and nothing else is said: they are dropped.
    NoAnswer,
    /// They are left to the host.
    Pass,
    /// Their client is told that nobody serves them.
    Reject,
}

/// A ring as it stands in the pool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RingContents {
    /// Number of slots.
    pub length: usize,
    /// Slots of a row, which a client chooses; 0 where there is but one row.
    pub columns: u32,
    /// How its clients are pinned.
    pub affinity: Affinity,
    /// Its hash as elsewhere: of the destinations in its slots. None: a slot names no target.
    pub hash: Option<u64>,
    /// The number of the group that its targets are of.
    pub group: Option<u32>,
    /// Slots by what is in them: a target id, or an answer as [`lb_common::Answer::slot`].
    pub slots: BTreeMap<u16, usize>,
}

impl Tables {
    /// What packets of new flows find: for each published service its classes, their clients and
    /// rings. Services come in the order of their addresses and ports.
    pub fn contents(&self) -> Vec<ServiceContents> {
        let clients = self.clients_in_use();
        let families = [clients.clients_v4(), clients.clients_v6()];
        let families = families.map(|family| {
            let family = family.into_iter();
            let shared = family.map(|(class, clients)| (class, Arc::from(clients)));
            shared.collect::<BTreeMap<u16, Arc<[Prefix]>>>()
        });
        let mut rings = BTreeMap::new();
        let service = |(key, service): (ServiceKey, lb_common::Service)| {
            let everybody = everybody(key);
            let of_family = &families[usize::from(!key.address.is_v4())];
            let clients_of = |class| match service.row.classes() {
                0 | 1 => Some(everybody.clone()),
                _ => of_family.get(&class).cloned(),
            };
            let places = self.seen_places(service.row);
            let classes = places.filter_map(|(class, place)| {
                Some(ClassContents {
                    class: class.into(),
                    clients: clients_of(class)?,
                    fate: self.fate(self.row(place), &mut rings),
                })
            });
            ServiceContents {
                key,
                group: service.group,
                classes: classes.collect(),
            }
        };
        self.services().map(service).collect()
    }

    fn fate(
        &self,
        descriptor: Descriptor,
        rings: &mut BTreeMap<(u32, u32), Arc<RingContents>>,
    ) -> Fate {
        match (descriptor.answer(), descriptor) {
            (Some(Answer::REJECT), _) => Fate::Reject,
            (Some(Answer::PASS), _) => Fate::Pass,
            (Some(_), _) => Fate::Drop,
            (None, ring) if ring.length() == 0 => Fate::NoAnswer,
            (None, ring) => Fate::Forward(match rings.entry((ring.offset(), ring.length())) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => place.insert(Arc::new(self.ring_at(ring))).clone(),
            }),
        }
    }

    fn ring_at(&self, ring: Descriptor) -> RingContents {
        let slots = self.slots_of(ring);
        let mut counts = BTreeMap::new();
        for id in slots {
            *counts.entry(*id).or_default() += 1;
        }
        let destination = |id: &u16| Some((*id, self.destination(*id)?));
        let destinations: BTreeMap<_, _> = counts.keys().filter_map(destination).collect();
        let is_whole = destinations.len() == counts.len();
        let all = slots.iter().filter_map(|id| destinations.get(id)).copied();
        RingContents {
            length: slots.len(),
            columns: ring.columns(),
            affinity: self.affinity_of(ring),
            hash: is_whole.then(|| slots_hash(ring.columns(), all)),
            group: self.group_of(ring),
            slots: counts,
        }
    }

    /// Where what is in a slot leads; none if it names no target.
    fn destination(&self, slot: u16) -> Option<Destination> {
        if let Some(answer) = Answer::of_slot(slot) {
            return Some(Destination::Answer(answer));
        }
        Identity::of(self.targets.get(&slot)?).map(Destination::Backend)
    }
}

/// All clients of a service's family.
fn everybody(service: ServiceKey) -> Arc<[Prefix]> {
    let lowest = match IpAddr::from(service.address) {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Prefix::around(lowest, 0).into_iter().collect()
}
