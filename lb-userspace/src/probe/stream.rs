use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    time::Duration,
};

use super::health::first_probes;
use crate::model::{Backend, Model, Name, Probe, ProbeKind};

/// Longest time between two of the first probes of a stream.
const HASTE: Duration = Duration::from_secs(1);

/// What makes probes the same: members of several groups that agree in all of it share one stream
/// (S39).
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamKey {
    /// Address that is probed.
    pub address: IpAddr,
    /// Port that is probed.
    pub port: u16,
    /// What is sent, and what is a good answer.
    pub kind: ProbeKind,
}

impl StreamKey {
    /// Where in an interval the probes of this stream stand, from 0 to less than 1: another place
    /// on every edge, and the same again after a restart.
    pub fn phase(&self, edge: &Name) -> f64 {
        let mut hasher = DefaultHasher::new();
        (edge, self).hash(&mut hasher);
        // 32 bits are exact in a float: the result never rounds up to 1.
        f64::from((hasher.finish() >> 32) as u32) / 2_f64.powi(32)
    }
}

/// When a stream's probes are sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Schedule {
    /// Time from one probe to the next.
    pub interval: Duration,
    /// Deadline over one probe.
    pub timeout: Duration,
    /// How many first probes are at most 1 s apart, so that a health rule can soon decide.
    pub hasty: usize,
}

impl Schedule {
    /// Time from the probe before to the next one, when `sent` have been sent; before the first
    /// one, the time from the start of the stream.
    ///
    /// `phase` (0 to less than 1) spreads the streams: hasty ones over their first second, the others
    /// over the whole interval. The pause after the last hasty probe is where one turns into the other.
    pub fn gap(&self, sent: usize, phase: f64) -> Duration {
        let haste = self.interval.min(HASTE);
        match sent {
            0 if self.hasty == 0 => self.interval.mul_f64(phase),
            0 => haste.mul_f64(phase),
            sent if sent < self.hasty => haste,
            sent if sent == self.hasty => haste + (self.interval - haste).mul_f64(phase),
            _ => self.interval,
        }
    }
}

/// The stream that probes `backend` as `probe` says, at the backend's own place for probes if it has one.
pub fn stream_key(backend: &Backend, probe: &Probe) -> StreamKey {
    StreamKey {
        address: backend.probe.address.unwrap_or(backend.address),
        port: backend.probe.port.unwrap_or(probe.port_on(backend)),
        kind: probe.kind.clone(),
    }
}

/// The streams that a configuration needs: one per endpoint over all groups, at the lowest interval
/// and timeout of those that share it (S39).
///
/// A member is probed if `probing` (group, backend) says so; a disabled one should not be (S37).
pub fn streams(
    model: &Model,
    probing: impl Fn(&Name, &Name) -> bool,
) -> BTreeMap<StreamKey, Schedule> {
    let mut streams = BTreeMap::new();
    for group in model.groups.values() {
        let Some(probe) = &group.probe else { continue };
        let schedule = Schedule {
            interval: probe.interval,
            timeout: probe.timeout,
            hasty: first_probes(group.health),
        };
        let members = group.backends();
        for (_, _, name) in members.filter(|(.., name)| probing(&group.name, name)) {
            let Some(backend) = model.backends.get(name) else {
                continue;
            };
            streams
                .entry(stream_key(backend, probe))
                .and_modify(|shared: &mut Schedule| *shared = shared.merged(schedule))
                .or_insert(schedule);
        }
    }
    streams
}

impl Schedule {
    fn merged(self, other: Self) -> Self {
        Self {
            interval: self.interval.min(other.interval),
            timeout: self.timeout.min(other.timeout),
            hasty: self.hasty.max(other.hasty),
        }
    }
}

#[cfg(test)]
mod tests;
