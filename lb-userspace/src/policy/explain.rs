#[cfg(test)]
mod tests;
mod text;

use std::{collections::BTreeMap, net::IpAddr};

use num_traits::ToPrimitive;
use serde::{Deserialize, Serialize};

pub(crate) use self::text::percent;
use super::{Decision, Destination, MemberIndex, Rows, StageTrace};
use crate::{
    class::Clients,
    model::{Affinity, Group, Match, Name, NoAnswer, Prefix, Rule, Service, family},
    proof::Judgement,
    refusal::{Refusal, operator},
    table::{Ring, ring_hash},
    whereabouts::Whereabouts,
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
    /// The client's class; 0 is that of all whom no rule matches.
    pub class: usize,
    /// The rule that the client gets this by; none: no rule matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<MatchedRule>,
    /// What becomes of a new flow.
    pub outcome: Outcome,
    /// A group of the service waits for its first probe results, so this is not in force: until then
    /// the service stays as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// No member is healthy, and the all-down rule is in use.
    pub best_effort: bool,
    /// Each backend's part of the new flows, from 0 to 1.
    pub shares: BTreeMap<Name, f64>,
    /// The same, exactly: `3/10`.
    pub fractions: BTreeMap<Name, String>,
    /// The parts of the new flows that get an answer instead of a backend, exactly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
    /// What each stage did, in order; those of a group before those of the groups in it.
    pub stages: Vec<StageSummary>,
    /// The ring that stands for the shares.
    pub ring: RingSummary,
    /// Whether the client's next new flows go where its last one went; those in `shares` are of clients
    /// that have opened none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<AffinitySummary>,
    /// Whether the packet program in the kernel does so, which the daemon fills in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Judgement>,
}

/// The rule of a service that holds for a client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct MatchedRule {
    /// Its place among the service's rules, from 0.
    pub rule: usize,
    /// The longest prefix that the client is in, if the rule names addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The pattern that the client's location matches, if the rule names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The region that the client is in, if the rule names regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The locations that it prefers, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<String>,
    /// The group that serves its clients, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Name>,
    /// The answer that it gives instead: `drop`, `pass` or `reject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl MatchedRule {
    /// The rule of `service` that holds for a client.
    pub fn of(service: &Service, client: IpAddr, whereabouts: &Whereabouts) -> Option<Self> {
        let (rule, why) = service.rule_for(client, whereabouts)?;
        let Rule { route, prefer, .. } = &service.rules[rule];
        let group = route.group().cloned();
        let mut matched = Self {
            rule,
            prefix: None,
            location: None,
            region: None,
            prefer: prefer.iter().map(ToString::to_string).collect(),
            answer: group.is_none().then(|| route.to_string()),
            group,
        };
        match why {
            Match::Prefix(prefix) => matched.prefix = Some(prefix.to_string()),
            Match::Location(pattern) => matched.location = Some(pattern.to_string()),
            Match::Region(region) => matched.region = Some(region.to_string()),
        }
        Some(matched)
    }
}

/// What becomes of a new flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is dropped: by a rule, or because no member may get it.
    Drop,
    /// It goes to a backend.
    Forward,
    /// It is left to the host.
    Pass,
    /// Its sender is told that nobody takes it.
    Reject,
}

impl From<NoAnswer> for Outcome {
    fn from(answer: NoAnswer) -> Self {
        match answer {
            NoAnswer::Drop => Self::Drop,
            NoAnswer::Pass => Self::Pass,
            // The backup group has answered itself.
            NoAnswer::Reject | NoAnswer::Backup => Self::Reject,
        }
    }
}

/// What one stage did.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct StageSummary {
    /// The group whose stage it is.
    pub group: Name,
    /// The stage.
    pub stage: String,
    /// The members that went on.
    pub kept: Vec<Name>,
    /// Those that did not.
    pub removed: Vec<RemovedMember>,
    /// Why the stage did not do what its name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A member that a stage took out.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RemovedMember {
    /// Which member.
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

/// How new flows of a client stay with the backend of the last one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AffinitySummary {
    /// The clients that stay together.
    pub clients: String,
    /// How long they may open no new flow, in seconds.
    pub idle_s: u64,
    /// What the backend must still be: `eligible` or `healthy`.
    pub scope: String,
}

impl AffinitySummary {
    fn of(affinity: &Affinity, client: IpAddr) -> Option<Self> {
        let length = if client.is_ipv4() {
            affinity.v4
        } else {
            affinity.v6
        };
        Some(Self {
            clients: Prefix::around(client, length)?.to_string(),
            idle_s: affinity.idle.as_secs(),
            scope: affinity.scope.as_str().to_owned(),
        })
    }
}

/// A client of a service, and what the service's rules make of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// The service.
    pub service: Name,
    /// The client.
    pub client: IpAddr,
    /// Its class.
    pub class: usize,
    /// The rule that holds for it, if one does.
    pub rule: Option<MatchedRule>,
}

impl Asked {
    /// A client of `service`; `clients` are the classes of its configuration.
    ///
    /// # Errors
    ///
    /// It is of another family than the service, so its packets never come there.
    pub fn new(
        service: &Service,
        client: IpAddr,
        clients: &Clients,
        whereabouts: &Whereabouts,
    ) -> Result<Self, Refusal> {
        let client = client.to_canonical();
        if client.is_ipv4() != service.address.is_ipv4() {
            let (name, address) = (&service.name, service.address);
            let (family, other) = (family(client), family(address));
            return Err(operator::client_of_other_family(
                client, family, name, other, address,
            ));
        }
        Ok(Self {
            service: service.name.clone(),
            client,
            class: clients.class_of(client),
            rule: MatchedRule::of(service, client, whereabouts),
        })
    }
}

impl Explanation {
    /// Explains the answer that a rule gives: no group is asked.
    pub fn of_answer(asked: Asked, outcome: Outcome) -> Self {
        let Asked {
            service,
            client,
            class,
            rule,
        } = asked;
        Self {
            service,
            client,
            class,
            rule,
            outcome,
            undecided: false,
            best_effort: false,
            shares: BTreeMap::new(),
            fractions: BTreeMap::new(),
            answers: BTreeMap::new(),
            stages: Vec::new(),
            ring: RingSummary::of(&Ring::default()),
            affinity: None,
            proof: None,
        }
    }

    /// Explains the `decision` for a group, one of `groups`, which made `ring`.
    pub fn of_decision(
        asked: Asked,
        groups: &BTreeMap<Name, Group>,
        decision: &Decision,
        ring: &Ring,
    ) -> Self {
        let Told {
            outcome,
            shares,
            fractions,
            answers,
        } = Told::of(&decision.rows);
        let stages = decision.all().flat_map(|decision| {
            let group = &groups[&decision.group];
            let stages = decision.trace.iter();
            stages.map(|stage| StageSummary::new(group, stage))
        });
        let affinity = groups[&decision.group].affinity.as_ref();
        let affinity = affinity.filter(|_| outcome == Outcome::Forward);
        Self {
            affinity: affinity.and_then(|it| AffinitySummary::of(it, asked.client)),
            best_effort: decision.all().any(|decision| decision.best_effort),
            shares,
            fractions,
            answers,
            stages: stages.collect(),
            ring: RingSummary::of(ring),
            ..Self::of_answer(asked, outcome)
        }
    }
}

/// What becomes of new flows of some clients, with names and numbers for tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Told {
    /// What becomes of all of them, or of those that get a backend.
    pub outcome: Outcome,
    /// Each backend's part, from 0 to 1.
    pub shares: BTreeMap<Name, f64>,
    /// The same, exactly: `3/10`.
    pub fractions: BTreeMap<Name, String>,
    /// The parts that get an answer instead of a backend, exactly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
}

impl Told {
    pub(super) fn of(rows: &Rows) -> Self {
        let mut told = Self {
            outcome: rows.answer().map_or(Outcome::Forward, Outcome::from),
            shares: BTreeMap::new(),
            fractions: BTreeMap::new(),
            answers: BTreeMap::new(),
        };
        for (to, share) in rows.total() {
            let (value, fraction) = (share.to_f64().unwrap_or_default(), share.to_string());
            match to {
                Destination::Answer(answer) => {
                    told.answers.insert(answer.as_str().to_owned(), fraction);
                }
                Destination::Backend(name) => {
                    told.shares.insert(name.clone(), value);
                    told.fractions.insert(name, fraction);
                }
            }
        }
        told
    }
}

impl RingSummary {
    pub(super) fn of(ring: &Ring) -> Self {
        Self {
            length: ring.slots.len(),
            hash: format!("{:016x}", ring_hash(ring)),
        }
    }
}

impl StageSummary {
    fn new(group: &Group, trace: &StageTrace) -> Self {
        let name = |member: MemberIndex| group.members[member].name().clone();
        let removed = trace.removed.iter().map(|removal| RemovedMember {
            member: name(removal.member),
            why: removal.why.clone(),
        });
        Self {
            group: group.name.clone(),
            stage: trace.stage.to_owned(),
            kept: trace.kept.iter().copied().map(name).collect(),
            removed: removed.collect(),
            note: trace.note.clone(),
        }
    }
}
