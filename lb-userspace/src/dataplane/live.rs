use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

use lb_common::{
    Address, Bucket, Entry, FlowState, Ports, ServiceGroup, ServiceKey, TICK_SHIFT, Tuple,
};

use super::{Kernel, Tables, kernel::failed};
use crate::refusal::Refusal;

/// Live entries of the flow table, by the number of their [`FlowState`].
pub type FlowCounts = [u64; FlowState::COUNT];

/// A live flow of a client that is known, with a service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClientFlow {
    /// The client's port.
    pub port: u16,
    /// Where its packets go.
    pub target: u16,
    /// How far it has come.
    pub state: FlowState,
    /// How long ago its last packet came.
    pub idle: Duration,
}

impl ClientFlow {
    fn of(port: u16, entry: Entry, now: u32) -> Self {
        Self {
            port,
            target: entry.target(),
            state: entry.state(),
            idle: Duration::from_nanos(u64::from(entry.age(now)) << TICK_SHIFT),
        }
    }
}

/// What holds packets to targets besides the rings.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Live {
    /// Entries of the flow table by their targets; see [`Kernel::named`].
    pub flows: BTreeMap<u16, u64>,
    /// Clients that are pinned to a target, by service; each service with affinity is in it.
    pub pins: BTreeMap<ServiceKey, u64>,
    /// Flows to `full-nat` targets that are translated.
    pub translations: u64,
}

impl Kernel {
    /// What is live at the tick `now`, of the services in `tables`. Every pin and translation is asked for,
    /// which takes a second for a million.
    pub fn live(&self, tables: &Tables, now: u32) -> Result<Live, Refusal> {
        Ok(Live {
            flows: self.named(now),
            pins: self.pinned(tables, now)?,
            translations: self.translated(now)?,
        })
    }

    /// The targets that live flow entries name, with the number of entries each; see [`Self::flows`].
    pub fn named(&self, now: u32) -> BTreeMap<u16, u64> {
        let flows = self.flows(now).into_iter();
        flows
            .map(|(id, counts)| (id, counts.iter().sum()))
            .collect()
    }

    /// The targets that live flow entries name, with the number of entries each by their states.
    ///
    /// `now` is the present [`lb_common::tick`]. An entry that is being rewritten may count for its
    /// old target, its new one, or one last time after its end.
    pub fn flows(&self, now: u32) -> BTreeMap<u16, FlowCounts> {
        let mut named: BTreeMap<_, FlowCounts> = BTreeMap::new();
        let idle = self.idle();
        let (entries, _) = self.flows.words(0..self.flows.len()).as_chunks();
        for [name, life] in entries {
            let name = name.load(Ordering::Acquire);
            // Most places are free.
            if name == 0 {
                continue;
            }
            let life = life.load(Ordering::Acquire);
            let entry = Entry { name, life };
            if entry.is_live(now, &idle) {
                let counts = named.entry(entry.target()).or_default();
                counts[usize::from(entry.state().0) % FlowState::COUNT] += 1;
            }
        }
        named
    }

    /// The live flows of a client with a service, by the client's port, at the tick `now`.
    ///
    /// The flow table holds no client, so each port is looked up as for a packet from there. With a chance
    /// of 2^16 * 8 / 2^48 one of them is another's, if the table is full. From 2^17 buckets on the bits that
    /// choose the bucket reach into those of the fingerprint: each that does doubles the chance.
    pub fn client_flows(
        &self,
        tables: &Tables,
        client: Address,
        service: &ServiceKey,
        now: u32,
    ) -> Vec<ClientFlow> {
        let control = self.tables.control.load(0);
        let flow = |port| {
            let tuple = Tuple {
                client,
                service: service.address,
                ports: Ports::new(port, u16::from_be_bytes(service.port)),
                protocol: service.protocol,
            };
            let [first, second] = tuple.flow_hashes(&control.flow_keys);
            let Bucket(ways) = self.flows.load(first & (self.flows.len() - 1));
            let name = Entry::name(first, second, 0);
            let entry = ways
                .into_iter()
                .find(|it| Entry::same_flow(it.name, name))?;
            let is_wanted = entry.is_live(now, &control.idle) && leads(tables, service, entry);
            is_wanted.then(|| ClientFlow::of(port, entry, now))
        };
        (0..=u16::MAX).filter_map(flow).collect()
    }

    fn translated(&self, now: u32) -> Result<u64, Refusal> {
        let idle = self.idle();
        let mut live = 0;
        for pair in self.translations.iter() {
            let (_, translation) = pair.map_err(|e| failed("TRANSLATIONS", e))?;
            live += u64::from(translation.is_live(now, &idle));
        }
        Ok(live)
    }

    fn pinned(&self, tables: &Tables, now: u32) -> Result<BTreeMap<ServiceKey, u64>, Refusal> {
        let affinities = tables.affinities();
        let mut pinned: BTreeMap<_, _> = affinities.keys().map(|(key, _)| (*key, 0)).collect();
        if affinities.is_empty() {
            return Ok(pinned);
        }
        for pair in self.pins.iter() {
            let (key, pin) = pair.map_err(|e| failed("AFFINITY_PINS", e))?;
            let affinity = affinities.get(&(key.service, key.realm));
            if affinity.is_some_and(|affinity| pin.is_live(now, *affinity)) {
                *pinned.entry(key.service).or_default() += 1;
            }
        }
        Ok(pinned)
    }
}

/// Whether packets of a service follow the entry: if not, it is another flow's.
fn leads(tables: &Tables, service: &ServiceKey, entry: Entry) -> bool {
    let service = tables.services.get(service);
    let target = tables.target(entry.target());
    let (Some(service), Some(target)) = (service, target) else {
        return false;
    };
    let other = ServiceGroup {
        service: service.id,
        group: target.group,
    };
    target.group == service.group || tables.service_groups.contains(&other)
}

#[cfg(test)]
mod tests {
    use lb_common::{Protocol, Row, Service, Target};

    use super::*;
    use crate::dataplane::Capacity;

    #[test]
    fn an_entry_is_of_a_service_whose_packets_may_follow_it() {
        let address = Address::v4([203, 0, 113, 10]);
        let key = ServiceKey::new(address, 80_u16.to_be_bytes(), Protocol::TCP);
        let service = Service {
            address,
            group: 1,
            id: 7,
            row: Row::new(0, 1),
        };
        let mut tables = Tables::new(Capacity::new(0));
        tables.services.insert(key, service);
        tables.service_groups.insert(ServiceGroup {
            service: 7,
            group: 2,
        });
        for (id, group) in [(1, 1), (2, 2), (3, 3)] {
            tables.targets.insert(
                id,
                Target {
                    group,
                    ..Target::FREE
                },
            );
        }
        let entry = |target| Entry {
            name: Entry::name(0, 0, target),
            life: 0,
        };
        let led: Vec<_> = (0..5)
            .filter(|id| leads(&tables, &key, entry(*id)))
            .collect();
        assert_eq!(led, [1, 2]);
    }
}
