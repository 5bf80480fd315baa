//! Slow start: a member that is back, or new, gets its whole share little by little.

use std::{collections::BTreeMap, time::Duration};

use super::Engine;
use crate::model::{Admin, Group, MemberState, Name, Ramp};

/// By group with a slow start, the members that could get traffic when the group was last decided, and when each began to;
/// none of those that were there with the group's first decision.
pub(super) type Ramps = BTreeMap<Name, BTreeMap<Name, Option<Duration>>>;

impl Engine {
    /// How much of its weight counts for a member now.
    pub(super) fn ramp(&self, group: &Group, backend: &Name) -> Ramp {
        let began = self.ramps.get(&group.name).and_then(|it| it.get(backend));
        began.copied().flatten().map_or(Ramp::FULL, |began| {
            Ramp::at(self.now.saturating_sub(began), group.slow_start)
        })
    }

    /// Sees which members are back or new since the last time, and begins their ramps. A group's first
    /// decision begins none, so that neither a cold start nor a restart does.
    pub(super) fn begin_ramps(&mut self) {
        let mut ramps = Ramps::new();
        let groups = self.courses.keys().map(|name| &self.model.groups[name]);
        for group in groups.filter(|group| !group.slow_start.is_zero()) {
            let states = self.states(group);
            let last = self.ramps.get(&group.name);
            if self.undecided(group, &states) {
                ramps.extend(last.map(|last| (group.name.clone(), last.clone())));
                continue;
            }
            let members = group.backends();
            let available = members.filter(|(place, ..)| may_get_traffic(&states[*place]));
            let began = available.map(|(.., backend)| {
                let began = match last {
                    None => None,
                    Some(last) => last.get(backend).copied().unwrap_or(Some(self.now)),
                };
                (backend.clone(), began)
            });
            ramps.insert(group.name.clone(), began.collect());
        }
        self.ramps = ramps;
    }
}

fn may_get_traffic(state: &MemberState) -> bool {
    state.admin == Admin::Enable && state.unreachable.is_none() && state.is_available()
}
