use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Address, Service, ServiceKey, port_bit};

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
    let used: BTreeSet<u32> = kept.values().map(|service| service.id).collect();
    let mut free = (0..tables.capacity.services).filter(|id| !used.contains(id));
    let mut put = Vec::new();
    let mut all = kept.clone();
    for (key, group) in &scope.services {
        let old = kept.get(key);
        let needed = scope.services.len() + scope.staying.len();
        let size = tables.capacity.services as usize;
        let service = Service {
            group: group_id(group),
            row: rows[group],
            id: old
                .map(|old| old.id)
                .filter(|id| *id < tables.capacity.services)
                .or_else(|| free.next())
                .ok_or(DoesNotFit::Services { needed, size })?,
        };
        all.insert(*key, service);
        if old != Some(&service) {
            put.push(Change::PutService { key: *key, service });
        }
    }
    let now = Uses::of(tables.addresses.clone(), tables.ports.clone());
    let between = Uses::by(kept.keys());
    let then = Uses::by(all.keys());
    let mut withdraw: Vec<_> = ended
        .into_keys()
        .map(|key| Change::RemoveService { key })
        .collect();
    withdraw.extend(now.changes(&between));
    let mut publish: Vec<_> = between.changes(&then).collect();
    publish.extend(put);
    Ok(Plan { withdraw, publish })
}

/// The addresses and ports of some services.
struct Uses {
    addresses: BTreeMap<Address, u32>,
    ports: BTreeMap<u16, u64>,
}

impl Uses {
    fn of(addresses: BTreeMap<Address, u32>, ports: BTreeMap<u16, u64>) -> Self {
        Self { addresses, ports }
    }

    fn by<'a>(services: impl Iterator<Item = &'a ServiceKey>) -> Self {
        let mut uses = Self::of(BTreeMap::new(), BTreeMap::new());
        for key in services {
            *uses.addresses.entry(key.address).or_default() += 1;
            *uses.ports.entry(u16::from_be_bytes(key.port)).or_default() |= port_bit(key.protocol);
        }
        uses
    }

    fn changes<'a>(&'a self, then: &'a Self) -> impl Iterator<Item = Change> + 'a {
        let addresses = differences(&self.addresses, &then.addresses)
            .map(|(address, services)| Change::SetAddress { address, services });
        let ports = differences(&self.ports, &then.ports)
            .map(|(port, protocols)| Change::SetPort { port, protocols });
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
