//! Everybody who may get a group's flows.

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Client, MemberIndex, Scene,
    candidate::{Candidate, Families, Standing},
    enabled, nested,
};
use crate::{
    model::{Group, Member, MemberState, Name, Ramp, Who},
    whereabouts::LatencyRegion,
};

/// The members of a group, and of all groups that it may hand flows to: what is the same for all
/// clients is found out once.
pub(super) struct Roster<'a> {
    scene: Scene<'a>,
    members: BTreeMap<&'a Name, Vec<Candidate<'a>>>,
    /// The regions that members stand in, in order.
    regions: Vec<&'a LatencyRegion>,
}

impl<'a> Roster<'a> {
    pub(super) fn of(scene: &Scene<'a>, root: &Name) -> Self {
        let mut groups = Vec::new();
        within(scene, root, &mut groups);
        let members = groups.iter().flat_map(|group| &group.members);
        let regions: BTreeSet<_> = members.filter_map(|it| scene.region(it)).collect();
        let mut roster = Self {
            scene: *scene,
            members: BTreeMap::new(),
            regions: regions.into_iter().collect(),
        };
        for group in groups {
            let members = roster.candidates(group);
            roster.members.insert(&group.name, members);
        }
        roster
    }

    pub(super) fn group(&self, name: &Name) -> &'a Group {
        &self.scene.groups[name]
    }

    /// All members of a group, in its order.
    pub(super) fn members(&self, group: &Name) -> &[Candidate<'a>] {
        &self.members[group]
    }

    /// What it was made from.
    pub(super) fn scene(&self) -> &Scene<'a> {
        &self.scene
    }

    /// How far the roster's regions are from a client.
    pub(super) fn latencies(&self, client: &Client) -> Vec<Option<Duration>> {
        // Both are in order, so that one goes along with the other.
        let mut row = client
            .latencies
            .iter()
            .flat_map(|row| row.iter())
            .peekable();
        let regions = self.regions.iter();
        let latency = |region: &&LatencyRegion| {
            while let Some((known, latency)) = row.peek() {
                match known.cmp(region) {
                    Ordering::Less => row.next(),
                    Ordering::Equal => return Some(**latency),
                    Ordering::Greater => return None,
                };
            }
            None
        };
        regions.map(latency).collect()
    }

    /// The members of a group whose inner groups are there.
    fn candidates(&self, group: &'a Group) -> Vec<Candidate<'a>> {
        let states = &self.scene.states[&group.name];
        debug_assert_eq!(group.members.len(), states.len());
        let members = group.members.iter().zip(states).enumerate();
        members
            .map(|(index, (member, state))| self.candidate(index, member, state))
            .collect()
    }

    fn candidate(
        &self,
        index: MemberIndex,
        member: &'a Member,
        state: &'a MemberState,
    ) -> Candidate<'a> {
        let region = self.scene.region(member);
        let mut candidate = Candidate {
            index,
            member,
            takes_part: false,
            admin: state.admin,
            unreachable: None,
            standing: Standing::Up,
            why: Cow::Borrowed(""),
            ramp: Ramp::FULL,
            probed: None,
            region: region.and_then(|region| self.regions.binary_search(&region).ok()),
            location: self.scene.location(member),
            families: Families::default(),
        };
        match &member.who {
            Who::Backend(name) => {
                candidate.families = Families::of(self.scene.backends[name].address);
                candidate.unreachable = state.unreachable.as_deref();
                candidate.ramp = state.ramp;
                candidate.probed = state.latency;
                candidate.why = Cow::Borrowed("always serves");
                if !member.always_serve {
                    candidate.standing = Standing::of(state);
                    candidate.why = Cow::Borrowed(&state.why);
                }
            }
            Who::Group(name) => {
                let health = nested::health(self, name, member.min_healthy);
                candidate.standing = health.standing;
                candidate.why = Cow::Owned(health.why);
                candidate.probed = health.latency;
                candidate.families = health.families;
            }
        }
        candidate.takes_part = enabled::may_take_part(&candidate);
        if member.stopped {
            candidate.standing = Standing::Stopped;
            candidate.why = Cow::Borrowed("stopped in the configuration");
        }
        candidate
    }
}

/// A group and all that it may hand flows to, each after those within it.
fn within<'a>(scene: &Scene<'a>, name: &Name, found: &mut Vec<&'a Group>) {
    let group = &scene.groups[name];
    if found.iter().any(|it| it.name == *name) {
        return;
    }
    for inner in group.groups() {
        within(scene, inner, found);
    }
    found.push(group);
}
