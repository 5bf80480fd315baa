//! Everybody who may get a group's flows.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    MemberIndex, Scene,
    candidate::{Candidate, Families, Standing},
    enabled, nested,
};
use crate::model::{Group, Member, MemberState, Name, Ramp, Who};

/// The members of a group, and of all groups that it may hand flows to: what is the same for all
/// clients is found out once.
pub(super) struct Roster<'a> {
    scene: Scene<'a>,
    /// Each with its members.
    groups: BTreeMap<&'a Name, (&'a Group, Vec<Candidate<'a>>)>,
}

impl<'a> Roster<'a> {
    pub(super) fn of(scene: &Scene<'a>, root: &Name) -> Self {
        let mut groups = Vec::new();
        within(scene, root, &mut groups);
        let mut roster = Self {
            scene: *scene,
            groups: BTreeMap::new(),
        };
        for group in groups {
            let members = roster.candidates(group);
            roster.groups.insert(&group.name, (group, members));
        }
        roster
    }

    pub(super) fn group(&self, name: &Name) -> &'a Group {
        self.groups[name].0
    }

    /// All members of a group, in its order.
    pub(super) fn members(&self, group: &Name) -> &[Candidate<'a>] {
        &self.groups[group].1
    }

    /// What it was made from.
    pub(super) fn scene(&self) -> &Scene<'a> {
        &self.scene
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
            region: self.scene.region(member),
            location: self.scene.location(member),
            families: Families::default(),
        };
        match &member.who {
            Who::Backend(name) => {
                candidate.families = Families::of(&self.scene.backends[name]);
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
