//! From what is known of a group's members to each member's part of the traffic. Pure.
//!
//! A group's stages are asked in turn. Each one gets the candidates that the one before it kept,
//! and either narrows them down or decides. A new kind of stage is a variant of [`Stage`], a file
//! here and an arm in `Walk::ask`.

mod available;
mod candidate;
mod classes;
mod enabled;
mod explain;
#[cfg(test)]
pub(crate) mod fixtures;
mod geo;
mod latency;
mod nested;
mod prefer;
mod priority;
mod proximity;
mod rows;
mod scene;
mod subnet;
mod subset;
#[cfg(test)]
mod tests;
mod weight;

use std::collections::BTreeMap;

use self::candidate::{Candidate, Standing};
pub use self::{
    classes::{ClassSummary, ServiceClasses},
    explain::{
        Asked, Explanation, MatchedRule, Outcome, RemovedMember, RingSummary, StageSummary, Told,
    },
    rows::{Destination, Parts, Rows},
    scene::{Client, Scene},
};
pub(crate) use self::{explain::percent, subset::BUCKETS as SUBSET_BUCKETS};
use crate::model::{Group, Health, Name, NoAnswer, Share, Spread, Stage, Who};

/// Index into [`Group::members`].
pub type MemberIndex = usize;

/// Who gets which part of a group's traffic from some clients, and how that came about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decision {
    /// The group.
    pub group: Name,
    /// The part of each of its members, above 0, that sum to exactly 1; or empty: no member may get
    /// traffic.
    pub members: BTreeMap<MemberIndex, Share>,
    /// What becomes of flows in the end, nested groups included.
    pub rows: Rows,
    /// The all-down rule is in use, because no member is healthy.
    pub best_effort: bool,
    /// The stages that were asked, in order.
    pub trace: Vec<StageTrace>,
    /// The decisions of the groups that get a part, or of the backup group.
    pub nested: Vec<Decision>,
}

/// What one stage did: each candidate that it got was either kept or removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StageTrace {
    /// `enabled`, `available`, `subnet`, `geo`, `prefer`, `proximity`, `priority`, `latency`,
    /// `subset`, `weight`, or `answer` where no member is left.
    pub stage: &'static str,
    /// Who went on, in the group's order.
    pub kept: Vec<MemberIndex>,
    /// Who did not, in the group's order.
    pub removed: Vec<Removal>,
    /// Why the stage did not do what its name says, for people.
    pub note: Option<String>,
}

/// A member that a stage took out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Removal {
    /// Which member.
    pub member: MemberIndex,
    /// The reason, for people: `priority 2, and 1 is available`.
    pub why: String,
}

impl Decision {
    /// It and all decisions below it, each before those below it.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.nested.iter().rev());
            Some(next)
        })
    }
}

/// What becomes of new flows of a client in a group.
///
/// Members that may not be used at all are taken out before the first stage, as stage `enabled`.
/// Whoever is left after the last stage shares by weight if there was a stage `weight`, else equally.
/// A member that is a group hands its part to its own decision; if that has no answer, the answer of
/// that group takes the part.
pub fn decide(scene: &Scene<'_>, group: &Name, client: &Client) -> Decision {
    let mut walk = Walk {
        scene,
        client,
        group: &scene.groups[group],
        trace: Vec::new(),
        best_effort: false,
        is_preferred: false,
        shape: Shape::default(),
    };
    let all = candidate::all(scene, group, client);
    let mut candidates = walk.narrow("enabled", enabled::run(all));
    for stage in &walk.group.stages {
        if candidates.is_empty() {
            break;
        }
        let name = stage.name();
        match walk.ask(stage, candidates) {
            Step::Narrowed(split) => candidates = walk.narrow(name, split),
            Step::BestEffort(split) => {
                walk.best_effort = true;
                candidates = walk.narrow(name, split);
            }
            Step::Preferred(split) => {
                walk.is_preferred = true;
                candidates = walk.narrow(name, split);
            }
            Step::RoundRobin(split) => {
                walk.best_effort = true;
                walk.shape = Shape::default();
                candidates = walk.narrow(name, split);
                break;
            }
            Step::Backup(why) => return walk.to_backup(name, why),
            Step::NoAnswer(why) => return walk.no_answer(name, why),
        }
    }
    let is_stopped = |it: &Candidate<'_>| it.standing == Standing::Stopped;
    if candidates.iter().any(is_stopped) {
        let stopped = |it: &Candidate<'_>| is_stopped(it).then(|| it.unhealthy()).flatten();
        candidates = walk.narrow("stopped", Split::new(candidates, stopped));
    }
    if candidates.is_empty() {
        return walk.nobody_left();
    }
    walk.share(&candidates)
}

/// What the health of each member is to its group, with what stands behind it for people: that of a
/// group follows from its members.
pub fn healths(scene: &Scene<'_>, group: &Name, client: &Client) -> Vec<(Health, String)> {
    let of = |candidate: Candidate<'_>| {
        let health = match candidate.standing {
            Standing::Stopped | Standing::Down => Health::Down,
            Standing::Checking | Standing::Unchecked => Health::Checking,
            Standing::Up => Health::Up,
        };
        (health, candidate.why.into_owned())
    };
    candidate::all(scene, group, client)
        .into_iter()
        .map(of)
        .collect()
}

/// A group's stages, on the way through them.
struct Walk<'a> {
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
enum Step<'a> {
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

struct Split<'a> {
    kept: Vec<Candidate<'a>>,
    removed: Vec<Removal>,
    note: Option<String>,
}

impl<'a> Split<'a> {
    /// Removes the candidates that `why` has a reason against.
    fn new(candidates: Vec<Candidate<'a>>, why: impl Fn(&Candidate<'a>) -> Option<String>) -> Self {
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
    fn all(kept: Vec<Candidate<'a>>) -> Self {
        Self {
            kept,
            removed: Vec::new(),
            note: None,
        }
    }

    fn with_note(self, note: String) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }
}

impl<'a> Walk<'a> {
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
        let rows_of = |place: &usize| match &candidates[*place].member.who {
            Who::Backend(name) => Rows::one(Destination::Backend(name.clone())),
            Who::Group(_) => nested[place].rows.clone(),
        };
        let mut members = BTreeMap::new();
        let sets = subset::sets(self.scene, candidates, self.shape.take.unwrap_or(u16::MAX));
        let of_set = |(clients, set): (Share, Vec<usize>)| {
            let parts = self.parts(candidates, &set);
            for (place, part) in set.iter().zip(&parts) {
                *members.entry(candidates[*place].index).or_default() += &clients * part;
            }
            let rows = set.iter().map(rows_of);
            let parts = parts.into_iter().zip(rows).collect();
            let rows = match self.shape.spread {
                Spread::Client => Rows::by_client(parts),
                Spread::Flow => Rows::by_flow(parts),
            };
            (clients, rows)
        };
        let rows = Rows::by_client(sets.into_iter().map(of_set).collect());
        Decision {
            group: self.group.name.clone(),
            members,
            rows,
            best_effort: self.best_effort,
            trace: self.trace,
            nested: nested.into_values().collect(),
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
    fn to_backup(mut self, stage: &'static str, why: String) -> Decision {
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
