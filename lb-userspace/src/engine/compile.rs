//! From what is known to the image of the tables.

use std::collections::{BTreeMap, BTreeSet};

use super::{Engine, key};
use crate::{
    model::{Admin, Backend, Group, Health, Mac, Member, MemberState, Name, Service},
    neighbour::Way,
    policy::{Decision, decide},
    probe::Window,
    table::{Image, Ring, ServiceSpec, Shares, Spread, TargetKey, TargetSpec, ring, shares},
};

impl Engine {
    /// The image that follows from what is known now, and the decisions behind it with each
    /// backend's share.
    pub(super) fn compile(&self) -> (Image, BTreeMap<Name, (Decision, Shares)>) {
        let mut image = Image {
            clients: self.clients.clone(),
            ..Image::default()
        };
        let mut decisions = BTreeMap::new();
        for service in self.model.services.values() {
            let spec = ServiceSpec {
                name: service.name.clone(),
                group: service.group.clone(),
                routes: service.rules.iter().map(|it| it.route.clone()).collect(),
                by_class: !service.rules.is_empty(),
            };
            image.services.insert(service.key(), spec);
        }
        let services = self.model.services.values();
        let groups: BTreeSet<_> = services.flat_map(Service::groups).collect();
        for group in groups.into_iter().map(|name| &self.model.groups[name]) {
            let states = self.states(group);
            if self.undecided(group, &states) {
                image.held.insert(group.name.clone());
            } else {
                let decision = decide(&self.with_overrides(group), &states);
                let shares = shares(group, &self.model.backends, &decision);
                let ring = self.ring(&group.name, &shares);
                image.rings.insert(group.name.clone(), vec![ring]);
                self.place(group, &states, &decision, &mut image);
                decisions.insert(group.name.clone(), (decision, shares));
            }
        }
        (image, decisions)
    }

    /// The ring for these shares: the last one, if they are the same.
    pub(super) fn ring(&self, group: &Name, shares: &Shares) -> Ring {
        let last = self.image.as_ref().and_then(|image| image.ring(group, 0));
        match last {
            Some(last)
                if self
                    .courses
                    .get(group)
                    .is_some_and(|it| it.shares == *shares) =>
            {
                last.clone()
            }
            _ => ring(group, &Spread::Flows(shares.clone())),
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
            Some(Way::Unresolved(_)) => {
                window.is_some_and(|window| window.health() != Health::Down)
            }
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
        self.ways.get(&self.model.backends[backend].destination())
    }

    /// Puts a group's targets into the image.
    fn place(&self, group: &Group, states: &[MemberState], decision: &Decision, image: &mut Image) {
        for (index, (member, state)) in group.members.iter().zip(states).enumerate() {
            let takes_new = decision.shares.contains_key(&index);
            let gone = state.health == Health::Down || state.admin == Admin::Disable;
            let backend = &self.model.backends[&member.backend];
            let target = TargetSpec {
                takes_new,
                dead: gone && !takes_new,
                ..self.forwarding(backend)
            };
            let key = TargetKey {
                group: group.name.clone(),
                identity: backend.identity(),
            };
            image.targets.insert(key, target);
        }
    }

    /// How packets reach a backend, in a target that is not used yet.
    fn forwarding(&self, backend: &Backend) -> TargetSpec {
        let mut spec = TargetSpec {
            next_hop: None,
            source: Mac([0; 6]),
            outer_source: None,
            mtu: 0,
            takes_new: false,
            dead: false,
        };
        // Running flows are better sent the way that was than nowhere.
        if let Some(Way::Open {
            next_hop,
            source,
            outer_source,
            mtu,
        }) = self.open_ways.get(&backend.destination())
        {
            let header = backend.forward.outer_header(backend.address).unwrap_or(0);
            spec.next_hop = Some(*next_hop);
            spec.source = *source;
            spec.outer_source = *outer_source;
            spec.mtu = mtu.saturating_sub(header);
        }
        spec
    }
}
