//! From a configuration to a running daemon.

use std::{
    collections::BTreeSet,
    mem,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use super::{
    Daemon, Inputs, data::DataFiles, log, measures::Measures, prove::Proving, state::StateFile,
};
use crate::{
    config::Checked,
    control,
    dataplane::{Attachment, Kernel, Lock, Started, Tables, check_host},
    engine::Engine,
    metrics,
    model::{Edge, Model, Name},
    neighbour::Neighbours,
    probe::Scheduler,
    refusal::{Refusal, host::no_resources},
    table::{group_id, ring_key},
};

impl Daemon {
    /// Attaches the program, takes over what an earlier daemon left, and begins to probe.
    #[expect(
        clippy::disallowed_methods,
        reason = "the daemon is where the clock is read"
    )]
    pub(super) async fn start(
        path: &Path,
        text: Arc<str>,
        checked: Checked,
    ) -> Result<(Self, Inputs), Refusal> {
        allow_files();
        let [terminate, interrupt, hangup] = signals()?;
        let edge = &checked.model.edge;
        check_host()?;
        let lock = Lock::take(edge)?;
        let (way_sender, ways) = mpsc::channel(1024);
        let (sample_sender, samples) = mpsc::channel(1024);
        let (question_sender, questions) = mpsc::channel(64);
        let (proving, provers) = Proving::new();
        let (data, rereads) = DataFiles::new(text, &checked.model);
        let neighbours = Neighbours::start(&edge.interfaces, way_sender).await?;
        let (state, saved) = StateFile::open(&edge.state_dir)?;
        let (scrape_sender, scrapes) = mpsc::channel(64);
        let listener = listen(edge).await?;
        control::serve(&edge.control, question_sender)?;
        let attached = attach(edge)?;
        let tables = attached.kernel.read_tables()?;
        let scheduler = Scheduler::new(edge.name.clone(), sample_sender);

        let adopted = adopted(&checked.model, &tables);
        let there = |it| (it, true);
        let (engine, effects) = Engine::start(checked, saved, adopted, Duration::ZERO);
        let mut daemon = Self {
            config: path.to_owned(),
            data,
            started: Instant::now(),
            engine,
            kernel: attached.kernel,
            attachments: attached.attachments.into_iter().map(there).collect(),
            tables,
            pending: None,
            scheduler,
            neighbours,
            state,
            written: Instant::now(),
            unsaved: false,
            turns: 0,
            measures: Measures::default(),
            proving,
            _object: attached.object,
            _lock: lock,
        };
        daemon.perform(effects);
        if let Some(listener) = listener {
            metrics::serve(listener, scrape_sender);
        }
        let inputs = Inputs {
            samples,
            ways,
            questions,
            provers,
            rereads,
            scrapes,
            terminate,
            interrupt,
            hangup,
        };
        Ok((daemon, inputs))
    }
}

/// SIGTERM, SIGINT, SIGHUP.
fn signals() -> Result<[Signal; 3], Refusal> {
    let hear = |kind| signal(kind).map_err(|error| no_resources("signals", error));
    Ok([
        hear(SignalKind::terminate())?,
        hear(SignalKind::interrupt())?,
        hear(SignalKind::hangup())?,
    ])
}

/// Listens for those who ask for metrics, if the edge has a place for that.
async fn listen(edge: &Edge) -> Result<Option<TcpListener>, Refusal> {
    match edge.metrics {
        Some(address) => metrics::listen(address).await.map(Some),
        None => Ok(None),
    }
}

fn attach(edge: &Edge) -> Result<Started, Refusal> {
    let mut attached = Kernel::start(edge, ring_key(&edge.ring_key))?;
    for warning in mem::take(&mut attached.warnings) {
        log::warn(&warning.into());
    }
    if edge.packet_log {
        log::packets(&mut attached.object)?;
    }
    for Attachment {
        interface, mode, ..
    } in &attached.attachments
    {
        tracing::info!(
            edge = %edge.name, interface, %mode, adopted = attached.adopted,
            "The packet program is attached.",
        );
    }
    Ok(attached)
}

/// The groups that the tables of an earlier daemon serve.
fn adopted(model: &Model, tables: &Tables) -> BTreeSet<Name> {
    let served = tables.groups();
    let groups = model.groups.keys();
    groups
        .filter(|name| served.contains(&group_id(name)))
        .cloned()
        .collect()
}

/// Each probe under way holds a file: lets there be as many as this process may have.
fn allow_files() {
    let limit = Resource::RLIMIT_NOFILE;
    let raised = getrlimit(limit).and_then(|(_, most)| setrlimit(limit, most, most));
    if let Err(error) = raised {
        tracing::warn!(%error, "The limit of open files stays low.");
    }
}
