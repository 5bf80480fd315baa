//! From what is known of a group's members to each member's part of the traffic. Pure.
//!
//! A group's stages are asked in turn. Each one gets the candidates that the one before it kept,
//! and either narrows them down or decides. A new kind of stage is a variant of [`Stage`], a file
//! here and an arm in `Walk::ask`. Whom they leave is a `Choice`; `share` makes shares of it.

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
mod roster;
mod rows;
mod scene;
mod share;
mod step;
mod subnet;
mod subset;
#[cfg(test)]
mod tests;
mod walk;
mod weight;

use std::collections::{BTreeMap, HashMap};

use self::{
    candidate::{Candidate, Standing},
    roster::Roster,
    share::shared,
    step::Step,
    walk::{Question, choose},
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
    /// The stages that were asked, in order; none if the decision was made with others, by
    /// [`decide_all`].
    pub trace: Vec<StageTrace>,
    /// The decisions of the groups that get a part, or of the backup group.
    pub nested: Vec<Self>,
}

/// What one stage did: each candidate that it got was either kept or removed.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
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
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
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

/// The decisions of a group for some clients.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decisions {
    /// In the order of the first clients that have them. Equal ones that came about differently may both
    /// be here.
    pub distinct: Vec<Decision>,
    /// For each client which of them.
    pub of_client: Vec<usize>,
}

/// What becomes of new flows of a client in a group, and how that came about.
///
/// Members that may not be used at all are taken out before the first stage, as stage `enabled`.
/// Whoever is left after the last stage shares by weight if there was a stage `weight`, else equally.
/// A member that is a group hands its part to its own decision; if that has no answer, the answer of
/// that group takes the part.
pub fn decide(scene: &Scene<'_>, group: &Name, client: &Client) -> Decision {
    let roster = Roster::of(scene, group);
    let asked = Question {
        client,
        explained: true,
    };
    shared(&roster, choose(&roster, group, asked))
}

/// What becomes of new flows of many clients in a group. It is what [`decide`] says of each, without
/// the reasons, and takes much less time: what does not depend on the client is found out once, and
/// shares are worked out once for all clients whom the stages leave the same members.
pub fn decide_all(scene: &Scene<'_>, group: &Name, clients: &[Client]) -> Decisions {
    let roster = Roster::of(scene, group);
    let mut known = HashMap::new();
    let mut distinct = Vec::new();
    let of_client = clients.iter().map(|client| {
        let asked = Question {
            client,
            explained: false,
        };
        let choice = choose(&roster, group, asked);
        *known.entry(choice).or_insert_with_key(|choice| {
            distinct.push(shared(&roster, choice.clone()));
            distinct.len() - 1
        })
    });
    Decisions {
        of_client: of_client.collect(),
        distinct,
    }
}

/// What the health of each member is to its group, with what stands behind it for people: that of a
/// group follows from its members.
pub fn healths(scene: &Scene<'_>, group: &Name) -> Vec<(Health, String)> {
    let of = |candidate: &Candidate<'_>| {
        let health = match candidate.standing {
            Standing::Stopped | Standing::Down => Health::Down,
            Standing::Checking | Standing::Unchecked => Health::Checking,
            Standing::Up => Health::Up,
        };
        (health, candidate.why.clone().into_owned())
    };
    let roster = Roster::of(scene, group);
    roster.members(group).iter().map(of).collect()
}
