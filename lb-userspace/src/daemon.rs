//! The one loop: events in, effects out.

mod answer;
mod log;
mod start;
mod state;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use aya::Ebpf;
use lb_common::tick;
use nix::time::{ClockId, clock_gettime};
use tokio::{
    signal::unix::Signal,
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::state::StateFile;
use crate::{
    config,
    control::{Question, Reloaded},
    dataplane::{Change, Kernel, Lock, Mode, Tables, collect, diff},
    engine::{Effect, Engine, Event},
    neighbour::{Neighbours, Way},
    probe::{Sample, Scheduler, StreamKey},
    table::Image,
};

/// Between two heartbeats. What was retired from the tables rests for at least as long before it is
/// used again, far longer than a packet is under way in the program.
const TURN: Duration = Duration::from_secs(1);

/// Turns from one search for target ids that no flow names any more to the next.
const COLLECT_EVERY: u32 = 10;

/// Runs the daemon until it is told to end. The program and its tables stay and go on forwarding.
///
/// # Errors
///
/// It could not start: each reason with its mend.
pub async fn run(path: &Path) -> anyhow::Result<()> {
    let checked = config::load(path)?;
    for warning in config::warnings_of_this_host(&checked.model) {
        tracing::warn!("{warning}");
    }
    for warning in &checked.warnings {
        tracing::warn!("{warning}");
    }
    let (mut daemon, mut inputs) = Daemon::start(path, checked.model).await?;
    daemon.serve(&mut inputs).await;
    daemon.end()
}

struct Daemon {
    config: PathBuf,
    started: Instant,
    engine: Engine,
    kernel: Kernel,
    mode: Mode,
    tables: Tables,
    /// An image that is not whole in the kernel yet: not all of it found room, or could be written.
    pending: Option<Image>,
    scheduler: Scheduler,
    neighbours: Neighbours,
    state: StateFile,
    turns: u32,
    /// Holds the program's log, if it has one.
    _object: Ebpf,
    _lock: Lock,
}

/// Where events come from.
struct Inputs {
    samples: mpsc::Receiver<(StreamKey, Sample)>,
    ways: mpsc::Receiver<(IpAddr, Way)>,
    questions: mpsc::Receiver<Question>,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Daemon {
    async fn serve(&mut self, inputs: &mut Inputs) {
        let mut turn = interval(TURN);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some((key, sample)) = inputs.samples.recv() => self.event(Event::Sample(key, sample)),
                Some((address, way)) = inputs.ways.recv() => self.event(Event::Way(address, way)),
                Some(question) = inputs.questions.recv() => self.answer(question),
                _ = turn.tick() => self.turn(),
                _ = inputs.hangup.recv() => match self.reload(None) {
                    Ok(Reloaded { changes, .. }) => tracing::info!(?changes, "Reloaded."),
                    Err(error) => tracing::error!("Not reloaded, nothing changed: {error:#}"),
                },
                _ = inputs.terminate.recv() => return,
                _ = inputs.interrupt.recv() => return,
            }
        }
    }

    fn end(self) -> anyhow::Result<()> {
        self.state.write(&self.engine.saved())?;
        let _already_gone = std::fs::remove_file(&self.engine.model().edge.control);
        tracing::info!("The daemon ends; packets go on by the last tables.");
        Ok(())
    }

    fn turn(&mut self) {
        self.kernel.heartbeat(nanoseconds(monotonic()));
        self.tables.release();
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(COLLECT_EVERY) || self.pending.is_some() {
            self.collect();
        }
        if let Some(image) = self.pending.take() {
            self.apply(image);
        }
        self.event(Event::Tick);
    }

    /// Gives back the ids of targets that were removed and that no flow names any more.
    fn collect(&mut self) {
        let Some(image) = self.engine.image() else {
            return;
        };
        let named = self.kernel.named(tick(nanoseconds(monotonic())));
        for change in collect(&self.tables, image, &named.into_keys().collect()) {
            self.execute(&change);
        }
    }

    fn event(&mut self, event: Event) {
        let handled = self.engine.handle(event, self.started.elapsed());
        if let Err(error) = handled
            .map_err(Into::into)
            .and_then(|effects| self.perform(effects))
        {
            tracing::error!("{error:#}");
        }
    }

    /// Does all of it.
    ///
    /// # Errors
    ///
    /// What the next start should know could not be kept; everything else is done.
    fn perform(&mut self, effects: Vec<Effect>) -> anyhow::Result<()> {
        let mut kept = Ok(());
        for effect in effects {
            match effect {
                Effect::Apply(image) => self.apply(image),
                Effect::Probe(streams) => self.scheduler.set(&streams),
                Effect::Save(saved) => kept = self.state.write(&saved),
                Effect::Tell(notice) => log::tell(&notice),
                Effect::Watch(addresses) => self.neighbours.watch(addresses),
            }
        }
        kept
    }

    /// Makes the tables say what the image says, or keeps it for the next turn.
    fn apply(&mut self, image: Image) {
        let done = match diff(&self.tables, &image) {
            Ok(plan) => plan.changes.iter().all(|change| self.execute(change)) && !plan.later,
            Err(error) => {
                tracing::error!("The old tables stand for now: {error}");
                false
            }
        };
        self.pending = (!done).then_some(image);
    }

    fn execute(&mut self, change: &Change) -> bool {
        if let Err(error) = self.kernel.execute(change) {
            tracing::error!(
                ?change,
                "The kernel's tables could not be written: {error:#}"
            );
            return false;
        }
        self.tables.apply(change);
        true
    }
}

fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Into::into)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
