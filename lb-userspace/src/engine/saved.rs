use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AdminState;
use crate::{
    model::{HealthRule, Name},
    probe::{Latency, StreamKey, Window},
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
    /// Health windows by group and stream.
    windows: BTreeMap<Name, BTreeMap<String, Window>>,
    /// Smoothed latencies by stream.
    latencies: BTreeMap<String, Latency>,
}

impl Found {
    /// Takes up what was found of a group's stream.
    pub(super) fn keep(
        &mut self,
        group: &Name,
        key: &StreamKey,
        window: &Window,
        latency: Option<&Latency>,
    ) {
        let streams = self.windows.entry(group.clone()).or_default();
        streams.insert(text(key), window.clone());
        if let Some(latency) = latency {
            self.latencies.insert(text(key), latency.clone());
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
