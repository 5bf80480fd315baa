//! The one loop: events in, effects out.

mod state;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use aya::Ebpf;
use aya_log::EbpfLogger;
use lb_common::tick;
use nix::time::{ClockId, clock_gettime};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval},
};

use self::state::StateFile;
use crate::{
    config,
    control::{self, EdgeView, Question, Reloaded, Reply, Request, Status},
    dataplane::{Change, Kernel, Lock, Mode, Started, Tables, collect, diff},
    engine::{Effect, Engine, Event, Notice},
    model::{Health, Model, changes, needs_restart},
    neighbour::{Neighbours, Way},
    probe::{Sample, Scheduler, StreamKey},
    table::{Image, group_id, ring_key},
};

/// Between two heartbeats; also how long retired parts of the ring pool rest before they are used
/// again, far longer than a packet is under way in the program.
const TURN: Duration = Duration::from_secs(1);

/// Between two looks into the packet program's log.
const LOG_PAUSE: Duration = Duration::from_millis(100);

/// Turns from one search for target ids that no flow names any more to the next.
const COLLECT_EVERY: u32 = 10;

/// Runs the daemon until it is told to end. The program and its tables stay and go on forwarding.
///
/// # Errors
///
/// It could not start: each reason with its mend.
pub async fn run(path: &Path) -> anyhow::Result<()> {
    let checked = config::load_here(path)?;
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
    /// An image that is not in the kernel yet, because it did not fit or could not be written.
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
    #[expect(
        clippy::disallowed_methods,
        reason = "the daemon is where the clock is read"
    )]
    async fn start(path: &Path, model: Model) -> anyhow::Result<(Self, Inputs)> {
        let edge = &model.edge;
        let (way_sender, ways) = mpsc::channel(256);
        let neighbours = Neighbours::start(&edge.interface, way_sender).await?;
        let attached = Kernel::start(edge, ring_key(&edge.ring_key))?;
        let (state, saved) = StateFile::open(&edge.state_dir)?;
        let tables = attached.kernel.read_tables()?;
        let (sample_sender, samples) = mpsc::channel(1024);
        let (question_sender, questions) = mpsc::channel(64);
        let scheduler = Scheduler::new(edge.name.clone(), sample_sender);
        control::serve(&edge.control, question_sender)?;

        let served: Vec<u32> = tables
            .services()
            .map(|(_, service)| service.group)
            .collect();
        let adopted = model
            .groups
            .keys()
            .filter(|name| served.contains(&group_id(name)))
            .cloned()
            .collect();
        let Started {
            kernel,
            mode,
            adopted: in_place,
            warning,
            mut object,
            lock,
        } = attached;
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        if edge.packet_log {
            log_packets(&mut object)?;
        }
        tracing::info!(
            edge = %edge.name, interface = edge.interface, %mode, adopted = in_place,
            "The packet program is attached.",
        );
        let started = Instant::now();
        let (engine, effects) = Engine::start(model, saved, adopted, Duration::ZERO);
        let mut daemon = Self {
            config: path.to_owned(),
            started,
            engine,
            kernel,
            mode,
            tables,
            pending: None,
            scheduler,
            neighbours,
            state,
            turns: 0,
            _object: object,
            _lock: lock,
        };
        daemon.perform(effects);
        let inputs = Inputs {
            samples,
            ways,
            questions,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        };
        Ok((daemon, inputs))
    }

    async fn serve(&mut self, inputs: &mut Inputs) {
        let mut turn = interval(TURN);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some((key, sample)) = inputs.samples.recv() => self.event(Event::Sample(key, sample)),
                Some((address, way)) = inputs.ways.recv() => self.event(Event::Way(address, way)),
                Some(question) = inputs.questions.recv() => self.answer(question),
                _ = turn.tick() => self.turn(),
                _ = inputs.hangup.recv() => self.hang_up(),
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
        if self.turns.is_multiple_of(COLLECT_EVERY) {
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
        match self.engine.handle(event, self.started.elapsed()) {
            Ok(effects) => self.perform(effects),
            Err(error) => tracing::error!("{error}"),
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Apply(image) => self.apply(image),
                Effect::Probe(streams) => self.scheduler.set(&streams),
                Effect::Save(saved) => {
                    if let Err(error) = self.state.write(&saved) {
                        tracing::error!("What the next start should know is not kept: {error:#}");
                    }
                }
                Effect::Tell(notice) => tell(&notice),
                Effect::Watch(addresses) => self.neighbours.watch(addresses),
            }
        }
    }

    fn apply(&mut self, image: Image) {
        match diff(&self.tables, &image) {
            Ok(list) => {
                for change in &list {
                    if !self.execute(change) {
                        self.pending = Some(image);
                        return;
                    }
                }
                self.pending = None;
            }
            Err(error) => {
                tracing::error!("The old tables stand: {error}");
                self.pending = Some(image);
            }
        }
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

    fn answer(&mut self, (request, reply): (Request, oneshot::Sender<Reply>)) {
        let answer = match request {
            Request::Admin(change) => {
                match self
                    .engine
                    .handle(Event::Admin(change), self.started.elapsed())
                {
                    Ok(effects) => {
                        self.perform(effects);
                        Reply::Done
                    }
                    Err(error) => Reply::Refused(error.to_string()),
                }
            }
            Request::Explain { service, client } => match self.engine.explain(&service, client) {
                Ok(explanation) => Reply::Explained(Box::new(explanation)),
                Err(error) => Reply::Refused(error.to_string()),
            },
            Request::Reload { path } => match self.reload(path) {
                Ok(reloaded) => Reply::Reloaded(reloaded),
                Err(error) => Reply::Refused(format!("nothing changed: {error:#}")),
            },
            Request::Status => match self.status() {
                Ok(status) => Reply::Status(Box::new(status)),
                Err(error) => Reply::Refused(format!("{error:#}")),
            },
        };
        let _client_is_gone = reply.send(answer);
    }

    fn hang_up(&mut self) {
        match self.reload(None) {
            Ok(Reloaded { changes, warnings }) => {
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
                tracing::info!(?changes, "Reloaded.");
            }
            Err(error) => tracing::error!("Not reloaded, nothing changed: {error:#}"),
        }
    }

    /// Takes a configuration up whole or not at all: it is tried on a copy first.
    fn reload(&mut self, path: Option<PathBuf>) -> anyhow::Result<Reloaded> {
        let path = path.unwrap_or_else(|| self.config.clone());
        let checked = config::load_here(&path)?;
        let old = self.engine.model();
        let fixed = needs_restart(old, &checked.model);
        anyhow::ensure!(
            fixed.is_empty(),
            "edge.{} can not change while the daemon runs; stop it and start it with the new file",
            fixed.join(", edge."),
        );
        let changes = changes(old, &checked.model);
        let mut trial = self.engine.clone();
        let effects = trial.handle(
            Event::Reload(Box::new(checked.model)),
            self.started.elapsed(),
        )?;
        if let Some(image) = trial.image() {
            diff(&self.tables, image).with_context(|| path.display().to_string())?;
        }
        self.engine = trial;
        self.config = path;
        self.perform(effects);
        let warnings = checked.warnings.iter().map(ToString::to_string).collect();
        Ok(Reloaded { changes, warnings })
    }

    fn status(&self) -> anyhow::Result<Status> {
        let totals = self.kernel.counters(&self.tables)?;
        let named = self.kernel.named(tick(nanoseconds(monotonic())));
        let mut view = self.engine.view();
        for group in &mut view.groups {
            for member in &mut group.members {
                let key = self.engine.target_key(&group.name, &member.backend);
                member.target = key.and_then(|key| self.tables.target_id(&key));
                member.flows = member.target.map(|id| named.get(&id).copied().unwrap_or(0));
                member.packets = member
                    .target
                    .map(|id| totals.targets.get(&id).map_or(0, |counter| counter.packets));
            }
        }
        let edge = &self.engine.model().edge;
        let packets =
            |(label, counter): (&str, lb_common::Counter)| (label.to_owned(), counter.packets);
        Ok(Status {
            edge: EdgeView {
                name: edge.name.clone(),
                interface: edge.interface.clone(),
                xdp_mode: self.mode.to_string(),
                pid: std::process::id(),
                uptime_s: self.started.elapsed().as_secs(),
                config: self.config.clone(),
                flows: named.values().sum(),
                flow_entries: edge.flow_entries,
            },
            view,
            verdicts: totals
                .verdicts
                .into_iter()
                .map(|(v, c)| packets((v.label(), c)))
                .collect(),
            flow_events: totals
                .flow_events
                .into_iter()
                .map(|(e, c)| packets((e.label(), c)))
                .collect::<BTreeMap<_, _>>(),
        })
    }
}

fn tell(notice: &Notice) {
    match notice {
        Notice::BestEffort {
            group,
            active: true,
        } => tracing::warn!(
            %group, "All members are down: traffic goes to every enabled one (all-down rule).",
        ),
        Notice::BestEffort {
            group,
            active: false,
        } => {
            tracing::info!(%group, "The all-down rule is no longer in use.");
        }
        Notice::Health {
            group,
            backend,
            health: Health::Up,
            why,
        } => {
            tracing::info!(%group, %backend, why, "Backend is up.");
        }
        Notice::Health {
            group,
            backend,
            health: _,
            why,
        } => {
            tracing::warn!(%group, %backend, why, "Backend is down.");
        }
        Notice::Published { group } => tracing::info!(%group, "First decision; it is served."),
        Notice::Unsent { why } => tracing::error!(why, "A probe could not be sent."),
        Notice::Way { backend, way } => tracing::info!(%backend, way, "The way to a backend."),
    }
}

/// Hands the packet program's log to the daemon's, several times a second.
fn log_packets(object: &mut Ebpf) -> anyhow::Result<()> {
    let mut logger =
        EbpfLogger::init(object).context("the packet program's log can not be read")?;
    tokio::spawn(async move {
        let mut pause = interval(LOG_PAUSE);
        loop {
            pause.tick().await;
            logger.flush();
        }
    });
    Ok(())
}

fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Into::into)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
