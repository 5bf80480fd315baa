//! What another configuration would change, by what is known now.

use super::{Engine, known::Known};
use crate::{
    config::Checked,
    model::{Admin, Group, Health, MemberState, Name},
    neighbour::Way,
    plan::{Plan, Side, plan},
    probe::History,
};

impl Engine {
    /// What taking up `checked` would change: both configurations with the same observations and
    /// overrides. Members that nobody has observed yet are assumed to be up, before and after.
    pub fn plan(&self, checked: Checked) -> Plan {
        let mut next = self.clone();
        next.take_up(checked);
        let (old, _) = self.outlook();
        let (new, assumed) = next.outlook();
        let assumed = assumed
            .iter()
            .map(|(group, name)| format!("{group}/{name}"));
        Plan {
            assumed_up: assumed.collect(),
            ..plan(&self.side(&old), &next.side(&new))
        }
    }

    fn side<'a>(&'a self, known: &'a Known<'_>) -> Side<'a> {
        Side {
            model: &self.model,
            clients: &self.clients,
            scene: known.scene(),
        }
    }

    /// What is known, and what is assumed where nothing is; and of whom that is.
    fn outlook(&self) -> (Known<'_>, Vec<(Name, Name)>) {
        let mut known = Known::new(self);
        let mut assumed = Vec::new();
        for name in self.model.used_groups() {
            let group = &self.model.groups[name];
            let states = known.states_mut(name);
            for backend in self.assume_up(group, states) {
                assumed.push((name.clone(), backend));
            }
        }
        (known, assumed)
    }

    /// Makes members that nobody has observed be up, and says which of those take part.
    fn assume_up(&self, group: &Group, states: &mut [MemberState]) -> Vec<Name> {
        let fastest = states.iter().filter_map(|state| state.latency).min();
        let mut assumed = Vec::new();
        for (place, member, backend) in group.backends() {
            let state = &mut states[place];
            let waits = |history: &History| !history.decided();
            let unprobed = self.history(group, member).is_some_and(waits);
            let way = self.way(backend);
            let is_open = matches!(way, None | Some(Way::Open { .. }));
            if !is_open || !(unprobed || way.is_none()) {
                continue;
            }
            state.unreachable = None;
            if unprobed {
                state.health = Health::Up;
                state.latency = state.latency.or(fastest);
            }
            if state.admin == Admin::Enable {
                assumed.push(backend.clone());
            }
        }
        assumed
    }
}
