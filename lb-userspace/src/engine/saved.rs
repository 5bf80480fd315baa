use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AdminState;
use crate::{
    model::{HealthRule, Name, Smoothing},
    probe::{History, Latency, StreamKey},
};

/// What outlives the daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// The operator's overrides.
    pub admin: AdminState,
    /// What the probes had found.
    pub found: Found,
}

/// What probes had found: of members that are probed only, since what was known of others is old.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Found {
    /// What probes said, by group and stream. Earlier daemons had windows only, and called it so.
    #[serde(alias = "windows")]
    histories: BTreeMap<Name, BTreeMap<String, History>>,
    /// Smoothed latencies by group and stream.
    latencies: BTreeMap<Name, BTreeMap<String, Latency>>,
}

impl Found {
    /// Takes up what was found of a group's stream.
    pub(super) fn keep(
        &mut self,
        group: &Name,
        key: &StreamKey,
        history: &History,
        latency: &Latency,
    ) {
        let histories = self.histories.entry(group.clone()).or_default();
        histories.insert(text(key), history.clone());
        let latencies = self.latencies.entry(group.clone()).or_default();
        latencies.insert(text(key), latency.clone());
    }

    /// The kept history of a group's stream under `rule`; for a new group that of another one with
    /// the same stream, since one answer decides in all (S39); else a new one.
    pub(super) fn history(&self, group: &Name, key: &StreamKey, rule: HealthRule) -> History {
        let kept = of_stream(&self.histories, group, key);
        kept.map_or_else(|| History::new(rule), |history| history.clone().under(rule))
    }

    /// The kept latency of a group's stream under `rule`, found in the same way.
    pub(super) fn latency(&self, group: &Name, key: &StreamKey, rule: Smoothing) -> Latency {
        let kept = of_stream(&self.latencies, group, key);
        kept.cloned().unwrap_or_default().under(rule)
    }
}

/// What is kept of a stream: of this group, or else of another one.
fn of_stream<'a, T>(
    kept: &'a BTreeMap<Name, BTreeMap<String, T>>,
    group: &Name,
    key: &StreamKey,
) -> Option<&'a T> {
    let key = text(key);
    let own = kept.get(group).into_iter();
    own.chain(kept.values())
        .find_map(|streams| streams.get(&key))
}

/// A stream in the file. It need only be the same for the same daemon: where another version writes
/// it otherwise, the probes begin anew.
fn text(key: &StreamKey) -> String {
    format!("{key:?}")
}
