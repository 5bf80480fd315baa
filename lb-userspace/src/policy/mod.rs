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
mod walk;
mod weight;

use std::collections::BTreeMap;

use self::{
    candidate::{Candidate, Standing},
    walk::{Split, Step, Walk},
};
pub use self::{
    classes::{ClassSummary, ServiceClasses},
    explain::{
        Asked, Explanation, MatchedRule, Outcome, RemovedMember, RingSummary, StageSummary, Told,
    },
    rows::{Destination, Parts, Rows},
    scene::{Client, Scene},
};
pub(crate) use self::{explain::percent, subset::BUCKETS as SUBSET_BUCKETS};
use crate::model::{Health, Name, Share};

/// Index into [`crate::model::Group::members`].
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
    pub nested: Vec<Self>,
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
    Walk::new(scene, group, client).decide()
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
