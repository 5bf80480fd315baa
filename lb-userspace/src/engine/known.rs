//! What decisions are made from, as it is now.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::Engine;
use crate::{
    model::{Admin, Group, Health, MemberState, Name, Ramp, Weight},
    policy::{Client, Decision, Scene, decide},
};

/// The groups that services use, with the operator's weights and switches, and the states of their
/// members.
pub(super) struct Known<'a> {
    engine: &'a Engine,
    groups: BTreeMap<Name, Group>,
    states: BTreeMap<Name, Vec<MemberState>>,
    undecided: BTreeSet<Name>,
}

/// Whether a membership is over, and why; the later outweighs the earlier.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Standing {
    /// By order.
    Disabled,
    /// By its probes.
    Down,
    /// It is not.
    Serves,
}

/// What of the members of some groups makes a difference.
pub(super) type Basis = Vec<Seen>;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Seen {
    enabled: bool,
    weight: Weight,
    admin: Admin,
    reachable: bool,
    health: Health,
    ramp: Ramp,
    latency: Option<Duration>,
}

impl<'a> Known<'a> {
    /// What decisions are made from. What stands behind the health of members is left out.
    pub(super) fn new(engine: &'a Engine) -> Self {
        let mut known = Self {
            engine,
            groups: BTreeMap::new(),
            states: BTreeMap::new(),
            undecided: BTreeSet::new(),
        };
        for (name, group) in &engine.model.groups {
            let states = engine.states(group);
            if engine.undecided(group, &states) {
                known.undecided.insert(name.clone());
            }
            known.states.insert(name.clone(), states);
            known
                .groups
                .insert(name.clone(), engine.with_overrides(group));
        }
        known
    }

    /// The same with what stands behind the health of members, for people.
    pub(super) fn in_words(engine: &'a Engine) -> Self {
        let mut known = Self::new(engine);
        for (name, group) in &engine.model.groups {
            for (state, member) in known.states_mut(name).iter_mut().zip(&group.members) {
                state.why = engine.why(group, member);
            }
        }
        known
    }

    /// A group with the overrides in force, and the states of its members.
    pub(super) fn group(&self, name: &Name) -> (&Group, &[MemberState]) {
        (&self.groups[name], &self.states[name])
    }

    /// The states of a group's members, to put more in.
    pub(super) fn states_mut(&mut self, name: &Name) -> &mut [MemberState] {
        self.states.get_mut(name).map_or(&mut [], Vec::as_mut_slice)
    }

    /// Whether a group, or one that it may hand flows to, waits for its first verdicts.
    pub(super) fn undecided(&self, group: &Name) -> bool {
        let mut within = self.engine.model.within(group).into_iter();
        within.any(|name| self.undecided.contains(name))
    }

    /// Everything that decisions of a group follow from, besides the configuration: of each member of the
    /// groups within it.
    pub(super) fn basis(&self, root: &Name) -> Basis {
        let within = self.engine.model.within(root).into_iter();
        let members = within.flat_map(|name| {
            let (group, states) = self.group(name);
            group.members.iter().zip(states)
        });
        members
            .map(|(member, state)| Seen {
                enabled: member.enabled,
                weight: member.weight,
                admin: state.admin,
                reachable: state.unreachable.is_none(),
                health: state.health,
                ramp: state.ramp,
                latency: state.latency,
            })
            .collect()
    }

    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            groups: &self.groups,
            backends: &self.engine.model.backends,
            states: &self.states,
            regions: self.engine.clients.regions(),
        }
    }

    /// What becomes of flows of a client in a group.
    pub(super) fn decide(&self, group: &Name, client: &Client) -> Decision {
        decide(&self.scene(), group, client)
    }

    /// The backends that a group may send flows to, each as it stands in the best of its memberships
    /// there.
    pub(super) fn backends_within(&self, root: &Name) -> BTreeMap<&'a Name, Standing> {
        let mut backends = BTreeMap::new();
        for group in self.engine.model.within(root) {
            let (group, states) = (&self.engine.model.groups[group], &self.states[group]);
            for (place, member, name) in group.backends() {
                let state = &states[place];
                let standing = match state.health {
                    _ if state.admin == Admin::Disable => Standing::Disabled,
                    Health::Down if !member.always_serve => Standing::Down,
                    _ => Standing::Serves,
                };
                let best = backends.entry(name).or_insert(standing);
                *best = standing.max(*best);
            }
        }
        backends
    }
}
