//! A group's stages, asked in turn for a client.

use super::{
    Client, MemberIndex, StageTrace, available,
    candidate::Candidate,
    enabled, geo, latency, prefer, priority, proximity,
    roster::Roster,
    step::{Candidates, Note, Split, Step},
    subnet, weight,
};
use crate::model::{Group, Name, NoAnswer, Spread, Stage};

/// What the stages of a group make of a client. Clients of equal choices get the same.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Choice<'a> {
    pub(super) group: &'a Name,
    /// The all-down rule is in use.
    pub(super) best_effort: bool,
    /// The stages that were asked, if somebody asks why.
    pub(super) trace: Vec<StageTrace>,
    pub(super) end: End<'a>,
}

/// Who is left after the stages.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum End<'a> {
    /// Nobody.
    Answer(NoAnswer),
    /// Whoever the backup group chooses.
    Backup(Box<Choice<'a>>),
    /// Some members.
    Members {
        /// At least one, in the group's order.
        left: Vec<MemberIndex>,
        /// The choices of those of them that are groups.
        within: Vec<Choice<'a>>,
        shape: Shape,
    },
}

/// How those that are left share.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Shape {
    /// So many get the flows of a client.
    pub(super) take: Option<u16>,
    pub(super) by_weight: bool,
    pub(super) spread: Spread,
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

/// Whose flows are asked for.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) client: &'a Client,
    /// Somebody asks why.
    pub(super) explained: bool,
}

/// What a group chooses for a client.
pub(super) fn choose<'a>(roster: &'a Roster<'a>, group: &Name, asked: Question<'_>) -> Choice<'a> {
    let walk = Walk {
        roster,
        asked,
        group: roster.group(group),
        trace: Vec::new(),
        best_effort: false,
        is_preferred: false,
        shape: Shape::default(),
    };
    walk.choose()
}

/// On the way through a group's stages.
struct Walk<'a, 'q> {
    roster: &'a Roster<'a>,
    asked: Question<'q>,
    group: &'a Group,
    trace: Vec<StageTrace>,
    best_effort: bool,
    /// A preferred location decided, so nothing narrows what it kept (S105).
    is_preferred: bool,
    shape: Shape,
}

impl<'a> Walk<'a, '_> {
    /// Asks the stages one after the other, until one decides or the last has narrowed.
    fn choose(mut self) -> Choice<'a> {
        let all = self.roster.members(&self.group.name);
        let all = Candidates::new(all, self.asked.explained);
        let mut candidates = self.narrow("enabled", enabled::run(self.asked.client, all));
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
                Step::Backup(why) => return self.without_members(name, why, NoAnswer::Backup),
                Step::NoAnswer(why) => {
                    let answer = self.group.no_answer;
                    return self.without_members(name, why, answer);
                }
            }
        }
        if candidates.iter().any(Candidate::is_stopped) {
            let split = candidates.keep(|it| !it.is_stopped(), |it| it.trouble().to_string());
            candidates = self.narrow("stopped", split);
        }
        if candidates.is_empty() {
            return self.nobody_left();
        }
        self.shared_by(&candidates)
    }

    /// Asks one stage; there is at least one candidate.
    fn ask(&mut self, stage: &Stage, candidates: Candidates<'a>) -> Step<'a> {
        let client = self.asked.client;
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
                let note = format_args!("not asked: the preferred locations have decided");
                Step::Narrowed(candidates.keep_all().with_note(note))
            }
            Stage::Proximity { on_no_match } => proximity::run(on_no_match, client, candidates),
            Stage::Priority => priority::run(candidates),
            Stage::Latency { source, window } => {
                latency::run(source, window, &client.latencies, candidates)
            }
            Stage::Subset { take } => {
                self.shape.take = Some(take);
                let note = format_args!("each client gets {take} of them, chosen by its address");
                Step::Narrowed(candidates.keep_all().with_note(note))
            }
            Stage::Weight { equal, spread } => {
                self.shape.by_weight = !equal;
                self.shape.spread = spread;
                Step::Narrowed(weight::run(equal, candidates))
            }
        }
    }

    /// Takes note of what a stage did, and returns who goes on.
    fn narrow(&mut self, stage: &'static str, split: Split<'a>) -> Candidates<'a> {
        let Split {
            kept,
            removed,
            note,
        } = split;
        if self.asked.explained {
            self.trace.push(StageTrace {
                stage,
                kept: kept.iter().map(|it| it.index).collect(),
                removed,
                note,
            });
        }
        kept
    }

    /// Some members are left; of groups among them it depends on their own stages.
    fn shared_by(self, candidates: &Candidates<'a>) -> Choice<'a> {
        let groups = candidates.iter().filter_map(|it| it.member.group());
        let within = groups.map(|group| choose(self.roster, group, self.asked));
        let end = End::Members {
            left: candidates.iter().map(|it| it.index).collect(),
            within: within.collect(),
            shape: self.shape,
        };
        self.end(end)
    }

    /// The stages left nobody, which is told of only where somebody else takes over.
    fn nobody_left(self) -> Choice<'a> {
        let (answer, backup) = (self.group.no_answer, &self.group.backup);
        let is_told = self.asked.explained && answer == NoAnswer::Backup && backup.is_some();
        let why = is_told.then(|| "nobody is left".to_owned());
        self.without_members("answer", why, answer)
    }

    /// After `stage`, and because of what it says, flows get an answer, which a backup group is too. The
    /// configuration check sees to it that there is one where it is asked.
    fn without_members(mut self, stage: &'static str, why: Note, answer: NoAnswer) -> Choice<'a> {
        let backup = self.group.backup.as_ref();
        let backup = backup.filter(|_| answer == NoAnswer::Backup);
        let note = match (why, backup) {
            (Some(why), Some(backup)) => {
                Some(format!("{why}: the backup group {backup} takes over"))
            }
            (why, _) => why,
        };
        self.trace.extend(note.map(|note| StageTrace {
            stage,
            kept: Vec::new(),
            removed: Vec::new(),
            note: Some(note),
        }));
        let end = match (answer, backup) {
            (_, Some(backup)) => End::Backup(Box::new(choose(self.roster, backup, self.asked))),
            (NoAnswer::Backup, None) => End::Answer(NoAnswer::Reject),
            (answer, None) => End::Answer(answer),
        };
        self.end(end)
    }

    fn end(self, end: End<'a>) -> Choice<'a> {
        Choice {
            group: &self.group.name,
            best_effort: self.best_effort,
            trace: self.trace,
            end,
        }
    }
}
