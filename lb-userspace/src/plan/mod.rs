//! What another configuration would change: for which clients, and from what to what. Pure.

mod fates;
mod overlay;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use num_bigint::BigInt;
use num_traits::{One as _, ToPrimitive as _, Zero as _};
use serde::{Deserialize, Serialize};

use self::{
    fates::Fates,
    overlay::{Addresses, Overlay},
};
use crate::{
    class::Clients,
    model::{Model, Name, Prefix, Service, Share, changes, family, needs_restart},
    policy::{Destination, Parts, Scene},
    refusal::Problem,
};

/// Moves of a service that are told one by one.
const MOST_MOVES: usize = 20;

/// A configuration, the classes of its clients, and what is known or assumed of its members.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The configuration.
    pub model: &'a Model,
    /// The classes that follow from it.
    pub clients: &'a Clients,
    /// Its groups, with overrides where there are some, and the states of their members.
    pub scene: Scene<'a>,
}

/// What becomes different when one configuration takes the place of another.
///
/// As JSON it is what `plan --format json` prints.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Plan {
    /// Services, groups, backends and settings that differ, one line each.
    pub changes: Vec<String>,
    /// Settings that differ and take effect only when the daemon is started anew: a reload is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart: Vec<String>,
    /// Why the daemon would refuse the file otherwise, which it fills in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Problem>,
    /// The services some of whose clients get something else, by name.
    pub services: Vec<ServicePlan>,
    /// The backends whose part of a service changes, and those that go, by name.
    pub backends: Vec<BackendPlan>,
    /// Members, as `group/name`, that nobody has observed yet: they are assumed to be up and as fast as
    /// the fastest of their group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed_up: Vec<String>,
}

/// A service whose clients get something else.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ServicePlan {
    /// Its name.
    pub service: Name,
    /// Whether it is there before and after.
    pub change: ServiceChange,
    /// The family of its address: `IPv4` or `IPv6`.
    pub family: String,
    /// The part of all addresses of that family whose clients get something else, exactly.
    pub part: String,
    /// The same, from 0 to 1.
    pub part_value: f64,
    /// From what to what, the largest part of the addresses first; the first ones of many.
    pub moves: Vec<Move>,
    /// How many moves more there are.
    pub more: usize,
}

/// Whether a service is there before and after.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceChange {
    /// Only after.
    Added,
    /// Before and after.
    Changed,
    /// Only before.
    Removed,
}

/// Clients of a service that together get something else.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Move {
    /// Their part of all addresses of the family, exactly.
    pub part: String,
    /// The same, from 0 to 1.
    pub part_value: f64,
    /// The first of the largest prefixes that they have.
    pub sample: String,
    /// What they get before; nothing if the service is added.
    pub from: Option<Distribution>,
    /// What they get after; nothing if the service is removed.
    pub to: Option<Distribution>,
}

/// Parts of new flows, exactly; they sum to 1.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Distribution {
    /// Those that backends get.
    pub shares: BTreeMap<Name, String>,
    /// Those that get an answer instead: `drop`, `pass` or `reject`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
}

/// A backend whose part changes, or that goes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct BackendPlan {
    /// Its name.
    pub backend: Name,
    /// Live flows that it holds now, which the daemon fills in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// What it has of the services whose part of it changes.
    pub services: Vec<Load>,
}

/// A backend's part of a service's new flows, over all addresses of the family: from 0 to 1, all
/// addresses alike.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Load {
    /// The service.
    pub service: Name,
    /// The part before.
    pub before: f64,
    /// The part after.
    pub after: f64,
}

impl Plan {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.restart.is_empty() && self.services.is_empty()
    }
}

/// What becomes different when `new` takes the place of `old`. Services are the same if they have the
/// same name and family, backends if they have the same name.
pub fn plan(old: &Side<'_>, new: &Side<'_>) -> Plan {
    let overlay = Overlay::of(old.clients.partition(), new.clients.partition());
    let (before, after) = (Fates::of(*old), Fates::of(*new));
    let mut services = Vec::new();
    let mut loads = BTreeMap::new();
    for [was, is] in pairs(old.model, new.model) {
        let Some(service) = was.or(is) else { continue };
        let clients = overlay.of_family(service.address.is_ipv4());
        let mut moved = Moved::default();
        for (classes, addresses) in clients {
            let from = was.map(|it| before.of_class(it, classes.0));
            let to = is.map(|it| after.of_class(it, classes.1));
            moved.add(from, to, addresses);
        }
        moved.loads(&service.name, clients.total(), &mut loads);
        services.extend(moved.plan(service, was.is_some(), is.is_some(), clients.total()));
    }
    let gone = old.model.backends.keys();
    let gone = gone.filter(|it| !new.model.backends.contains_key(*it));
    let concerned: BTreeSet<&Name> = loads.keys().chain(gone).collect();
    let backends = concerned.into_iter().map(|backend| BackendPlan {
        backend: backend.clone(),
        flows: None,
        services: loads.get(backend).cloned().unwrap_or_default(),
    });
    let restart = needs_restart(old.model, new.model);
    Plan {
        changes: changes(old.model, new.model),
        restart: restart.iter().map(|it| format!("edge.{it}")).collect(),
        refused: None,
        backends: backends.collect(),
        services,
        assumed_up: Vec::new(),
    }
}

/// The services of both, each with itself; one whose family changes is two.
fn pairs<'a>(old: &'a Model, new: &'a Model) -> Vec<[Option<&'a Service>; 2]> {
    let names: BTreeSet<&Name> = old.services.keys().chain(new.services.keys()).collect();
    let mut pairs = Vec::new();
    for name in names {
        match (old.services.get(name), new.services.get(name)) {
            (Some(was), Some(is)) if was.address.is_ipv4() != is.address.is_ipv4() => {
                pairs.extend([[Some(was), None], [None, Some(is)]]);
            }
            (was, is) => pairs.push([was, is]),
        }
    }
    pairs
}

type Fate = Option<Rc<Parts>>;

/// What clients of a service get before and after, with their addresses.
#[derive(Default)]
struct Moved(BTreeMap<(Fate, Fate), Addresses>);

impl Moved {
    fn add(&mut self, from: Fate, to: Fate, addresses: &Addresses) {
        let known = self.0.entry((from, to));
        known
            .and_modify(|it| it.join(addresses))
            .or_insert_with(|| addresses.clone());
    }

    /// Adds what each backend has of the service, if that changes.
    fn loads(&self, service: &Name, total: &BigInt, loads: &mut BTreeMap<Name, Vec<Load>>) {
        let mut sums: BTreeMap<&Name, [Share; 2]> = BTreeMap::new();
        for ((from, to), addresses) in &self.0 {
            let part = Share::new(addresses.count.clone(), total.clone());
            for (side, fate) in [from, to].into_iter().enumerate() {
                for (destination, share) in fate.iter().flat_map(|it| it.iter()) {
                    if let Destination::Backend(backend) = destination {
                        let sum = sums.entry(backend).or_default();
                        sum[side] += &part * share;
                    }
                }
            }
        }
        for (backend, [before, after]) in sums {
            if before != after {
                loads.entry(backend.clone()).or_default().push(Load {
                    service: service.clone(),
                    before: value(&before),
                    after: value(&after),
                });
            }
        }
    }

    /// What of it is to be told: nothing if all clients get what they got.
    fn plan(self, service: &Service, was: bool, is: bool, total: &BigInt) -> Option<ServicePlan> {
        let mut changed: Vec<_> = self.0.into_iter().collect();
        changed.retain(|((from, to), _)| from != to);
        if changed.is_empty() {
            return None;
        }
        changed.sort_by_cached_key(|(_, it)| (Reverse(it.count.clone()), it.sample));
        let part = |count: &BigInt| Share::new(count.clone(), total.clone());
        let all: Share = changed.iter().map(|(_, it)| part(&it.count)).sum();
        let told = changed.iter().take(MOST_MOVES);
        let told = told.map(|((from, to), addresses)| {
            let part = part(&addresses.count);
            let sample = addresses.sample;
            let everybody = Prefix::around(sample.first(), 0).filter(|_| part.is_one());
            Move {
                part: part.to_string(),
                part_value: value(&part),
                sample: everybody.unwrap_or(sample).to_string(),
                from: from.as_deref().map(Distribution::of),
                to: to.as_deref().map(Distribution::of),
            }
        });
        Some(ServicePlan {
            service: service.name.clone(),
            change: match (was, is) {
                (false, _) => ServiceChange::Added,
                (true, false) => ServiceChange::Removed,
                (true, true) => ServiceChange::Changed,
            },
            family: family(service.address).to_owned(),
            part: all.to_string(),
            part_value: value(&all),
            moves: told.collect(),
            more: changed.len().saturating_sub(MOST_MOVES),
        })
    }
}

impl Distribution {
    fn of(parts: &Parts) -> Self {
        let mut distribution = Self::default();
        for (destination, share) in parts.iter().filter(|(_, share)| !share.is_zero()) {
            let share = share.to_string();
            match destination {
                Destination::Backend(name) => distribution.shares.insert(name.clone(), share),
                Destination::Answer(answer) => {
                    let answer = answer.as_str().to_owned();
                    distribution.answers.insert(answer, share)
                }
            };
        }
        distribution
    }
}

fn value(share: &Share) -> f64 {
    share.to_f64().unwrap_or_default()
}
