use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Address, Port, Row, Service, ServiceKey};

use super::{DoesNotFit, Scope};
use crate::{
    dataplane::{Change, Tables},
    model::Name,
    table::group_id,
};

pub(super) struct Plan {
    /// Services that end, and what only they used.
    pub(super) withdraw: Vec<Change>,
    /// What new services use, and then they themselves.
    pub(super) publish: Vec<Change>,
}

pub(super) fn plan(
    tables: &Tables,
    scope: &Scope<'_>,
    rows: &BTreeMap<&Name, u32>,
) -> Result<Plan, DoesNotFit> {
    let wanted = |key: &ServiceKey| scope.staying.contains(key) || scope.services.contains_key(key);
    let (kept, ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
        tables.services().partition(|(key, _)| wanted(key));
    let used: BTreeSet<u32> = tables.services.values().map(|service| service.id).collect();
    let resting = tables.retired_services();
    let is_free = |id: &u32| !used.contains(id) && !resting.contains(id);
    let mut free = (0..tables.capacity.services).filter(is_free);
    let mut put = Vec::new();
    let mut all = kept.clone();
    for (key, group) in &scope.services {
        let old = kept.get(key);
        let service = Service {
            address: key.address,
            group: group_id(group),
            id: old
                .map(|old| old.id)
                .filter(|id| *id < tables.capacity.services)
                .or_else(|| free.next())
                .ok_or_else(|| too_many(tables, scope))?,
            row: Row::new(rows[group], 1),
        };
        all.insert(*key, service);
        if old != Some(&service) {
            put.push(Change::PutService { key: *key, service });
        }
    }
    let now = Uses {
        addresses: tables.addresses.clone(),
        ports: tables.ports.clone(),
    };
    let between = Uses::by(&kept);
    let then = Uses::by(&all);
    let mut withdraw: Vec<_> = now.changes(&between).collect();
    let removed = ended.into_keys().map(|key| Change::RemoveService { key });
    withdraw.extend(removed);
    // A service is found only when its port names it.
    let mut publish = put;
    publish.extend(between.changes(&then));
    Ok(Plan { withdraw, publish })
}

fn too_many(tables: &Tables, scope: &Scope<'_>) -> DoesNotFit {
    let needed = scope.services.len() + scope.staying.len();
    let size = tables.capacity.services as usize;
    if needed <= size {
        return DoesNotFit::NotYet {
            map: "SERVICES",
            needed: needed + tables.retired_services().len(),
            size,
            when: "a second after the last change",
        };
    }
    DoesNotFit::Services { needed, size }
}

/// The addresses and ports of some services.
struct Uses {
    addresses: BTreeMap<Address, u32>,
    ports: BTreeMap<u16, Port>,
}

impl Uses {
    fn by(services: &BTreeMap<ServiceKey, Service>) -> Self {
        let mut uses = Self {
            addresses: BTreeMap::new(),
            ports: BTreeMap::new(),
        };
        for (key, service) in services {
            *uses.addresses.entry(key.address).or_default() += 1;
            let port = uses.ports.entry(u16::from_be_bytes(key.port)).or_default();
            // Ids are below the number of services, which is below 2^16.
            let id = service.id as u16;
            *port = match port.listener(key.protocol) {
                Some((first, _)) => port.with(key.protocol, first.min(id), true),
                None => port.with(key.protocol, id, false),
            };
        }
        uses
    }

    fn changes<'a>(&'a self, then: &'a Self) -> impl Iterator<Item = Change> + 'a {
        let addresses = differences(&self.addresses, &then.addresses)
            .map(|(address, services)| Change::SetAddress { address, services });
        let ports = differences(&self.ports, &then.ports)
            .map(|(port, services)| Change::SetPort { port, services });
        addresses.chain(ports)
    }
}

/// The keys whose values differ, with the new values; what is in neither is 0.
fn differences<'a, K: Copy + Ord, V: Copy + Default + PartialEq>(
    now: &'a BTreeMap<K, V>,
    then: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (K, V)> {
    let keys: BTreeSet<K> = now.keys().chain(then.keys()).copied().collect();
    keys.into_iter().filter_map(|key| {
        let value = |map: &BTreeMap<K, V>| map.get(&key).copied().unwrap_or_default();
        (value(now) != value(then)).then(|| (key, value(then)))
    })
}
