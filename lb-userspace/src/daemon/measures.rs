//! What the daemon counts of itself, and what it tells whoever asks for metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use lb_common::tick;

use super::{Daemon, state::unix_time};
use crate::{
    dataplane::{Live, Totals, monotonic},
    metrics::{Applies, Endpoint, Ledger, ProbeResults, Snapshot},
    model::Name,
    probe::{Sample, StreamKey},
    refusal::Refusal,
};

/// The whole flow table is read no more often than this.
const LIVE_AGE: Duration = Duration::from_secs(10);

/// Counters of the daemon's own, and those under names that an operator gave.
#[derive(Debug, Default)]
pub(super) struct Measures {
    pub(super) applies: Applies,
    pub(super) state_file_errors: u64,
    probes: BTreeMap<Endpoint, ProbeResults>,
    /// The endpoints that are probed now.
    probed: BTreeSet<Endpoint>,
    services: Ledger<Name>,
    targets: Ledger<(Name, Name)>,
    /// Live flows of each target, and when they were counted.
    live: Option<(Instant, Live)>,
}

impl Measures {
    /// Says which streams run.
    pub(super) fn probing<'a>(&mut self, streams: impl Iterator<Item = &'a StreamKey>) {
        self.probed = streams.map(Endpoint::from).collect();
    }

    /// Counts results of probes.
    pub(super) fn record(&mut self, samples: &[(StreamKey, Sample)]) {
        for (key, sample) in samples {
            self.probes.entry(key.into()).or_default().record(sample);
        }
    }

    fn probes(&self) -> BTreeMap<Endpoint, ProbeResults> {
        let results = |it| self.probes.get(it).cloned().unwrap_or_default();
        let probed = self.probed.iter();
        probed.map(|it| (it.clone(), results(it))).collect()
    }
}

impl Daemon {
    /// Everything for metrics and the status page.
    pub(super) fn snapshot(&mut self) -> Result<Snapshot, Refusal> {
        let totals = self.kernel.counters(&self.tables);
        let live = self.live()?;
        let status = self.status(&totals, &live);
        let Totals {
            verdicts,
            flow_events,
            services,
            targets,
        } = totals;
        let model = self.engine.model();
        let ledger = &mut self.measures.services;
        let services = model.services.values().filter_map(|service| {
            let counter = services.get(&service.key())?;
            let name = service.name.clone();
            Some((name.clone(), ledger.total(name, *counter)))
        });
        let services = services.collect();
        let ledger = &mut self.measures.targets;
        let mut flows = BTreeMap::new();
        let mut counted = BTreeMap::new();
        for group in model.groups.keys() {
            for backend in model.backends_within(group) {
                let key = self.engine.target_key(group, backend);
                let Some(id) = key.and_then(|key| self.tables.target_id(&key)) else {
                    continue;
                };
                let name = (group.clone(), backend.clone());
                flows.insert(name.clone(), live.flows.get(&id).copied().unwrap_or(0));
                if let Some(counter) = targets.get(&id) {
                    counted.insert(name.clone(), ledger.total(name, *counter));
                }
            }
        }
        let now = unix_time().as_secs_f64();
        Ok(Snapshot {
            status,
            started: now - self.started.elapsed().as_secs_f64(),
            heartbeat: now - self.heartbeat_age().as_secs_f64(),
            applies: self.measures.applies,
            state_file_errors: self.measures.state_file_errors,
            verdicts,
            flow_events,
            services,
            targets: counted,
            flows,
            probes: self.measures.probes(),
        })
    }

    /// Since the last turn.
    pub(super) fn heartbeat_age(&self) -> Duration {
        Duration::from_nanos(monotonic().saturating_sub(self.kernel.last_heartbeat()))
    }

    /// What was live a moment ago.
    #[expect(
        clippy::disallowed_methods,
        reason = "the daemon is where the clock is read"
    )]
    fn live(&mut self) -> Result<Live, Refusal> {
        let now = Instant::now();
        match &self.measures.live {
            Some((counted, live)) if now.duration_since(*counted) < LIVE_AGE => Ok(live.clone()),
            _ => {
                let live = self.kernel.live(&self.tables, tick(monotonic()))?;
                self.measures.live = Some((now, live.clone()));
                Ok(live)
            }
        }
    }
}
