//! From what is known of a group's members to each member's part of the traffic. Pure.
//!
//! A group's stages are asked in turn. Each one gets the candidates that the one before it kept,
//! and either narrows them down or decides. A new kind of stage is a variant of [`Stage`], a file
//! here and an arm in `run`.

mod available;
mod enabled;
mod explain;
mod latency;
mod priority;
#[cfg(test)]
mod tests;
mod weight;

use std::collections::BTreeMap;

pub(crate) use self::explain::percent;
pub use self::explain::{
    Asked, Explanation, MatchedRule, Outcome, RemovedMember, RingSummary, StageSummary,
};
use crate::model::{Group, Member, MemberState, Share, Stage};

/// Index into [`Group::members`].
pub type MemberIndex = usize;

/// Who gets which part of the traffic, and how that came about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Decision {
    /// Parts above 0 that sum to exactly 1; or empty: nobody may get traffic.
    pub shares: BTreeMap<MemberIndex, Share>,
    /// The all-down rule is in use, because no member is healthy.
    pub best_effort: bool,
    /// The stages that were asked, in order.
    pub trace: Vec<StageTrace>,
}

/// What one stage did: each candidate that it got was either kept or removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StageTrace {
    /// `enabled`, `available`, `priority`, `latency` or `weight`.
    pub stage: &'static str,
    /// Who went on, in the group's order.
    pub kept: Vec<MemberIndex>,
    /// Who did not, in the group's order.
    pub removed: Vec<Removal>,
    /// Why the stage did not do what its name says, for people.
    pub note: Option<&'static str>,
}

/// A member that a stage took out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Removal {
    /// Which member.
    pub member: MemberIndex,
    /// The reason, for people: `priority 2, and 1 is available`.
    pub why: String,
}

/// Each member's part of the traffic of `group`; `states[i]` belongs to `group.members[i]`.
///
/// Members that may not be used at all are taken out before the first stage, as stage `enabled`.
/// Whoever is left after the last stage, if none decided, gets equal parts.
pub fn decide(group: &Group, states: &[MemberState]) -> Decision {
    debug_assert_eq!(group.members.len(), states.len());
    let members = group.members.iter().zip(states).enumerate();
    let candidates = members
        .map(|(index, (member, state))| Candidate {
            index,
            member,
            state,
        })
        .collect();
    let mut decision = Decision::default();
    let mut candidates = decision.narrow("enabled", enabled::run(candidates));
    for stage in &group.stages {
        if candidates.is_empty() {
            break;
        }
        match run(stage, candidates) {
            (name, Step::Narrowed(split)) => candidates = decision.narrow(name, split),
            (name, Step::Decided(verdict)) => {
                decision.settle(name, verdict);
                return decision;
            }
        }
    }
    decision.shares = equal_parts(&candidates);
    decision
}

/// Asks one stage; there is at least one candidate.
fn run<'a>(stage: &Stage, candidates: Vec<Candidate<'a>>) -> (&'static str, Step<'a>) {
    match stage {
        Stage::Available(all_down) => ("available", available::run(*all_down, candidates)),
        Stage::Priority => ("priority", priority::run(candidates)),
        Stage::Latency { window } => ("latency", latency::run(*window, candidates)),
        Stage::Weight => ("weight", weight::run(&candidates)),
    }
}

/// A member that is still in the running.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    index: MemberIndex,
    member: &'a Member,
    state: &'a MemberState,
}

/// What a stage makes of its candidates.
enum Step<'a> {
    /// The kept ones go on to the next stage.
    Narrowed(Split<'a>),
    /// No further stage is asked.
    Decided(Verdict),
}

struct Split<'a> {
    kept: Vec<Candidate<'a>>,
    removed: Vec<Removal>,
    note: Option<&'static str>,
}

struct Verdict {
    shares: BTreeMap<MemberIndex, Share>,
    best_effort: bool,
    note: Option<&'static str>,
}

impl<'a> Split<'a> {
    /// Removes the candidates that `why` has a reason against.
    fn new(candidates: Vec<Candidate<'a>>, why: impl Fn(&Candidate<'a>) -> Option<String>) -> Self {
        let mut split = Self::all(Vec::new(), None);
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
    fn all(kept: Vec<Candidate<'a>>, note: Option<&'static str>) -> Self {
        Self {
            kept,
            removed: Vec::new(),
            note,
        }
    }
}

impl Decision {
    /// Records what a stage did, and returns who goes on.
    fn narrow<'a>(&mut self, stage: &'static str, split: Split<'a>) -> Vec<Candidate<'a>> {
        self.trace.push(StageTrace {
            stage,
            kept: split.kept.iter().map(|kept| kept.index).collect(),
            removed: split.removed,
            note: split.note,
        });
        split.kept
    }

    fn settle(&mut self, stage: &'static str, verdict: Verdict) {
        self.trace.push(StageTrace {
            stage,
            kept: verdict.shares.keys().copied().collect(),
            removed: Vec::new(),
            note: verdict.note,
        });
        self.shares = verdict.shares;
        self.best_effort = verdict.best_effort;
    }
}

fn equal_parts(candidates: &[Candidate<'_>]) -> BTreeMap<MemberIndex, Share> {
    let part = |_: &Candidate<'_>| 1;
    parts(candidates, part)
}

/// Parts in proportion to `size`, which is above 0.
fn parts(
    candidates: &[Candidate<'_>],
    size: impl Fn(&Candidate<'_>) -> u64,
) -> BTreeMap<MemberIndex, Share> {
    let sum: u64 = candidates.iter().map(&size).sum();
    candidates
        .iter()
        .map(|it| (it.index, Share::new(size(it).into(), sum.into())))
        .collect()
}
