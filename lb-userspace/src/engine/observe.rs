//! What probes and the network say.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Engine, Notice, key};
use crate::{
    model::{Destination, Name},
    neighbour::Way,
    probe::{Failure, Sample, StreamKey},
};

impl Engine {
    /// Takes samples of streams; says whether anything follows from them. Those of streams that are
    /// gone are ignored.
    pub(super) fn sampled(
        &mut self,
        samples: Vec<(StreamKey, Sample)>,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let mut moved = false;
        let mut turned = BTreeMap::<Name, BTreeSet<StreamKey>>::new();
        for (key, sample) in samples {
            let Some(latencies) = self.latencies.get_mut(&key) else {
                continue;
            };
            match &sample {
                Ok(took) => {
                    for latency in latencies.values_mut() {
                        let published = latency.published();
                        latency.record(*took);
                        moved |= latency.published() != published;
                    }
                }
                // It says nothing of the backend.
                Err(Failure::Unsent(why)) => {
                    effects.push(Effect::Tell(Notice::Unsent { why: why.clone() }));
                    continue;
                }
                Err(failure) => {
                    self.failures.insert(key.clone(), failure.to_string());
                }
            }
            for (group, history) in self.histories.get_mut(&key).into_iter().flatten() {
                let before = (history.health(), history.decided());
                history.record(sample.is_ok());
                moved |= history.decided() != before.1;
                if history.health() != before.0 {
                    let keys = turned.entry(group.clone()).or_default();
                    keys.insert(key.clone());
                }
            }
        }
        if turned.is_empty() {
            return moved;
        }
        self.tell_health(&turned, effects);
        effects.push(Effect::Save);
        true
    }

    /// Tells the health of the members that these streams of each group are of.
    fn tell_health(&self, turned: &BTreeMap<Name, BTreeSet<StreamKey>>, effects: &mut Vec<Effect>) {
        for (group, keys) in turned {
            let group = &self.model.groups[group];
            let is_turned = |key| keys.contains(&key);
            for member in &group.members {
                if key(&self.model, group, member).is_some_and(is_turned) {
                    effects.push(Effect::Tell(Notice::Health {
                        group: group.name.clone(),
                        backend: member.name().clone(),
                        health: self.state(group, member).health,
                        why: self.why(group, member),
                    }));
                }
            }
        }
    }

    /// Takes what the network says of the ways to backends.
    pub(super) fn found(&mut self, ways: Vec<(Destination, Way)>, effects: &mut Vec<Effect>) {
        let ways: BTreeMap<_, _> = ways.into_iter().collect();
        for backend in self.model.backends.values() {
            if let Some(way) = ways.get(&backend.destination()) {
                effects.push(Effect::Tell(Notice::Way {
                    backend: backend.name.clone(),
                    open: matches!(way, Way::Open { .. }),
                    way: way.to_string(),
                }));
            }
        }
        for (destination, way) in ways {
            if let Way::Open { .. } = way {
                self.open_ways.insert(destination, way.clone());
            }
            self.ways.insert(destination, way);
        }
    }
}
