//! What the engine knows, for people and for tools.

use std::{net::IpAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Engine, Subject, admin::memberships, known::Known};
use crate::{
    model::{Admin, Group, Health, Member, Name},
    policy::{Asked, Explanation, MemberIndex, ServiceClasses, healths},
    refusal::Refusal,
    table::{TargetKey, rings_hash, spread},
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
    /// Clients that are pinned to a backend, which the daemon fills in; none without affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<u64>,
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
    /// Whether it decides by where clients are; shares are then those of clients of whom nothing is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_client: bool,
    /// Hash of its ring, equal on every host that decides alike.
    pub ring_hash: Option<String>,
    /// Its members, in the order of the file.
    pub members: Vec<MemberView>,
}

/// A member of a group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MemberView {
    /// The backend or group.
    pub backend: Name,
    /// Whether it is a group: what is probed, and where flows go, is told of its members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_group: bool,
    /// Where it is, if it is a backend.
    pub address: Option<IpAddr>,
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
    /// Numbers of its targets in the kernel's tables, which the daemon fills in: a backend has one for
    /// each group that services name and that this one is, or is within.
    #[serde(default)]
    pub targets: Vec<u16>,
    /// Live flows of these targets, which the daemon fills in; none without a target.
    pub flows: Option<u64>,
    /// Packets forwarded to these targets, which the daemon fills in.
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
            pins: None,
        });
        let known = Known::in_words(self);
        let groups = self
            .model
            .groups
            .values()
            .map(|group| self.group_view(&known, group));
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
        let asked = Asked::new(service, client, &self.clients, &self.model.whereabouts)?;
        let route = service.route_for(asked.client, &self.model.whereabouts);
        let known = Known::in_words(self);
        let explanation = match route.leads_to() {
            Ok(group) => self.explain_group(&known, asked, group),
            Err(answer) => Explanation::of_answer(asked, answer.into()),
        };
        Ok(Explanation {
            undecided: service.groups().any(|group| known.undecided(group)),
            ..explanation
        })
    }

    /// What all classes of a service's clients get.
    ///
    /// # Errors
    ///
    /// There is no such service.
    pub fn explain_classes(&self, service: &str) -> Result<ServiceClasses, Refusal> {
        let service = self.model.service(service)?;
        let known = Known::new(self);
        let (scene, ring) = (known.scene(), |group: &_, spread: &_| {
            self.ring(group, spread)
        });
        Ok(ServiceClasses {
            undecided: service.groups().any(|group| known.undecided(group)),
            ..ServiceClasses::of(&self.clients, &scene, service, ring)
        })
    }

    fn explain_group(&self, known: &Known<'_>, asked: Asked, group: &Name) -> Explanation {
        let client = self.clients.client(&self.model, group, asked.class);
        let decision = known.decide(group, &client);
        let ring = self.ring(group, &spread(&self.model.backends, &decision));
        Explanation::of_decision(asked, &self.model.groups, &decision, &ring)
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
            let weight = self.admin.weight(&group.name, member.name());
            let weight = weight.unwrap_or(member.weight).value();
            let waits = if self.undecided(group, &self.states(group)) {
                "; in force when the group has its first probe results"
            } else {
                ""
            };
            format!(
                "{}/{}: weight {weight}, {state}{waits}",
                group.name,
                member.name()
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

    fn group_view(&self, known: &Known<'_>, group: &Group) -> GroupView {
        let (effective, states) = known.group(&group.name);
        let rings = self
            .image
            .as_ref()
            .and_then(|image| image.rings.get(&group.name));
        let client = self.unknown_client(&group.name);
        let decision = known.decide(&group.name, &client);
        let healths = healths(&known.scene(), &group.name);
        let member = |index: MemberIndex| {
            let state = &states[index];
            let (health, why) = healths[index].clone();
            let member = &effective.members[index];
            let share = decision.members.get(&index);
            let weight = self.admin.weight(&group.name, member.name());
            let admin = self.admin.overriding(&group.name, member.name());
            MemberView {
                backend: member.name().clone(),
                is_group: member.group().is_some(),
                address: member.backend().map(|it| self.model.backends[it].address),
                admin: state.admin,
                overridden: weight.is_some() || admin.is_some(),
                health,
                why,
                unreachable: state.unreachable.clone(),
                latency_ms: state.latency.map(milliseconds),
                priority: member.priority.value(),
                weight: member.weight.value(),
                share: share.map_or_else(|| "0".into(), ToString::to_string),
                share_value: share
                    .and_then(num_traits::ToPrimitive::to_f64)
                    .unwrap_or(0.0),
                targets: Vec::new(),
                flows: None,
                packets: None,
            }
        };
        GroupView {
            name: group.name.clone(),
            undecided: known.undecided(&group.name),
            best_effort: decision.best_effort,
            no_answer: decision.rows.answer().is_some(),
            by_client: self.clients.tells_apart(&group.name),
            ring_hash: rings.map(|rings| format!("{:016x}", rings_hash(rings))),
            members: (0..group.members.len()).map(member).collect(),
        }
    }
}

fn milliseconds(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 1e6).round() / 1e3
}
