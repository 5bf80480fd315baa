//! From what is known to the image of the tables.

use std::{collections::BTreeMap, net::IpAddr};

use super::{Engine, key};
use crate::{
    model::{Admin, Group, Health, Mac, Member, MemberState, Name},
    neighbour::Way,
    policy::{Decision, decide},
    probe::Window,
    table::{Image, Ring, ServiceSpec, Shares, TargetKey, TargetSpec, ring, shares},
};

impl Engine {
    /// The image that follows from what is known now, and the decisions behind it with each
    /// backend's share.
    pub(super) fn compile(&self) -> (Image, BTreeMap<Name, (Decision, Shares)>) {
        let mut image = Image::default();
        let mut decisions = BTreeMap::new();
        for service in self.model.services.values() {
            let group = &self.model.groups[&service.group];
            let spec = ServiceSpec {
                name: service.name.clone(),
                group: group.name.clone(),
            };
            image.services.insert(service.key(), spec);
            if decisions.contains_key(&group.name) || image.held.contains(&group.name) {
                continue;
            }
            let states = self.states(group);
            if self.undecided(group, &states) {
                image.held.insert(group.name.clone());
            } else {
                let decision = decide(&self.with_overrides(group), &states);
                let shares = shares(group, &self.model.backends, &decision);
                image
                    .rings
                    .insert(group.name.clone(), self.ring(&group.name, &shares));
                self.place(group, &states, &decision, &mut image);
                decisions.insert(group.name.clone(), (decision, shares));
            }
        }
        (image, decisions)
    }

    /// The ring for these shares: the last one, if they are the same.
    pub(super) fn ring(&self, group: &Name, shares: &Shares) -> Ring {
        let last = self.image.as_ref().and_then(|image| image.rings.get(group));
        match last {
            Some(last)
                if self
                    .courses
                    .get(group)
                    .is_some_and(|it| it.shares == *shares) =>
            {
                last.clone()
            }
            _ => ring(group, shares),
        }
    }

    /// The group with the operator's weights and switches in place of the file's.
    pub(super) fn with_overrides(&self, group: &Group) -> Group {
        let mut group = group.clone();
        for member in &mut group.members {
            member.enabled |= self.admin.admin(&group.name, member) != Admin::Disable;
            if let Some(weight) = self.admin.weight(&group.name, &member.backend) {
                member.weight = weight;
            }
        }
        group
    }

    /// What is known of each member of a group.
    pub(super) fn states(&self, group: &Group) -> Vec<MemberState> {
        group
            .members
            .iter()
            .map(|member| self.state(group, member))
            .collect()
    }

    /// Whether a member's backend should be probed for this group.
    pub(super) fn probed(&self, group: &Name, backend: &Name) -> bool {
        let members = &self.model.groups[group].members;
        members
            .iter()
            .filter(|member| member.backend == *backend)
            .any(|member| self.admin.admin(group, member) != Admin::Disable)
    }

    /// Whether a group must wait for its first verdicts: the all-down rule speaks of decided groups
    /// only. A group that has been decided goes on as long as one member is up; one that serves from
    /// an earlier daemon's tables waits beyond the grace, since what it has is better than a guess.
    pub(super) fn undecided(&self, group: &Group, states: &[MemberState]) -> bool {
        let takes_part = |state: &MemberState| state.admin != Admin::Disable;
        let course = self.courses.get(&group.name).cloned().unwrap_or_default();
        let waited = self.now.saturating_sub(course.since);
        let in_use =
            |state: &MemberState| state.admin == Admin::Enable && state.unreachable.is_none();
        if course.decided
            && states
                .iter()
                .any(|it| in_use(it) && it.health == Health::Up)
        {
            return false;
        }
        let mut members = group
            .members
            .iter()
            .zip(states)
            .filter(|(_, it)| takes_part(it));
        if waited >= self.model.edge.startup_grace && !course.stands {
            // Without its way a member is no member, and that is known in a moment.
            return members.any(|(member, _)| self.way(&member.backend).is_none());
        }
        members.any(|(member, _)| self.awaits_verdict(group, member))
    }

    fn awaits_verdict(&self, group: &Group, member: &Member) -> bool {
        let window = self.window(group, member);
        match self.way(&member.backend) {
            Some(Way::Refused(_)) => false,
            Some(Way::Open { .. }) => window.is_some_and(|window| !window.decided()),
            // A next hop that does not answer needs no probe to be told from one that is asked.
            Some(Way::Unresolved) => window.is_some_and(|window| window.health() != Health::Down),
            None => true,
        }
    }

    /// What is known of a member of a group.
    pub(super) fn state(&self, group: &Group, member: &Member) -> MemberState {
        let key = key(&self.model, group, member);
        let window = self.window(group, member);
        let health = window.map_or(Health::Up, Window::health);
        let mut why = window.map_or_else(|| "not probed".into(), Window::why);
        if let Some(failure) = key.as_ref().and_then(|key| self.failures.get(key))
            && health != Health::Up
        {
            why = format!("{why}; last failure: {failure}");
        }
        MemberState {
            admin: self.admin.admin(&group.name, member),
            unreachable: match self.way(&member.backend) {
                Some(Way::Open { .. }) => None,
                Some(other) => Some(other.to_string()),
                None => Some("the way to it is not known yet".into()),
            },
            health,
            latency: key.and_then(|key| self.latencies.get(&key)?.get(&group.name)?.published()),
            why,
        }
    }

    fn window(&self, group: &Group, member: &Member) -> Option<&Window> {
        let of_stream = self.windows.get(&key(&self.model, group, member)?)?;
        of_stream.get(&group.name)
    }

    fn way(&self, backend: &Name) -> Option<&Way> {
        self.ways
            .get(&IpAddr::V4(self.model.backends[backend].address))
    }

    /// Puts a group's targets into the image.
    fn place(&self, group: &Group, states: &[MemberState], decision: &Decision, image: &mut Image) {
        for (index, (member, state)) in group.members.iter().zip(states).enumerate() {
            let takes_new = decision.shares.contains_key(&index);
            let gone = state.health == Health::Down || state.admin == Admin::Disable;
            // Running flows are better sent the way that was than nowhere.
            let address = IpAddr::V4(self.model.backends[&member.backend].address);
            let (next_hop, source, mtu) = match self.open_ways.get(&address) {
                Some(Way::Open {
                    next_hop,
                    source,
                    mtu,
                }) => (Some(*next_hop), *source, *mtu),
                _ => (None, Mac([0; 6]), 0),
            };
            let target = TargetSpec {
                next_hop,
                source,
                mtu,
                takes_new,
                dead: gone && !takes_new,
            };
            let identity = self.model.backends[&member.backend].identity();
            image.targets.insert(
                TargetKey {
                    group: group.name.clone(),
                    identity,
                },
                target,
            );
        }
    }
}
