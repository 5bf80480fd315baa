use std::{collections::BTreeMap, sync::Arc};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::{
    pin, select,
    sync::{mpsc, watch},
    task::{self, AbortHandle},
    time::{Duration, sleep},
};

use super::{Sample, Schedule, StreamKey, probe, tls::Clients};
use crate::model::{Name, ProbeKind};

/// Runs streams of probes, each in a task of its own, and sends their samples to one place.
///
/// A sample that was sent before its stream was removed can still be in the channel afterwards.
pub struct Scheduler {
    edge: Name,
    sender: Sender,
    running: BTreeMap<StreamKey, Running>,
}

/// What all streams share.
#[derive(Clone)]
struct Sender {
    samples: mpsc::Sender<(StreamKey, Sample)>,
    clients: Arc<Clients>,
}

impl Scheduler {
    /// A scheduler without streams, for the edge of this name. While the channel is full, streams
    /// wait with the samples they have.
    pub fn new(edge: Name, samples: mpsc::Sender<(StreamKey, Sample)>) -> Self {
        Self {
            edge,
            sender: Sender {
                samples,
                clients: Arc::default(),
            },
            running: BTreeMap::new(),
        }
    }

    /// Makes `streams` the ones that run. Those that are no longer there stop at once, in the middle of
    /// a probe too. Those that stay go on: a new interval or timeout counts from the next probe.
    /// Only one that needs more hasty probes than ever before begins with them again.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn set(&mut self, streams: &BTreeMap<StreamKey, Schedule>) {
        self.running.retain(|key, _| streams.contains_key(key));
        let trusts = streams.keys().filter_map(|key| match &key.kind {
            ProbeKind::Https(https) => Some(&https.trust),
            ProbeKind::Http(_) | ProbeKind::Tcp => None,
        });
        self.sender.clients.keep(&trusts.collect());
        for (key, schedule) in streams {
            if let Some(running) = self.running.get(key) {
                running.reschedule(*schedule);
            } else {
                let phase = key.phase(&self.edge);
                let running = Running::start(key.clone(), *schedule, phase, self.sender.clone());
                self.running.insert(key.clone(), running);
            }
        }
    }
}

/// A stream's task, which ends with this.
struct Running {
    schedule: watch::Sender<Schedule>,
    task: AbortHandle,
}

impl Running {
    fn start(key: StreamKey, schedule: Schedule, phase: f64, sender: Sender) -> Self {
        let (schedule, changes) = watch::channel(schedule);
        let task = task::spawn(run(key, phase, changes, sender)).abort_handle();
        Self { schedule, task }
    }

    fn reschedule(&self, schedule: Schedule) {
        self.schedule.send_if_modified(|current| {
            let next = Schedule {
                hasty: current.hasty.max(schedule.hasty),
                ..schedule
            };
            let changed = next != *current;
            *current = next;
            changed
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Probes until the receiver of the samples is gone.
///
/// A hasty probe does not wait for the one before, which may take its whole timeout; so several can
/// be under way, but never more than the hasty ones. A probe that is late for any reason is not
/// made up for: the next one comes a full gap after it.
async fn run(key: StreamKey, phase: f64, mut changes: watch::Receiver<Schedule>, sender: Sender) {
    let mut schedule = *changes.borrow_and_update();
    let mut under_way = FuturesUnordered::new();
    let mut sent = 0_usize;
    let next = sleep(schedule.gap(sent, phase));
    pin!(next);
    loop {
        select! {
            () = &mut next, if under_way.len() < schedule.hasty.max(1) => {
                under_way.push(sender.sample(&key, schedule.timeout));
                sent = sent.saturating_add(1);
                next.set(sleep(schedule.gap(sent, phase)));
            }
            Some(delivered) = under_way.next() => {
                if delivered.is_err() {
                    return;
                }
            }
            Ok(()) = changes.changed() => {
                let changed = *changes.borrow_and_update();
                // Spread by the phase, or all streams of a reload would move in step.
                let first = if changed.hasty > schedule.hasty {
                    sent = 0;
                    Some(changed.gap(sent, phase))
                } else if changed.interval != schedule.interval {
                    Some(changed.interval.mul_f64(phase))
                } else {
                    None
                };
                if let Some(sooner) = first.map(sleep)
                    && sooner.deadline() < next.deadline()
                {
                    next.set(sooner);
                }
                schedule = changed;
            }
        }
    }
}

impl Sender {
    /// One probe, and the delivery of its sample.
    async fn sample(
        &self,
        key: &StreamKey,
        timeout: Duration,
    ) -> Result<(), mpsc::error::SendError<(StreamKey, Sample)>> {
        let sample = probe(key, &self.clients, timeout).await;
        self.samples.send((key.clone(), sample)).await
    }
}

#[cfg(test)]
mod tests;
