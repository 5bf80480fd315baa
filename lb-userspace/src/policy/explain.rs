#[cfg(test)]
mod tests;
mod text;

use std::{collections::BTreeMap, net::IpAddr};

use num_traits::ToPrimitive;
use serde::{Deserialize, Serialize};

use super::{Decision, MemberIndex, StageTrace};
use crate::{
    model::{Group, Name},
    table::{Ring, ring_hash},
};

/// Why a client's new flows go where they go: a decision, with names instead of numbers.
///
/// As JSON it is what `explain --format json` prints; its `Display` is the text for people.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Explanation {
    /// The service that was asked for.
    pub service: Name,
    /// The client that was asked for.
    pub client: IpAddr,
    /// The client's class; 0 is every client.
    pub class: u32,
    /// What becomes of a new flow.
    pub outcome: Outcome,
    /// The group waits for its first probe results, so this is not in force: until then its services
    /// stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// No member is healthy, and the all-down rule is in use.
    pub best_effort: bool,
    /// Each backend's part of the new flows, from 0 to 1.
    pub shares: BTreeMap<Name, f64>,
    /// The same, exactly: `3/10`.
    pub fractions: BTreeMap<Name, String>,
    /// What each stage did, in order.
    pub stages: Vec<StageSummary>,
    /// The ring that stands for the shares.
    pub ring: RingSummary,
}

/// What becomes of a new flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No member may get it, and it is dropped.
    Drop,
    /// It goes to a backend.
    Forward,
}

/// What one stage did.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct StageSummary {
    /// The group whose stage it is.
    pub group: Name,
    /// The stage.
    pub stage: String,
    /// The backends that went on.
    pub kept: Vec<Name>,
    /// Those that did not.
    pub removed: Vec<RemovedMember>,
    /// Why the stage did not do what its name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A backend that a stage took out.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RemovedMember {
    /// Which backend.
    pub member: Name,
    /// The reason.
    pub why: String,
}

/// What identifies a ring.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RingSummary {
    /// Its number of slots.
    pub length: usize,
    /// Its hash as 16 hexadecimal digits: equal on two edges that send flows the same way.
    pub hash: String,
}

impl Explanation {
    /// Explains the `decision` for `group`, which made `ring`, to a `client` of `service`.
    pub fn new(
        service: &Name,
        client: IpAddr,
        group: &Group,
        decision: &Decision,
        ring: &Ring,
    ) -> Self {
        let name = |member: &MemberIndex| group.members[*member].backend.clone();
        let shares = || decision.shares.iter();
        Self {
            service: service.clone(),
            client,
            class: 0,
            outcome: if decision.shares.is_empty() {
                Outcome::Drop
            } else {
                Outcome::Forward
            },
            undecided: false,
            best_effort: decision.best_effort,
            shares: shares()
                .map(|(member, share)| (name(member), share.to_f64().unwrap_or_default()))
                .collect(),
            fractions: shares()
                .map(|(member, share)| (name(member), share.to_string()))
                .collect(),
            stages: decision
                .trace
                .iter()
                .map(|stage| StageSummary::new(group, stage))
                .collect(),
            ring: RingSummary {
                length: ring.slots.len(),
                hash: format!("{:016x}", ring_hash(ring)),
            },
        }
    }
}

impl StageSummary {
    fn new(group: &Group, trace: &StageTrace) -> Self {
        let name = |member: MemberIndex| group.members[member].backend.clone();
        let removed = trace.removed.iter().map(|removal| RemovedMember {
            member: name(removal.member),
            why: removal.why.clone(),
        });
        Self {
            group: group.name.clone(),
            stage: trace.stage.to_owned(),
            kept: trace.kept.iter().copied().map(name).collect(),
            removed: removed.collect(),
            note: trace.note.map(str::to_owned),
        }
    }
}
