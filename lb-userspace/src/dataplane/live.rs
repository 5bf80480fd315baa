use std::{collections::BTreeMap, sync::atomic::Ordering};

use lb_common::{Entry, FlowState, ServiceKey};

use super::{Kernel, Tables, kernel::failed};
use crate::refusal::Refusal;

/// Live entries of the flow table, by the number of their [`FlowState`].
pub type FlowCounts = [u64; FlowState::COUNT];

/// What holds packets to targets besides the rings.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Live {
    /// Entries of the flow table by their targets; see [`Kernel::named`].
    pub flows: BTreeMap<u16, u64>,
    /// Clients that are pinned to a target, by service; each service with affinity is in it.
    pub pins: BTreeMap<ServiceKey, u64>,
}

impl Kernel {
    /// What is live at the tick `now`, of the services in `tables`. Every pin is asked for, which takes a
    /// second for a million.
    pub fn live(&self, tables: &Tables, now: u32) -> Result<Live, Refusal> {
        Ok(Live {
            flows: self.named(now),
            pins: self.pinned(tables, now)?,
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
