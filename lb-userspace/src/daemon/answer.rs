//! Answers to the command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use lb_common::tick;
use tokio::sync::oneshot;

use super::Daemon;
use crate::{
    config,
    control::{EdgeView, InterfaceView, Reloaded, Reply, Request, Status},
    dataplane::{Attachment, DoesNotFit, Live, Totals, diff, monotonic},
    engine::{AdminChange, Effect, Engine, Event, GroupView, View},
    model::{Name, changes, needs_restart},
    plan::Plan,
    refusal::{
        Problem, Refusal, Refused,
        command::fixed_setting,
        notice::{other_file, undecided_group},
    },
};

/// What a refused request has done.
const UNCHANGED: &str = "nothing changed";

impl Daemon {
    pub(super) fn answer(&mut self, (request, reply): (Request, oneshot::Sender<Reply>)) {
        let answer = match request {
            Request::Admin(change) => {
                let done = self.admin(change).map(Reply::Done);
                done.map_err(|refusal| Refused::from(refusal).noting(UNCHANGED))
            }
            Request::Explain { service, client } => {
                let explained = self.explain(&service, client);
                explained
                    .map(|explanation| Reply::Explained(Box::new(explanation)))
                    .map_err(Into::into)
            }
            Request::ExplainClasses { service } => {
                let explained = self.engine.explain_classes(&service);
                explained
                    .map(|classes| Reply::Classes(Box::new(classes)))
                    .map_err(Into::into)
            }
            Request::Plan { path } => {
                let planned = self.plan(&path);
                planned.map(|plan| Reply::Planned(Box::new(plan)))
            }
            Request::Reload { path } => {
                let reloaded = self.reload(path).map(Reply::Reloaded);
                reloaded.map_err(|refused| refused.noting(UNCHANGED))
            }
            Request::Status => {
                let totals = self.kernel.counters(&self.tables);
                let live = self.kernel.live(&self.tables, tick(monotonic()));
                live.map(|live| Reply::Status(Box::new(self.status(&totals, &live))))
                    .map_err(Into::into)
            }
        };
        let _client_is_gone = reply.send(answer.unwrap_or_else(Reply::Refused));
    }

    /// What the configuration in a file would change; nothing is done.
    fn plan(&self, path: &Path) -> Result<Plan, Refused> {
        let checked = config::load(path)?;
        let mut plan = self.engine.plan(checked.clone());
        let named = self.kernel.named(tick(monotonic()));
        for backend in &mut plan.backends {
            let roots = self.engine.model().root_groups().into_iter();
            let targets = roots.filter_map(|root| self.target(root, &backend.backend));
            let flows = targets.map(|id| named.get(&id).copied().unwrap_or(0));
            backend.flows = Some(flows.sum());
        }
        if plan.restart.is_empty() {
            let fits = self.trial(Event::Reload(Box::new(checked)));
            plan.refused = fits.err().map(Into::into);
        }
        Ok(plan)
    }

    /// The number of the target of a backend for a group that services name.
    fn target(&self, root: &Name, backend: &Name) -> Option<u16> {
        let key = self.engine.target_key(root, backend)?;
        self.tables.target_id(&key)
    }

    /// Takes a configuration up whole or not at all.
    pub(super) fn reload(&mut self, path: Option<PathBuf>) -> Result<Reloaded, Refused> {
        let path = path.unwrap_or_else(|| self.config.clone());
        let text: Arc<str> = config::text(&path)?.into();
        let checked = config::load_text(&path, &text)?;
        let old = self.engine.model();
        let fixed = needs_restart(old, &checked.model);
        if !fixed.is_empty() {
            return Err(fixed_setting(fixed.join(", edge.")).into());
        }
        let changes = changes(old, &checked.model);
        let mut warnings = checked.warnings.clone();
        warnings.extend(config::warnings_of_this_host(&checked.model));
        if path != self.config {
            warnings.push(other_file(self.config.display()).into());
        }
        warnings.extend(self.try_out(Event::Reload(Box::new(checked)))?);
        self.kernel
            .set_idle(self.engine.model().edge.flow_idle.ticks());
        self.config = path;
        self.data.replace(text, self.engine.model());
        let groups = self.engine.view().groups.into_iter();
        let undecided = groups.filter(|group| group.undecided);
        warnings.extend(undecided.map(|group| undecided_group(group.name).into()));
        Ok(Reloaded { changes, warnings })
    }

    /// Takes an event up if what follows from it fits: it is tried on a copy of the engine first.
    /// Says what did not go as it should.
    pub(super) fn try_out(&mut self, event: Event) -> Result<Vec<Problem>, Refusal> {
        let (trial, effects) = self.trial(event)?;
        self.engine = trial;
        self.perform(effects);
        let mut warnings = Vec::new();
        if let Err(unsaved) = self.try_save() {
            warnings.push(unsaved.after("in force").into());
        }
        if let Some((_, why)) = &self.pending {
            warnings.push(why.clone().after("not in force yet").into());
        }
        Ok(warnings)
    }

    /// The engine after an event, if what follows from it fits into the tables.
    fn trial(&self, event: Event) -> Result<(Engine, Vec<Effect>), Refusal> {
        let mut trial = self.engine.clone();
        let effects = trial.handle(event, self.started.elapsed())?;
        if let Some(image) = trial.image() {
            match diff(&self.tables, image, self.grace()) {
                Ok(_) | Err(DoesNotFit::NotYet { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((trial, effects))
    }

    fn admin(&mut self, change: AdminChange) -> Result<Vec<String>, Refusal> {
        let subject = change.subject.clone();
        let warnings = self.try_out(Event::Admin(change))?;
        let warnings = warnings.iter().map(Problem::warning);
        Ok(self
            .engine
            .standing(&subject)
            .into_iter()
            .chain(warnings)
            .collect())
    }

    /// How everything stands, with what the kernel counted and the live flows of each target.
    pub(super) fn status(&self, totals: &Totals, live: &Live) -> Status {
        let mut view = self.engine.view();
        let published: BTreeSet<_> = self.tables.services().map(|(key, _)| key).collect();
        for service in &mut view.services {
            let known = self.engine.model().service(service.name.as_str());
            let known = known.ok().filter(|known| published.contains(&known.key()));
            service.published = known.is_some();
            let counter = known.and_then(|known| totals.services.get(&known.key()));
            service.packets = counter.map(|counter| counter.packets);
            service.pins = known.and_then(|known| live.pins.get(&known.key()).copied());
        }
        self.count_members(&mut view, totals, &live.flows);
        let edge = &self.engine.model().edge;
        Status {
            edge: EdgeView {
                name: edge.name.clone(),
                attached: self.is_attached(),
                interfaces: self.attachments.iter().map(interface).collect(),
                pid: std::process::id(),
                uptime_s: self.started.elapsed().as_secs(),
                heartbeat_age_s: self.heartbeat_age().as_secs(),
                config: self.config.clone(),
                pin_dir: edge.pin_dir.clone(),
                flows: live.flows.values().sum(),
                flow_entries: edge.flow_entries,
                translations: live.translations,
                nat_entries: edge.nat.entries,
            },
            view,
            data_files: self.data_files(),
            pending: (self.pending.as_ref()).map(|(_, why)| why.clone().into()),
            warnings: config::own_ports(self.engine.model()).into_iter().collect(),
            verdicts: totals.packets_by_verdict(),
            flow_events: totals.packets_by_flow_event(),
        }
    }

    /// Fills in what the kernel counted of members. Targets are of the groups that services name, and a
    /// member of a group within several of them has one in each.
    fn count_members(&self, view: &mut View, totals: &Totals, named: &BTreeMap<u16, u64>) {
        let model = self.engine.model();
        let roots = model.root_groups().into_iter();
        let roots: Vec<_> = roots.map(|root| (root, model.within(root))).collect();
        for GroupView { name, members, .. } in &mut view.groups {
            let around = roots.iter().filter(|(_, within)| within.contains(name));
            let around: BTreeSet<_> = around.map(|(root, _)| *root).chain([&*name]).collect();
            for member in members.iter_mut().filter(|member| !member.is_group) {
                let targets = around.iter();
                let targets = targets.filter_map(|root| self.target(root, &member.backend));
                member.targets = targets.collect();
                let sum = |count: &dyn Fn(&u16) -> u64| {
                    let known = !member.targets.is_empty();
                    known.then(|| member.targets.iter().map(count).sum())
                };
                member.flows = sum(&|id| named.get(id).copied().unwrap_or(0));
                member.packets =
                    sum(&|id| totals.targets.get(id).map_or(0, |counter| counter.packets));
            }
        }
    }
}

fn interface((attachment, attached): &(Attachment, bool)) -> InterfaceView {
    InterfaceView {
        name: attachment.interface.clone(),
        xdp_mode: attachment.mode.to_string(),
        attached: *attached,
    }
}
