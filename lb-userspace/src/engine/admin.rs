use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Admin, Member, Model, Name, Weight};

/// What an operator asks for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AdminChange {
    /// Of whom.
    pub target: Target,
    /// What.
    pub change: Override,
}

/// Whom an operator means.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A backend in all its groups.
    Backend(Name),
    /// A backend in one group.
    Member {
        /// The group.
        group: Name,
        /// The backend.
        backend: Name,
    },
}

/// How an operator overrides the configuration.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// Whether it takes part.
    Admin(Admin),
    /// Its weight; none goes back to the file's.
    Weight(Option<u16>),
}

/// A change that can not be made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnknownTarget {
    /// No such backend.
    #[error("there is no backend `{0}`; `waggle status backend` lists them")]
    Backend(Name),
    /// No such group.
    #[error("there is no group `{0}`; `waggle status group` lists them")]
    Group(Name),
    /// The backend is not in the group.
    #[error("group `{group}` has no member `{backend}`; its members are {members}")]
    Member {
        /// The group.
        group: Name,
        /// Who is not in it.
        backend: Name,
        /// Who is.
        members: String,
    },
    /// The weight is out of range.
    #[error("weight {0} is out of range; use {min} to {max}, or `drain` to give it no new flows", min = Weight::MIN, max = Weight::MAX)]
    Weight(u16),
    /// A weight belongs to one membership.
    #[error("a weight is set for one member of one group: `waggle member GROUP/NAME weight N`")]
    WeightOfBackend,
}

/// The overrides in force: they stand above the file until they are cleared.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Vec<Record>", into = "Vec<Record>")]
pub struct AdminState {
    admin: BTreeMap<Target, Admin>,
    weight: BTreeMap<Target, u16>,
}

impl AdminState {
    /// Takes a change over the backends of `model`.
    ///
    /// Enabling what the file enables clears the override. A backend's change clears those of its
    /// memberships.
    ///
    /// # Errors
    ///
    /// It names what the model does not have; nothing changed then.
    pub fn change(&mut self, model: &Model, change: AdminChange) -> Result<(), UnknownTarget> {
        let AdminChange { target, change } = change;
        check(model, &target)?;
        match change {
            Override::Admin(admin) => self.set_admin(model, target, admin),
            Override::Weight(weight) => return self.set_weight(target, weight),
        }
        Ok(())
    }

    /// Whether a member takes part: the stricter of its own override and its backend's, else what
    /// the file says.
    pub fn admin(&self, group: &Name, member: &Member) -> Admin {
        self.overriding(group, &member.backend)
            .unwrap_or(if member.enabled {
                Admin::Enable
            } else {
                Admin::Disable
            })
    }

    /// The override of a member's part, if there is one.
    pub fn overriding(&self, group: &Name, backend: &Name) -> Option<Admin> {
        let own = self.admin.get(&Target::member(group, backend));
        let whole = self.admin.get(&Target::Backend(backend.clone()));
        own.into_iter()
            .chain(whole)
            .copied()
            .max_by_key(|admin| match admin {
                Admin::Enable => 0,
                Admin::Drain => 1,
                Admin::Disable => 2,
            })
    }

    /// The override of a member's weight, if there is one.
    pub fn weight(&self, group: &Name, backend: &Name) -> Option<Weight> {
        let weight = self.weight.get(&Target::member(group, backend))?;
        Weight::new(i64::from(*weight))
    }

    /// Drops the overrides of what `model` does not have.
    pub fn forget_unknown(&mut self, model: &Model) {
        self.admin.retain(|target, _| check(model, target).is_ok());
        self.weight.retain(|target, _| check(model, target).is_ok());
    }

    fn set_admin(&mut self, model: &Model, target: Target, admin: Admin) {
        let memberships: Vec<_> = model
            .groups
            .values()
            .flat_map(|group| {
                group
                    .members
                    .iter()
                    .map(move |member| (&group.name, member))
            })
            .filter(|(group, member)| target.covers(group, &member.backend))
            .collect();
        for (group, member) in &memberships {
            self.admin.remove(&Target::member(group, &member.backend));
        }
        let in_file = memberships.iter().all(|(_, member)| member.enabled);
        if admin == Admin::Enable && in_file {
            self.admin.remove(&target);
        } else {
            self.admin.insert(target, admin);
        }
    }

    fn set_weight(&mut self, target: Target, weight: Option<u16>) -> Result<(), UnknownTarget> {
        if matches!(target, Target::Backend(_)) {
            return Err(UnknownTarget::WeightOfBackend);
        }
        match weight {
            Some(weight) if Weight::new(i64::from(weight)).is_none() => {
                return Err(UnknownTarget::Weight(weight));
            }
            Some(weight) => self.weight.insert(target, weight),
            None => self.weight.remove(&target),
        };
        Ok(())
    }
}

impl Target {
    fn member(group: &Name, backend: &Name) -> Self {
        Self::Member {
            group: group.clone(),
            backend: backend.clone(),
        }
    }

    fn covers(&self, in_group: &Name, member: &Name) -> bool {
        match self {
            Self::Backend(backend) => backend == member,
            Self::Member { group, backend } => group == in_group && backend == member,
        }
    }
}

fn check(model: &Model, target: &Target) -> Result<(), UnknownTarget> {
    match target {
        Target::Backend(backend) if model.backends.contains_key(backend) => Ok(()),
        Target::Backend(backend) => Err(UnknownTarget::Backend(backend.clone())),
        Target::Member { group, backend } => {
            let members = &model
                .groups
                .get(group)
                .ok_or_else(|| UnknownTarget::Group(group.clone()))?
                .members;
            if members.iter().any(|member| member.backend == *backend) {
                return Ok(());
            }
            let names: Vec<_> = members
                .iter()
                .map(|member| member.backend.as_str())
                .collect();
            Err(UnknownTarget::Member {
                group: group.clone(),
                backend: backend.clone(),
                members: names.join(", "),
            })
        }
    }
}

/// How an override stands in the state file.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Record {
    target: Target,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admin: Option<Admin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<u16>,
}

impl From<Vec<Record>> for AdminState {
    fn from(records: Vec<Record>) -> Self {
        let mut state = Self::default();
        for Record {
            target,
            admin,
            weight,
        } in records
        {
            if let Some(admin) = admin {
                state.admin.insert(target.clone(), admin);
            }
            if let Some(weight) = weight {
                state.weight.insert(target, weight);
            }
        }
        state
    }
}

impl From<AdminState> for Vec<Record> {
    fn from(state: AdminState) -> Self {
        let admin = state.admin.into_iter().map(|(target, admin)| Record {
            target,
            admin: Some(admin),
            weight: None,
        });
        let weight = state.weight.into_iter().map(|(target, weight)| Record {
            target,
            admin: None,
            weight: Some(weight),
        });
        admin.chain(weight).collect()
    }
}
