use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Address, Port, Row, Service, ServiceGroup, ServiceKey};

use super::{DoesNotFit, Scope};
use crate::{
    dataplane::{Change, Tables},
    table::{ServiceSpec, group_id},
};

pub(super) struct Plan {
    /// Services that end, and what only they used.
    pub(super) withdraw: Vec<Change>,
    /// Groups that may serve a service, before some ring names their targets for it.
    pub(super) allow: Vec<Change>,
    /// Services that look classes up and go to another row; to be done before classes are numbered
    /// anew.
    pub(super) move_away: Vec<Change>,
    /// What new services use, and then they themselves.
    pub(super) publish: Vec<Change>,
}

pub(super) fn plan(
    tables: &Tables,
    scope: &Scope<'_>,
    rows: &BTreeMap<ServiceKey, Row>,
) -> Result<Plan, DoesNotFit> {
    let wanted = |key: &ServiceKey| scope.staying.contains(key) || scope.services.contains_key(key);
    let (kept, ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
        tables.services().partition(|(key, _)| wanted(key));
    let used: BTreeSet<u32> = tables.services.values().map(|service| service.id).collect();
    let resting = tables.retired_services();
    let with_groups = tables.service_groups.iter().map(|other| other.service);
    let with_groups: BTreeSet<u32> = with_groups.collect();
    let is_free =
        |id: &u32| !used.contains(id) && !resting.contains(id) && !with_groups.contains(id);
    let mut free = (0..tables.capacity.services).filter(is_free);
    let (mut allowed, mut move_away, mut publish) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut all = kept.clone();
    for (key, spec) in &scope.services {
        let old = kept.get(key);
        let service = Service {
            address: key.address,
            group: group_id(&spec.group),
            id: old
                .map(|old| old.id)
                .filter(|id| *id < tables.capacity.services)
                .or_else(|| free.next())
                .ok_or_else(|| too_many(tables, scope))?,
            row: rows[key],
        };
        all.insert(*key, service);
        allowed.extend(other_groups(spec, &service, old));
        if old != Some(&service) {
            let looks_up = old.is_some_and(|old| old.row.classes() > 1);
            let phase = if looks_up {
                &mut move_away
            } else {
                &mut publish
            };
            phase.push(Change::PutService { key: *key, service });
        }
    }
    let allow = allow(tables, &allowed)?;
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
    publish.extend(between.changes(&then));
    Ok(Plan {
        withdraw,
        allow,
        move_away,
        publish,
    })
}

/// The groups besides its own whose targets may serve a service: those of its rules, and when its own
/// changes that of its running flows, and both for packets that meet half of the change.
fn other_groups(
    spec: &ServiceSpec,
    service: &Service,
    old: Option<&Service>,
) -> impl Iterator<Item = ServiceGroup> {
    let own = service.group;
    let of_rules = spec
        .groups()
        .map(group_id)
        .filter(move |group| *group != own);
    let before = old.map(|old| old.group).filter(move |group| *group != own);
    let both = before.map(|before| [before, own]);
    let service = service.id;
    let allowed = of_rules.chain(both.into_iter().flatten());
    allowed.map(move |group| ServiceGroup { service, group })
}

fn allow(tables: &Tables, allowed: &BTreeSet<ServiceGroup>) -> Result<Vec<Change>, DoesNotFit> {
    let size = tables.capacity.service_groups as usize;
    let needed = tables.service_groups.union(allowed).count();
    if allowed.len() > size {
        let needed = allowed.len();
        return Err(DoesNotFit::ServiceGroups { needed, size });
    }
    if needed > size {
        return Err(DoesNotFit::NotYet {
            map: "SERVICE_GROUPS",
            needed,
            size,
            when: "when flows to groups that no longer serve have ended",
        });
    }
    let new = allowed.difference(&tables.service_groups);
    Ok(new.copied().map(Change::AllowGroup).collect())
}

fn too_many(tables: &Tables, scope: &Scope<'_>) -> DoesNotFit {
    let needed = scope.services.len() + scope.staying.len();
    let size = tables.capacity.services as usize;
    if needed <= size {
        return DoesNotFit::NotYet {
            map: "TABLES",
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
