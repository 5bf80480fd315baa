use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AdminState;
use crate::{
    model::{HealthRule, Name},
    probe::{Latency, StreamKey, Window},
};

/// What outlives the daemon: the operator's overrides, and what the probes had found.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Saved {
    /// Overrides.
    pub admin: AdminState,
    /// Health windows by group and stream.
    windows: BTreeMap<Name, BTreeMap<String, Window>>,
    /// Smoothed latencies by stream.
    latencies: BTreeMap<String, Latency>,
}

impl Saved {
    pub(super) fn new(
        admin: &AdminState,
        windows: &BTreeMap<StreamKey, BTreeMap<Name, Window>>,
        latencies: &BTreeMap<StreamKey, Latency>,
    ) -> Self {
        let mut by_group: BTreeMap<Name, BTreeMap<String, Window>> = BTreeMap::new();
        for (key, of_stream) in windows {
            for (group, window) in of_stream {
                let of_group = by_group.entry(group.clone()).or_default();
                of_group.insert(text(key), window.clone());
            }
        }
        let latencies = latencies
            .iter()
            .map(|(key, latency)| (text(key), latency.clone()))
            .collect();
        Self {
            admin: admin.clone(),
            windows: by_group,
            latencies,
        }
    }

    /// The kept window of a group's stream under `rule`; for a new group that of another one with
    /// the same stream, since one answer decides in all (S39); else a new one.
    pub(super) fn window(&self, group: &Name, key: &StreamKey, rule: HealthRule) -> Window {
        let key = text(key);
        let own = self.windows.get(group).into_iter();
        own.chain(self.windows.values())
            .find_map(|streams| streams.get(&key))
            .map_or_else(|| Window::new(rule), |window| window.clone().under(rule))
    }

    /// The kept latency of a stream, or a new one.
    pub(super) fn latency(&self, key: &StreamKey) -> Latency {
        self.latencies.get(&text(key)).cloned().unwrap_or_default()
    }
}

/// A stream in the file. It need only be the same for the same daemon: where another version writes
/// it otherwise, the probes begin anew.
fn text(key: &StreamKey) -> String {
    format!("{key:?}")
}
