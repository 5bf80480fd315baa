//! State and events in, effects out. Pure: it decides everything and does nothing.

mod admin;
mod compile;
#[cfg(test)]
pub(crate) mod fixtures;
mod known;
mod observe;
mod outlook;
mod ramp;
mod saved;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

pub use self::{
    admin::{AdminChange, AdminState, Override, Subject},
    saved::{Found, Saved},
    view::{GroupView, MemberView, ServiceView, View},
};
use self::{compile::Made, ramp::Ramps};
use crate::{
    class::Clients,
    config::Checked,
    model::{Admin, Backend, Destination, Group, Health, Member, Model, Name},
    neighbour::Way,
    probe::{History, Latency, Sample, Schedule, StreamKey, stream_key, streams},
    refusal::Refusal,
    table::Image,
};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The operator wants something of a backend or member.
    Admin(AdminChange),
    /// A new configuration, checked.
    Reload(Box<Checked>),
    /// Probes ended.
    Samples(Vec<(StreamKey, Sample)>),
    /// Time passed.
    Tick,
    /// The ways to backends changed.
    Ways(Vec<(Destination, Way)>),
}

/// Something that the daemon must do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Make the kernel's tables say this.
    Apply(Image),
    /// Keep these streams of probes going, and no others.
    Probe(BTreeMap<StreamKey, Schedule>),
    /// Keep [`Engine::saved`] for the next start: it says something new.
    Save,
    /// Tell the operator.
    Tell(Notice),
    /// Keep an eye on the ways to these backends, and no others.
    Watch(BTreeSet<Destination>),
}

/// What an operator should read in the log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Notice {
    /// All members of a group are down and its all-down rule is in use, or no longer.
    BestEffort {
        /// The group.
        group: Name,
        /// Whether it is in use now.
        active: bool,
    },
    /// No member may get traffic, and new flows get no backend, or no longer.
    NoAnswer {
        /// The group.
        group: Name,
        /// Whether that is so now.
        active: bool,
    },
    /// The health of a member changed.
    Health {
        /// The group.
        group: Name,
        /// The member.
        backend: Name,
        /// What it is now.
        health: Health,
        /// What stands behind it.
        why: String,
    },
    /// A group has its first decision, and its services are published.
    Published {
        /// The group.
        group: Name,
    },
    /// This host could not send a probe.
    Unsent {
        /// Why not.
        why: String,
    },
    /// The way to a backend changed.
    Way {
        /// The backend.
        backend: Name,
        /// Whether packets reach it.
        open: bool,
        /// What it is now, for people.
        way: String,
    },
}

/// All that is known, and the last image made of it.
#[derive(Clone, Debug)]
pub struct Engine {
    model: Model,
    /// The classes of clients that follow from the model.
    clients: Clients,
    admin: AdminState,
    /// By stream and group: the same samples, by each group's own rules (S39).
    histories: BTreeMap<StreamKey, BTreeMap<Name, History>>,
    latencies: BTreeMap<StreamKey, BTreeMap<Name, Latency>>,
    /// Why the last bad probe of a stream was bad.
    failures: BTreeMap<StreamKey, String>,
    ways: BTreeMap<Destination, Way>,
    /// The last open way to each backend that had one.
    open_ways: BTreeMap<Destination, Way>,
    courses: BTreeMap<Name, Course>,
    ramps: Ramps,
    now: Duration,
    image: Option<Image>,
}

/// What is remembered of a group from one image to the next.
#[derive(Clone, Debug, Default)]
struct Course {
    /// When it was first seen: its grace counts from there.
    since: Duration,
    /// The kernel's tables serve it, be it as an earlier daemon left them.
    stands: bool,
    /// It had a decision in the life of this engine.
    decided: bool,
    /// Its all-down rule is in use.
    best_effort: bool,
    /// None of its members may get traffic.
    no_answer: bool,
    /// What the last image has of it.
    made: Option<Made>,
}

impl Engine {
    /// An engine that starts at `now`, a monotonic time, with what an earlier daemon left: what it
    /// saved, and the groups that the kernel's tables already serve.
    pub fn start(
        Checked { model, clients, .. }: Checked,
        saved: Saved,
        adopted: BTreeSet<Name>,
        now: Duration,
    ) -> (Self, Vec<Effect>) {
        let mut engine = Self {
            model,
            clients,
            admin: saved.admin,
            histories: BTreeMap::new(),
            latencies: BTreeMap::new(),
            failures: BTreeMap::new(),
            ways: BTreeMap::new(),
            open_ways: BTreeMap::new(),
            courses: BTreeMap::new(),
            ramps: Ramps::default(),
            now,
            image: None,
        };
        for group in adopted {
            let course = Course {
                since: now,
                stands: true,
                ..Course::default()
            };
            engine.courses.insert(group, course);
        }
        let mut effects = engine.begin(&saved.found);
        engine.settle(&mut effects);
        (engine, effects)
    }

    /// Takes an event that happened at `now`.
    ///
    /// # Errors
    ///
    /// An [`Event::Admin`] that can not be done; nothing changed then.
    pub fn handle(&mut self, event: Event, now: Duration) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        self.now = now;
        match event {
            Event::Admin(change) => {
                let kept = self.saved();
                self.admin.change(&self.model, change)?;
                effects = self.begin(&kept.found);
            }
            Event::Reload(checked) => effects = self.take_up(*checked),
            Event::Samples(samples) => {
                if !self.sampled(samples, &mut effects) {
                    return Ok(effects);
                }
            }
            Event::Tick => {}
            Event::Ways(ways) => self.found(ways, &mut effects),
        }
        self.settle(&mut effects);
        Ok(effects)
    }

    /// The configuration in use.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The last image.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_ref()
    }

    /// What outlives the daemon.
    pub fn saved(&self) -> Saved {
        let mut found = Found::default();
        for group in self.model.groups.values() {
            let is_probed =
                |member: &&Member| self.admin.admin(&group.name, member) != Admin::Disable;
            let probed = group.members.iter().filter(is_probed);
            for key in probed.filter_map(|member| key(&self.model, group, member)) {
                let history = self.histories.get(&key).and_then(|it| it.get(&group.name));
                let latency = self.latencies.get(&key).and_then(|it| it.get(&group.name));
                if let (Some(history), Some(latency)) = (history, latency) {
                    found.keep(&group.name, &key, history, latency);
                }
            }
        }
        Saved {
            admin: self.admin.clone(),
            found,
        }
    }

    /// Puts another configuration in the place of the one in use.
    fn take_up(&mut self, checked: Checked) -> Vec<Effect> {
        let kept = self.saved();
        (self.model, self.clients) = (checked.model, checked.clients);
        self.admin.forget_unknown(&self.model);
        self.begin(&kept.found)
    }

    /// Takes up the model and the overrides: histories and latencies of the streams go on from `kept`,
    /// others begin.
    fn begin(&mut self, kept: &Found) -> Vec<Effect> {
        for made in self.courses.values_mut().filter_map(|it| it.made.as_mut()) {
            made.basis = None;
        }
        self.histories.clear();
        self.latencies.clear();
        for group in self.model.groups.values() {
            let Some(probe) = &group.probe else { continue };
            for (.., backend) in group.backends() {
                let key = stream_key(&self.model.backends[backend], probe);
                let latency = kept.latency(&group.name, &key, probe.smoothing);
                let of_stream = self.latencies.entry(key.clone()).or_default();
                of_stream.insert(group.name.clone(), latency);
                let history = kept.history(&group.name, &key, group.health);
                let of_stream = self.histories.entry(key).or_default();
                of_stream.insert(group.name.clone(), history);
            }
        }
        self.failures
            .retain(|key, _| self.latencies.contains_key(key));
        let used = self.model.used_groups();
        self.courses.retain(|group, _| used.contains(group));
        for group in used {
            let since = self.now;
            let fresh = || Course {
                since,
                ..Course::default()
            };
            self.courses.entry(group.clone()).or_insert_with(fresh);
        }
        let backends = self.model.backends.values();
        vec![
            Effect::Watch(backends.map(Backend::destination).collect()),
            Effect::Probe(self.streams()),
            Effect::Save,
        ]
    }

    /// The streams that should run: those of members that are not disabled.
    fn streams(&self) -> BTreeMap<StreamKey, Schedule> {
        streams(&self.model, |group, backend| self.probed(group, backend))
    }

    /// Makes the image anew and asks for what differs from the last one.
    fn settle(&mut self, effects: &mut Vec<Effect>) {
        self.begin_ramps();
        let (image, decisions) = self.compile();
        for (group, made) in decisions {
            self.within_is_decided(&group);
            let next = Course {
                since: self.courses[&group].since,
                stands: true,
                decided: true,
                best_effort: made.best_effort,
                no_answer: made.no_answer,
                made: Some(made),
            };
            let (best_effort, no_answer) = (next.best_effort, next.no_answer);
            let last = self.courses.insert(group.clone(), next).unwrap_or_default();
            if !last.decided {
                let group = group.clone();
                effects.push(Effect::Tell(Notice::Published { group }));
            }
            if last.best_effort != best_effort {
                let (group, active) = (group.clone(), best_effort);
                effects.push(Effect::Tell(Notice::BestEffort { group, active }));
            }
            if last.no_answer != no_answer {
                let active = no_answer;
                effects.push(Effect::Tell(Notice::NoAnswer { group, active }));
            }
        }
        if self.image.as_ref() != Some(&image) {
            self.image = Some(image.clone());
            effects.push(Effect::Apply(image));
        }
    }

    /// What a decided group hands flows to is decided with it.
    fn within_is_decided(&mut self, root: &Name) {
        for group in self.model.within(root) {
            if let Some(course) = self.courses.get_mut(group).filter(|_| group != root) {
                (course.stands, course.decided) = (true, true);
            }
        }
    }
}

/// The stream that probes a member; none for a group without probe.
fn key(model: &Model, group: &Group, member: &Member) -> Option<StreamKey> {
    let probe = group.probe.as_ref()?;
    Some(stream_key(&model.backends[member.backend()?], probe))
}

#[cfg(test)]
mod tests;
