//! What the engine knows, for people and for tools.

use std::{net::IpAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Engine, Subject, admin::memberships};
use crate::{
    model::{Admin, Group, Health, Member, Name, Route},
    policy::{Asked, Explanation, MemberIndex, Outcome, decide},
    refusal::Refusal,
    table::{TargetKey, ring_hash, shares},
};

/// Everything that `waggle status` shows of decisions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct View {
    /// The services, by name.
    pub services: Vec<ServiceView>,
    /// The groups, by name.
    pub groups: Vec<GroupView>,
}

/// A service.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ServiceView {
    /// What it is called.
    pub name: Name,
    /// The address that clients use.
    pub address: IpAddr,
    /// The protocol.
    pub protocol: String,
    /// The port.
    pub port: u16,
    /// Who serves it.
    pub group: Name,
    /// Whether the kernel's tables have it, which the daemon fills in.
    pub published: bool,
    /// Packets addressed to it, which the daemon fills in.
    pub packets: Option<u64>,
}

/// A group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct GroupView {
    /// What it is called.
    pub name: Name,
    /// Whether it waits for its first verdicts.
    pub undecided: bool,
    /// Whether its all-down rule is in use.
    pub best_effort: bool,
    /// Whether none of its members may get traffic.
    pub no_answer: bool,
    /// Hash of its ring, equal on every host that decides alike.
    pub ring_hash: Option<String>,
    /// Its members, in the order of the file.
    pub members: Vec<MemberView>,
}

/// A member of a group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MemberView {
    /// The backend.
    pub backend: Name,
    /// Where it is.
    pub address: IpAddr,
    /// Whether it takes part.
    pub admin: Admin,
    /// Whether that, or the weight, comes from the operator and not from the file.
    pub overridden: bool,
    /// What the probes say.
    pub health: Health,
    /// What stands behind it.
    pub why: String,
    /// Why packets can not reach it, if they can not.
    pub unreachable: Option<String>,
    /// Published latency in milliseconds.
    pub latency_ms: Option<f64>,
    /// Lower is preferred.
    pub priority: u16,
    /// Relative part of the traffic.
    pub weight: u16,
    /// Its part of the new flows as an exact fraction.
    pub share: String,
    /// The same, from 0 to 1.
    pub share_value: f64,
    /// Number of its target in the kernel's tables, which the daemon fills in.
    pub target: Option<u16>,
    /// Live flows, which the daemon fills in.
    pub flows: Option<u64>,
    /// Packets forwarded, which the daemon fills in.
    pub packets: Option<u64>,
}

impl Engine {
    /// Everything for `waggle status`.
    pub fn view(&self) -> View {
        let services = self.model.services.values().map(|service| ServiceView {
            name: service.name.clone(),
            address: service.address,
            protocol: service.protocol.to_string(),
            port: service.port,
            group: service.group.clone(),
            published: false,
            packets: None,
        });
        let groups = self
            .model
            .groups
            .values()
            .map(|group| self.group_view(group));
        View {
            services: services.collect(),
            groups: groups.collect(),
        }
    }

    /// Why clients of a service go where they go.
    ///
    /// # Errors
    ///
    /// There is no such service, or the client is of the other family.
    pub fn explain(&self, service: &str, client: IpAddr) -> Result<Explanation, Refusal> {
        let service = self.model.service(service)?;
        let asked = Asked::new(service, client, &self.clients)?;
        let explanation = match service.route_for(asked.client) {
            Route::Drop => Explanation::of_answer(asked, Outcome::Drop),
            Route::Group(group) => self.explain_group(asked, &self.model.groups[&group]),
            Route::Pass => Explanation::of_answer(asked, Outcome::Pass),
            Route::Reject => Explanation::of_answer(asked, Outcome::Reject),
        };
        let mut groups = service.groups().map(|group| &self.model.groups[group]);
        Ok(Explanation {
            undecided: groups.any(|group| self.undecided(group, &self.states(group))),
            ..explanation
        })
    }

    fn explain_group(&self, asked: Asked, group: &Group) -> Explanation {
        let decision = decide(&self.with_overrides(group), &self.states(group));
        let shares = shares(group, &self.model.backends, &decision);
        let ring = self.ring(&group.name, &shares);
        Explanation::of_group(asked, group, &decision, &ring)
    }

    /// How the members that an operator means stand, one line each.
    pub fn standing(&self, subject: &Subject) -> Vec<String> {
        let line = |(group, member): (&Name, &Member)| {
            let group = &self.model.groups[group];
            let state = match self.admin.admin(&group.name, member) {
                Admin::Disable => "disabled: no new flows, no probes",
                Admin::Drain => "draining: no new flows, running ones go on",
                Admin::Enable => "enabled",
            };
            let weight = self.admin.weight(&group.name, &member.backend);
            let weight = weight.unwrap_or(member.weight).value();
            let waits = if self.undecided(group, &self.states(group)) {
                "; in force when the group has its first probe results"
            } else {
                ""
            };
            format!(
                "{}/{}: weight {weight}, {state}{waits}",
                group.name, member.backend
            )
        };
        memberships(&self.model, subject).map(line).collect()
    }

    /// The key of a member's target.
    pub fn target_key(&self, group: &Name, backend: &Name) -> Option<TargetKey> {
        let identity = self.model.backends.get(backend)?.identity();
        Some(TargetKey {
            group: group.clone(),
            identity,
        })
    }

    fn group_view(&self, group: &Group) -> GroupView {
        let states = self.states(group);
        let effective = self.with_overrides(group);
        let decision = decide(&effective, &states);
        let ring = self
            .image
            .as_ref()
            .and_then(|image| image.rings.get(&group.name));
        let member = |index: MemberIndex| {
            let state = &states[index];
            let member = &effective.members[index];
            let share = decision.shares.get(&index);
            let weight = self.admin.weight(&group.name, &member.backend);
            let admin = self.admin.overriding(&group.name, &member.backend);
            MemberView {
                backend: member.backend.clone(),
                address: self.model.backends[&member.backend].address,
                admin: state.admin,
                overridden: weight.is_some() || admin.is_some(),
                health: state.health,
                why: state.why.clone(),
                unreachable: state.unreachable.clone(),
                latency_ms: state.latency.map(milliseconds),
                priority: member.priority.value(),
                weight: member.weight.value(),
                share: share.map_or_else(|| "0".into(), ToString::to_string),
                share_value: share
                    .and_then(num_traits::ToPrimitive::to_f64)
                    .unwrap_or(0.0),
                target: None,
                flows: None,
                packets: None,
            }
        };
        GroupView {
            name: group.name.clone(),
            undecided: self.undecided(group, &states),
            best_effort: decision.best_effort,
            no_answer: decision.shares.is_empty(),
            ring_hash: ring.map(|ring| format!("{:016x}", ring_hash(ring))),
            members: (0..group.members.len()).map(member).collect(),
        }
    }
}

fn milliseconds(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 1e6).round() / 1e3
}
