//! What probes and the network say.

use std::net::IpAddr;

use super::{Effect, Engine, Notice, key};
use crate::{
    model::Member,
    neighbour::Way,
    probe::{Failure, Sample, StreamKey},
};

impl Engine {
    /// Takes a sample of a stream; says whether anything follows from it. One of a stream that is
    /// gone is ignored.
    pub(super) fn sample(
        &mut self,
        key: &StreamKey,
        sample: &Sample,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let Some(latency) = self.latencies.get_mut(key) else {
            return false;
        };
        let published = latency.published();
        match sample {
            Ok(took) => latency.record(*took),
            // It says nothing of the backend.
            Err(Failure::Unsent(why)) => {
                effects.push(Effect::Tell(Notice::Unsent { why: why.clone() }));
                return false;
            }
            Err(failure) => {
                self.failures.insert(key.clone(), failure.to_string());
            }
        }
        let moved = latency.published() != published;
        let mut turned = Vec::new();
        for ((group, stream), window) in &mut self.windows {
            let before = window.health();
            if stream == key {
                window.record(sample.is_ok());
            }
            if window.health() != before {
                turned.push(group.clone());
            }
        }
        for group in turned.iter().map(|group| &self.model.groups[group]) {
            let of_stream =
                |member: &&Member| self::key(&self.model, group, member).as_ref() == Some(key);
            for member in group.members.iter().filter(of_stream) {
                let state = self.state(group, member);
                effects.push(Effect::Tell(Notice::Health {
                    group: group.name.clone(),
                    backend: member.backend.clone(),
                    health: state.health,
                    why: state.why,
                }));
            }
        }
        if !turned.is_empty() {
            effects.push(Effect::Save);
        }
        moved || !turned.is_empty()
    }

    /// Takes what the network says of the way to a backend.
    pub(super) fn found(&mut self, address: IpAddr, way: Way, effects: &mut Vec<Effect>) {
        let backends = self.model.backends.values();
        for backend in backends.filter(|backend| IpAddr::V4(backend.address) == address) {
            effects.push(Effect::Tell(Notice::Way {
                backend: backend.name.clone(),
                open: matches!(way, Way::Open { .. }),
                way: way.to_string(),
            }));
        }
        if let Way::Open { .. } = way {
            self.open_ways.insert(address, way.clone());
        }
        self.ways.insert(address, way);
    }
}
