//! A group's stages, asked in turn.

use std::collections::BTreeMap;

use super::{
    Client, Decision, Destination, Removal, Rows, Scene, StageTrace, available,
    candidate::{self, Candidate, Standing},
    decide, enabled, geo, latency, prefer, priority, proximity, subnet, subset, weight,
};
use crate::model::{Group, Name, NoAnswer, Share, Spread, Stage, Who};

/// A group's stages, on the way through them.
pub(super) struct Walk<'a> {
    scene: &'a Scene<'a>,
    client: &'a Client,
    group: &'a Group,
    trace: Vec<StageTrace>,
    best_effort: bool,
    /// A preferred location decided, so nothing narrows what it kept (S105).
    is_preferred: bool,
    shape: Shape,
}

/// How those that are left share.
#[derive(Clone, Copy)]
struct Shape {
    take: Option<u16>,
    by_weight: bool,
    spread: Spread,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            take: None,
            by_weight: false,
            spread: Spread::Flow,
        }
    }
}

/// What a stage makes of its candidates.
pub(super) enum Step<'a> {
    /// The kept ones go on to the next stage.
    Narrowed(Split<'a>),
    /// The same, though they are not healthy.
    BestEffort(Split<'a>),
    /// The same, and only they decide how they share.
    Preferred(Split<'a>),
    /// The kept ones get equal parts; no further stage is asked.
    RoundRobin(Split<'a>),
    /// The backup group decides.
    Backup(String),
    /// Nobody gets anything.
    NoAnswer(String),
}

/// Candidates whom a stage keeps, and those whom it does not.
pub(super) struct Split<'a> {
    kept: Vec<Candidate<'a>>,
    removed: Vec<Removal>,
    pub(super) note: Option<String>,
}

impl<'a> Split<'a> {
    /// Removes the candidates that `why` has a reason against.
    pub(super) fn new(
        candidates: Vec<Candidate<'a>>,
        why: impl Fn(&Candidate<'a>) -> Option<String>,
    ) -> Self {
        let mut split = Self::all(Vec::new());
        for candidate in candidates {
            match why(&candidate) {
                None => split.kept.push(candidate),
                Some(why) => split.removed.push(Removal {
                    member: candidate.index,
                    why,
                }),
            }
        }
        split
    }

    /// Removes nobody.
    pub(super) fn all(kept: Vec<Candidate<'a>>) -> Self {
        Self {
            kept,
            removed: Vec::new(),
            note: None,
        }
    }

    pub(super) fn with_note(self, note: String) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(scene: &'a Scene<'a>, group: &Name, client: &'a Client) -> Self {
        Self {
            scene,
            client,
            group: &scene.groups[group],
            trace: Vec::new(),
            best_effort: false,
            is_preferred: false,
            shape: Shape::default(),
        }
    }

    /// Asks the stages one after the other, until one decides or the last has narrowed.
    pub(super) fn decide(mut self) -> Decision {
        let all = candidate::all(self.scene, &self.group.name, self.client);
        let mut candidates = self.narrow("enabled", enabled::run(all));
        for stage in &self.group.stages {
            if candidates.is_empty() {
                break;
            }
            let name = stage.name();
            match self.ask(stage, candidates) {
                Step::Narrowed(split) => candidates = self.narrow(name, split),
                Step::BestEffort(split) => {
                    self.best_effort = true;
                    candidates = self.narrow(name, split);
                }
                Step::Preferred(split) => {
                    self.is_preferred = true;
                    candidates = self.narrow(name, split);
                }
                Step::RoundRobin(split) => {
                    self.best_effort = true;
                    self.shape = Shape::default();
                    candidates = self.narrow(name, split);
                    break;
                }
                Step::Backup(why) => return self.by_backup(name, why),
                Step::NoAnswer(why) => return self.no_answer(name, why),
            }
        }
        let is_stopped = |it: &Candidate<'_>| it.standing == Standing::Stopped;
        if candidates.iter().any(is_stopped) {
            let stopped = |it: &Candidate<'_>| is_stopped(it).then(|| it.unhealthy()).flatten();
            candidates = self.narrow("stopped", Split::new(candidates, stopped));
        }
        if candidates.is_empty() {
            return self.nobody_left();
        }
        self.share(&candidates)
    }

    /// Asks one stage; there is at least one candidate.
    fn ask(&mut self, stage: &Stage, candidates: Vec<Candidate<'a>>) -> Step<'a> {
        let client = self.client;
        match *stage {
            Stage::Available {
                all_down,
                min_healthy_weight,
            } => available::run(all_down, min_healthy_weight, candidates),
            Stage::Subnet {
                on_no_match,
                on_unhealthy,
            } => {
                let group = &self.group.name;
                subnet::run(group, on_no_match, on_unhealthy, client, candidates)
            }
            Stage::Geo {
                on_no_match,
                on_unhealthy,
                on_stopped,
            } => geo::run(on_no_match, on_unhealthy, on_stopped, client, candidates),
            Stage::Prefer => prefer::run(client, candidates),
            Stage::Proximity { .. } | Stage::Latency { .. } if self.is_preferred => {
                let note = "not asked: the preferred locations have decided".to_owned();
                Step::Narrowed(Split::all(candidates).with_note(note))
            }
            Stage::Proximity { on_no_match } => proximity::run(on_no_match, client, candidates),
            Stage::Priority => priority::run(candidates),
            Stage::Latency { source, window } => latency::run(source, window, candidates),
            Stage::Subset { take } => {
                self.shape.take = Some(take);
                let note = format!("each client gets {take} of them, chosen by its address");
                Step::Narrowed(Split::all(candidates).with_note(note))
            }
            Stage::Weight { equal, spread } => {
                self.shape.by_weight = !equal;
                self.shape.spread = spread;
                Step::Narrowed(weight::run(equal, candidates))
            }
        }
    }

    /// Records what a stage did, and returns who goes on.
    fn narrow(&mut self, stage: &'static str, split: Split<'a>) -> Vec<Candidate<'a>> {
        self.trace.push(StageTrace {
            stage,
            kept: split.kept.iter().map(|kept| kept.index).collect(),
            removed: split.removed,
            note: split.note,
        });
        split.kept
    }

    /// Shares between those that are left, at least one.
    fn share(self, candidates: &[Candidate<'_>]) -> Decision {
        let nested: BTreeMap<usize, Decision> = candidates
            .iter()
            .enumerate()
            .filter_map(|(place, it)| {
                let group = it.member.group()?;
                Some((place, decide(self.scene, group, self.client)))
            })
            .collect();
        let take = self.shape.take.map_or(candidates.len(), usize::from);
        let (sets, buckets) = if take < candidates.len() {
            subset::sets(self.scene, candidates, take)
        } else {
            (vec![(0..candidates.len()).collect()], vec![0])
        };
        let mut members = BTreeMap::new();
        let rows = sets.iter().enumerate().map(|(number, set)| {
            let parts = self.parts(candidates, set);
            let with_set = buckets.iter().filter(|it| **it == number).count();
            let clients = Share::new(with_set.into(), buckets.len().into());
            for (place, part) in set.iter().zip(&parts) {
                *members.entry(candidates[*place].index).or_default() += &clients * part;
            }
            self.rows(candidates, set, parts, &nested)
        });
        let rows = Rows::by_bucket(rows.collect(), &buckets);
        Decision {
            group: self.group.name.clone(),
            members,
            rows,
            best_effort: self.best_effort,
            trace: self.trace,
            nested: nested.into_values().collect(),
        }
    }

    /// What becomes of flows that a set of candidates has these parts of.
    fn rows(
        &self,
        candidates: &[Candidate<'_>],
        set: &[usize],
        parts: Vec<Share>,
        nested: &BTreeMap<usize, Decision>,
    ) -> Rows {
        let rows = set
            .iter()
            .map(|place| match &candidates[*place].member.who {
                Who::Backend(name) => Rows::one(Destination::Backend(name.clone())),
                Who::Group(_) => nested[place].rows.clone(),
            });
        let parts = parts.into_iter().zip(rows).collect();
        match self.shape.spread {
            Spread::Client => Rows::by_client(parts),
            Spread::Flow => Rows::by_flow(parts),
        }
    }

    /// The parts of a set of candidates, which sum to 1.
    fn parts(&self, candidates: &[Candidate<'_>], set: &[usize]) -> Vec<Share> {
        let size = |place: &usize| match self.shape.by_weight {
            true => {
                let candidate = &candidates[*place];
                let weight = u64::from(candidate.member.weight.value());
                weight * u64::from(candidate.ramp.sixteenths())
            }
            false => 1,
        };
        let sum: u64 = set.iter().map(size).sum();
        let part = |place| Share::new(size(place).into(), sum.into());
        set.iter().map(part).collect()
    }

    /// The stages left nobody.
    fn nobody_left(mut self) -> Decision {
        let is_backup = self.group.no_answer == NoAnswer::Backup;
        if let (true, Some(backup)) = (is_backup, &self.group.backup) {
            let note = format!("nobody is left: the backup group {backup} takes over");
            self.end("answer", note);
        }
        self.answer()
    }

    /// A stage says that there is no answer.
    fn no_answer(mut self, stage: &'static str, why: String) -> Decision {
        match (self.group.no_answer, &self.group.backup) {
            (NoAnswer::Backup, Some(backup)) => {
                self.end(
                    stage,
                    format!("{why}: the backup group {backup} takes over"),
                );
            }
            _ => self.end(stage, why),
        }
        self.answer()
    }

    /// A stage hands over to the backup group.
    fn by_backup(mut self, stage: &'static str, why: String) -> Decision {
        match &self.group.backup {
            Some(backup) => self.end(
                stage,
                format!("{why}: the backup group {backup} takes over"),
            ),
            None => self.end(stage, why),
        }
        self.hand_over()
    }

    fn answer(self) -> Decision {
        match self.group.no_answer {
            NoAnswer::Backup => self.hand_over(),
            answer => self.without_members(Rows::one(Destination::Answer(answer)), Vec::new()),
        }
    }

    /// The backup group decides. The configuration check sees to it that there is one.
    fn hand_over(self) -> Decision {
        let backup = self.group.backup.as_ref();
        let backup = backup.map(|backup| decide(self.scene, backup, self.client));
        let rows = match &backup {
            Some(backup) => backup.rows.clone(),
            None => Rows::one(Destination::Answer(NoAnswer::Reject)),
        };
        self.without_members(rows, backup.into_iter().collect())
    }

    fn end(&mut self, stage: &'static str, why: String) {
        self.trace.push(StageTrace {
            stage,
            kept: Vec::new(),
            removed: Vec::new(),
            note: Some(why),
        });
    }

    fn without_members(self, rows: Rows, nested: Vec<Decision>) -> Decision {
        Decision {
            group: self.group.name.clone(),
            members: BTreeMap::new(),
            rows,
            best_effort: self.best_effort,
            trace: self.trace,
            nested,
        }
    }
}
