use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use lb_common::{Counter, FlowEvent, Verdict};

use crate::{
    control::Status,
    model::Name,
    probe::{Failure, Sample, StreamKey},
};

/// What the daemon knows at one moment, for metrics and the status page.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What `waggle status` shows; its live flows are some seconds old.
    pub status: Status,
    /// Unix time of the start, in seconds.
    pub started: f64,
    /// Unix time of the last heartbeat, in seconds.
    pub heartbeat: f64,
    /// What became of the images.
    pub applies: Applies,
    /// Times that the state file could not be written.
    pub state_file_errors: u64,
    /// By the way that packets left.
    pub verdicts: BTreeMap<Verdict, Counter>,
    /// By what became of the look-up in the flow table.
    pub flow_events: BTreeMap<FlowEvent, Counter>,
    /// By service; those that the kernel's tables have.
    pub services: BTreeMap<Name, Counter>,
    /// By group and backend; those that the kernel's tables have. The group is one that services name, and
    /// the backend is in it or in a group within it.
    pub targets: BTreeMap<(Name, Name), Counter>,
    /// Live flows of the same, some seconds old.
    pub flows: BTreeMap<(Name, Name), u64>,
    /// Results of the probes that go on.
    pub probes: BTreeMap<Endpoint, ProbeResults>,
}

/// How often the kernel's tables were brought to what was decided.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Applies {
    /// All of it is there.
    pub done: u64,
    /// Some of it waits for room.
    pub waiting: u64,
    /// It did not fit, or could not be written.
    pub failed: u64,
    /// How long the last one took.
    pub last: Option<Duration>,
}

/// What a probe goes to. Streams that differ only in what they ask for are counted together.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
    /// The kind of probe, as in the configuration.
    pub kind: &'static str,
}

impl From<&StreamKey> for Endpoint {
    fn from(key: &StreamKey) -> Self {
        Self {
            address: key.address,
            port: key.port,
            kind: key.kind.as_str(),
        }
    }
}

/// How many probes had each result. Every result is there from the beginning.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProbeResults(BTreeMap<&'static str, u64>);

impl Default for ProbeResults {
    fn default() -> Self {
        let results = Failure::REASONS.into_iter().chain(["ok"]);
        Self(results.map(|result| (result, 0)).collect())
    }
}

impl ProbeResults {
    /// Counts a sample.
    pub fn record(&mut self, sample: &Sample) {
        let result = sample.as_ref().map_or_else(Failure::reason, |_| "ok");
        *self.0.entry(result).or_default() += 1;
    }

    /// The results with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(result, count)| (*result, *count))
    }
}
