//! The one loop: events in, effects out.

mod answer;
mod data;
mod log;
mod measures;
mod prove;
mod start;
mod state;

use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use aya::Ebpf;
use lb_common::tick;
use tokio::{
    signal::unix::Signal,
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::{
    data::{DataFiles, Reread},
    measures::Measures,
    prove::{Loaded, Proving},
    state::StateFile,
};
use crate::{
    config,
    control::{Question, Reloaded},
    dataplane::{
        Attachment, Change, Grace, Kernel, Lock, Tables, collect, diff, expire, monotonic,
    },
    engine::{Effect, Engine, Event},
    metrics::Scrape,
    model::Destination,
    neighbour::{Neighbours, Way},
    probe::{Sample, Scheduler, StreamKey},
    refusal::{Refusal, Refused, room::waits_for_room},
    table::Image,
};

/// Between two heartbeats. What was retired from the tables rests for at least as long before it is
/// used again, far longer than a packet is under way in the program.
const TURN: Duration = Duration::from_secs(1);

/// Most news of one kind that are looked at together: what follows from many that come at once is
/// worked out once.
const AT_ONCE: usize = 1024;

/// Turns from one search for target ids that no flow names any more to the next, and from one
/// writing of what probes found.
const NOW_AND_THEN: u32 = 10;

/// Runs the daemon until it is told to end. The program and its tables stay and go on forwarding.
///
/// # Errors
///
/// It could not start: each reason with its mend.
pub async fn run(path: &Path) -> Result<(), Refused> {
    let text: Arc<str> = config::text(path)?.into();
    let checked = config::load_text(path, &text)?;
    let of_this_host = config::warnings_of_this_host(&checked.model);
    of_this_host
        .iter()
        .chain(&checked.warnings)
        .for_each(log::warn);
    let (mut daemon, mut inputs) = Daemon::start(path, text, checked).await?;
    daemon.serve(&mut inputs).await;
    Ok(daemon.end()?)
}

struct Daemon {
    config: PathBuf,
    data: DataFiles,
    started: Instant,
    engine: Engine,
    kernel: Kernel,
    /// The program on each interface, and whether it was there when that was last looked at.
    attachments: Vec<(Attachment, bool)>,
    tables: Tables,
    /// An image that is not whole in the kernel yet, and why.
    pending: Option<(Image, Refusal)>,
    scheduler: Scheduler,
    neighbours: Neighbours,
    state: StateFile,
    /// When the state file was last written, and whether it should be again.
    written: Instant,
    unsaved: bool,
    turns: u32,
    measures: Measures,
    proving: Proving,
    /// Holds the program's log, if it has one.
    _object: Ebpf,
    _lock: Lock,
}

/// Where events come from.
struct Inputs {
    samples: mpsc::Receiver<(StreamKey, Sample)>,
    ways: mpsc::Receiver<(Destination, Way)>,
    questions: mpsc::Receiver<Question>,
    provers: mpsc::Receiver<Loaded>,
    rereads: mpsc::Receiver<Reread>,
    scrapes: mpsc::Receiver<Scrape>,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Daemon {
    async fn serve(&mut self, inputs: &mut Inputs) {
        // Before the first question: an answer says when the daemon was last alive.
        self.kernel.heartbeat(monotonic());
        self.tell_stations();
        let mut turn = interval(TURN);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut samples, mut ways) = (Vec::new(), Vec::new());
        loop {
            tokio::select! {
                1.. = inputs.samples.recv_many(&mut samples, AT_ONCE) => {
                    self.measures.record(&samples);
                    self.event(Event::Samples(mem::take(&mut samples)));
                }
                1.. = inputs.ways.recv_many(&mut ways, AT_ONCE) => {
                    self.event(Event::Ways(mem::take(&mut ways)));
                }
                Some(question) = inputs.questions.recv() => self.take(question),
                Some(loaded) = inputs.provers.recv() => self.take_loaded(loaded),
                Some(reread) = inputs.rereads.recv() => self.take_reread(reread),
                Some(scrape) = inputs.scrapes.recv() => {
                    let _client_is_gone = scrape.send(self.snapshot());
                }
                _ = turn.tick() => self.turn(),
                _ = inputs.hangup.recv() => match self.reload(None) {
                    Ok(Reloaded { changes, warnings }) => {
                        tracing::info!(?changes, "Reloaded.");
                        warnings.iter().for_each(log::warn);
                    }
                    Err(refused) => tracing::error!("Not reloaded: {refused}"),
                },
                _ = inputs.terminate.recv() => return,
                _ = inputs.interrupt.recv() => return,
            }
        }
    }

    fn end(self) -> Result<(), Refusal> {
        self.state.write(&self.engine.saved())?;
        let _already_gone = std::fs::remove_file(&self.engine.model().edge.control);
        tracing::info!("The daemon ends; packets go on by the last tables.");
        Ok(())
    }

    fn turn(&mut self) {
        self.kernel.heartbeat(monotonic());
        self.tables.release();
        self.expire(self.grace());
        self.look_at_the_interfaces();
        self.look_at_data_files();
        self.turns = self.turns.wrapping_add(1);
        let now_and_then = self.turns.is_multiple_of(NOW_AND_THEN);
        if now_and_then || self.pending.is_some() {
            self.collect();
        }
        if let Some((image, _)) = self.pending.clone() {
            self.apply(image);
        }
        if now_and_then || self.unsaved {
            self.save();
        }
        self.event(Event::Tick);
    }

    /// Sees that the program was detached, or that an interface is another one now.
    fn look_at_the_interfaces(&mut self) {
        for (attachment, attached) in &mut self.attachments {
            // A kernel that does not tell says nothing new.
            let stands = attachment.stands().unwrap_or(*attached);
            if *attached && !stands {
                tracing::error!(
                    interface = attachment.interface,
                    "The packet program is no longer on the interface, and nothing that arrives there is \
                     steered; start the daemon anew to attach it.",
                );
            }
            *attached = stands;
        }
        self.tell_stations();
    }

    /// Whether the program is on all interfaces, as far as is known.
    fn is_attached(&self) -> bool {
        self.attachments.iter().all(|(_, attached)| *attached)
    }

    /// Tells the packet program which MAC addresses the interfaces have, as far as the kernel says it.
    fn tell_stations(&mut self) {
        let stations = self.attachments.iter().map(|(it, _)| it.station());
        let Ok(stations) = stations.collect::<Result<Vec<_>, _>>() else {
            return;
        };
        let stations = stations.into_iter().flatten().collect();
        if let Err(error) = self.kernel.set_stations(&stations) {
            tracing::error!(code = %error.code, "{error}");
        }
    }

    /// Gives back the ids of targets that were removed and that no flow names any more.
    fn collect(&mut self) {
        let Some(image) = self.engine.image() else {
            return;
        };
        if collect(&self.tables, image, &BTreeSet::new()).is_empty() {
            // Nothing was removed, so the flow table need not be read for it.
            return;
        }
        let named = self.kernel.named(tick(monotonic()));
        let changes = collect(&self.tables, image, &named.into_keys().collect());
        if let Err(error) = changes.iter().try_for_each(|it| self.execute(it)) {
            tracing::error!(code = %error.code, "Ids of removed targets are not given back: {error}");
        }
    }

    /// Takes out the rings that were replaced longer ago than the grace.
    fn expire(&mut self, grace: Grace) {
        let changes = expire(&self.tables, grace);
        if let Err(error) = changes.iter().try_for_each(|it| self.execute(it)) {
            tracing::error!(code = %error.code, "Former rings go on to count: {error}");
        }
    }

    fn grace(&self) -> Grace {
        let nanoseconds = self.engine.model().edge.ring_grace.as_nanos();
        Grace {
            now: tick(monotonic()),
            ticks: tick(u64::try_from(nanoseconds).unwrap_or(u64::MAX)),
        }
    }

    fn event(&mut self, event: Event) {
        match self.engine.handle(event, self.started.elapsed()) {
            Ok(effects) => self.perform(effects),
            Err(error) => tracing::error!(code = %error.code, "{error}"),
        }
        // Not for each of a thousand backends that turn at once; the next turn is near.
        if self.unsaved && self.written.elapsed() >= TURN {
            self.save();
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Apply(image) => self.apply(image),
                Effect::Probe(streams) => {
                    self.scheduler.set(&streams);
                    self.measures.probing(streams.keys());
                }
                Effect::Save => self.unsaved = true,
                Effect::Tell(notice) => log::tell(&notice),
                Effect::Watch(destinations) => self.neighbours.watch(destinations),
            }
        }
    }

    fn save(&mut self) {
        if let Err(error) = self.try_save() {
            tracing::error!(code = %error.code, "{error}");
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the daemon is where the clock is read"
    )]
    fn try_save(&mut self) -> Result<(), Refusal> {
        self.written = Instant::now();
        let written = self.state.write(&self.engine.saved());
        self.unsaved = written.is_err();
        self.measures.state_file_errors += u64::from(written.is_err());
        written
    }

    /// Brings the tables to what the image says, and measures it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the daemon is where the clock is read"
    )]
    fn apply(&mut self, image: Image) {
        let begin = Instant::now();
        self.try_apply(image);
        self.measures.applies.last = Some(begin.elapsed());
    }

    /// Makes the tables say what the image says, or keeps it for the next turn.
    fn try_apply(&mut self, image: Image) {
        let why = match diff(&self.tables, &image, self.grace()) {
            Ok(plan) => match plan.changes.iter().try_for_each(|it| self.execute(it)) {
                Ok(()) if plan.later => {
                    self.measures.applies.waiting += 1;
                    return self.pending = Some((image, waits_for_room()));
                }
                Ok(()) => {
                    self.measures.applies.done += 1;
                    return self.pending = None;
                }
                Err(error) => error,
            },
            Err(error) => {
                // They name targets that were removed, whose ids may be what is lacking.
                self.expire(Grace::OFF);
                error.into()
            }
        };
        self.measures.applies.failed += 1;
        let known = self
            .pending
            .as_ref()
            .is_some_and(|(_, known)| *known == why);
        if !known {
            tracing::error!(code = %why.code, "The old tables stand for now: {why}");
        }
        self.pending = Some((image, why));
    }

    fn execute(&mut self, change: &Change) -> Result<(), Refusal> {
        let done = self.kernel.execute(change);
        if done.is_err() {
            // Half of it may be there.
            self.tables = self.kernel.read_tables()?;
        }
        done?;
        self.tables.apply(change);
        Ok(())
    }
}
