//! Answers to the command line.

use std::path::PathBuf;

use anyhow::Context as _;
use lb_common::tick;
use tokio::sync::oneshot;

use super::{Daemon, monotonic, nanoseconds};
use crate::{
    config,
    control::{EdgeView, Reloaded, Reply, Request, Status},
    dataplane::diff,
    engine::{AdminChange, Effect, Engine, Event},
    model::{Model, changes, needs_restart},
};

impl Daemon {
    pub(super) fn answer(&mut self, (request, reply): (Request, oneshot::Sender<Reply>)) {
        let answer = match request {
            Request::Admin(change) => self.admin(change),
            Request::Explain { service, client } => match self.engine.explain(&service, client) {
                Ok(explanation) => Reply::Explained(Box::new(explanation)),
                Err(error) => Reply::Refused(error.to_string()),
            },
            Request::Reload { path } => match self.reload(path) {
                Ok(reloaded) => Reply::Reloaded(reloaded),
                Err(error) => Reply::Refused(format!("{error:#}")),
            },
            Request::Status => match self.status() {
                Ok(status) => Reply::Status(Box::new(status)),
                Err(error) => Reply::Refused(format!("{error:#}")),
            },
        };
        let _client_is_gone = reply.send(answer);
    }

    /// Reloads for the signal, whose sender can read only the log.
    pub(super) fn hang_up(&mut self) {
        match self.reload(None) {
            Ok(Reloaded { changes, warnings }) => {
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
                tracing::info!(?changes, "Reloaded.");
            }
            Err(error) => tracing::error!("Not reloaded: {error:#}"),
        }
    }

    /// Takes a configuration up whole or not at all: it is tried on a copy first.
    fn reload(&mut self, path: Option<PathBuf>) -> anyhow::Result<Reloaded> {
        let path = path.unwrap_or_else(|| self.config.clone());
        let checked = config::load_here(&path).context("nothing changed")?;
        let changes = changes(self.engine.model(), &checked.model);
        let (trial, effects) = self.try_out(checked.model).context("nothing changed")?;
        self.engine = trial;
        self.config = path;
        self.perform(effects)
            .context("in force, but not kept for the next start")?;
        let warnings = checked.warnings.iter().map(ToString::to_string).collect();
        Ok(Reloaded { changes, warnings })
    }

    fn try_out(&self, model: Model) -> anyhow::Result<(Engine, Vec<Effect>)> {
        let fixed = needs_restart(self.engine.model(), &model);
        anyhow::ensure!(
            fixed.is_empty(),
            "edge.{} can not change while the daemon runs; stop it and start it with the new file",
            fixed.join(", edge."),
        );
        let mut trial = self.engine.clone();
        let effects = trial.handle(Event::Reload(Box::new(model)), self.started.elapsed())?;
        if let Some(image) = trial.image() {
            diff(&self.tables, image)?;
        }
        Ok((trial, effects))
    }

    fn admin(&mut self, change: AdminChange) -> Reply {
        match self
            .engine
            .handle(Event::Admin(change), self.started.elapsed())
        {
            Ok(effects) => match self.perform(effects) {
                Ok(()) => Reply::Done,
                Err(error) => Reply::Refused(format!(
                    "in force, but not kept for the next start: {error:#}"
                )),
            },
            Err(error) => Reply::Refused(error.to_string()),
        }
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
            verdicts: (totals.verdicts.iter())
                .map(|(verdict, counter)| (verdict.label().to_owned(), counter.packets))
                .collect(),
            flow_events: (totals.flow_events.iter())
                .map(|(event, counter)| (event.label().to_owned(), counter.packets))
                .collect(),
        })
    }
}
