use std::{collections::BTreeMap, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::{
    model::{Admin, Member, Model, Name, Weight},
    refusal::{Refusal, operator},
};

/// What an operator asks for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AdminChange {
    /// Of whom.
    pub subject: Subject,
    /// What.
    pub change: Override,
}

/// Whom an operator means.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
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
    /// No override: what the file says.
    Reset,
    /// Its weight.
    Weight(u16),
}

/// The overrides in force: they stand above the file until they are cleared.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Vec<Record>", into = "Vec<Record>")]
pub struct AdminState {
    admin: BTreeMap<Subject, Admin>,
    weight: BTreeMap<Subject, u16>,
}

impl AdminState {
    /// Takes a change over the backends of `model`. One of a backend clears those of its
    /// memberships; enabling what the file enables is no override.
    ///
    /// # Errors
    ///
    /// The model does not have whom it names, or the weight is none; nothing changed then.
    pub fn change(&mut self, model: &Model, change: AdminChange) -> Result<(), Refusal> {
        let AdminChange { subject, change } = change;
        check(model, &subject)?;
        match change {
            Override::Admin(admin) => {
                self.clear(model, &subject);
                let in_file = |(_, member): (&Name, &Member)| member.enabled;
                if admin != Admin::Enable || !memberships(model, &subject).all(in_file) {
                    self.admin.insert(subject, admin);
                }
            }
            Override::Reset => {
                self.clear(model, &subject);
                for (group, member) in memberships(model, &subject) {
                    self.weight.remove(&Subject::member(group, member.name()));
                }
            }
            Override::Weight(_) if matches!(subject, Subject::Backend(_)) => {
                return Err(operator::weight_of_backend());
            }
            Override::Weight(weight) => {
                let groups = memberships(model, &subject).map(|(group, _)| &model.groups[group]);
                let allowed = groups.map(|group| group.policy.weights());
                let beyond = |range: &RangeInclusive<i64>| !range.contains(&i64::from(weight));
                if let Some(range) = allowed.into_iter().find(beyond) {
                    return Err(operator::bad_weight(weight, range.start(), range.end()));
                }
                self.weight.insert(subject, weight);
            }
        }
        Ok(())
    }

    /// Whether a member takes part: the stricter of its own override and its backend's, else what
    /// the file says.
    pub fn admin(&self, group: &Name, member: &Member) -> Admin {
        self.overriding(group, member.name())
            .unwrap_or(if member.enabled {
                Admin::Enable
            } else {
                Admin::Disable
            })
    }

    /// The override of a member's part, if there is one.
    pub fn overriding(&self, group: &Name, backend: &Name) -> Option<Admin> {
        let own = self.admin.get(&Subject::member(group, backend));
        let whole = self.admin.get(&Subject::Backend(backend.clone()));
        own.into_iter().chain(whole).copied().max()
    }

    /// The override of a member's weight, if there is one.
    pub fn weight(&self, group: &Name, backend: &Name) -> Option<Weight> {
        let weight = self.weight.get(&Subject::member(group, backend))?;
        Weight::new(i64::from(*weight))
    }

    /// Drops the overrides of what `model` does not have.
    pub fn forget_unknown(&mut self, model: &Model) {
        self.admin
            .retain(|subject, _| check(model, subject).is_ok());
        self.weight
            .retain(|subject, _| check(model, subject).is_ok());
    }

    fn clear(&mut self, model: &Model, subject: &Subject) {
        self.admin.remove(subject);
        for (group, member) in memberships(model, subject) {
            self.admin.remove(&Subject::member(group, member.name()));
        }
    }
}

impl Subject {
    fn member(group: &Name, backend: &Name) -> Self {
        Self::Member {
            group: group.clone(),
            backend: backend.clone(),
        }
    }
}

/// The memberships that are meant, each with its group.
pub(super) fn memberships<'a>(
    model: &'a Model,
    subject: &'a Subject,
) -> impl Iterator<Item = (&'a Name, &'a Member)> {
    let groups = model.groups.values();
    let all = groups.flat_map(|group| group.members.iter().map(move |it| (&group.name, it)));
    all.filter(move |(of, member)| match subject {
        Subject::Backend(backend) => Some(backend) == member.backend(),
        Subject::Member { group, backend } => group == *of && backend == member.name(),
    })
}

fn check(model: &Model, subject: &Subject) -> Result<(), Refusal> {
    match subject {
        Subject::Backend(backend) if model.backends.contains_key(backend) => Ok(()),
        Subject::Backend(backend) => Err(operator::no_such_backend(backend)),
        Subject::Member { group, backend } => {
            let members = &model
                .groups
                .get(group)
                .ok_or_else(|| operator::no_such_group(group))?
                .members;
            if members.iter().any(|member| member.name() == backend) {
                return Ok(());
            }
            let names: Vec<_> = members
                .iter()
                .map(|member| member.name().as_str())
                .collect();
            Err(operator::no_such_member(group, backend, names.join(", ")))
        }
    }
}

/// How an override stands in the state file.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Record {
    subject: Subject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admin: Option<Admin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<u16>,
}

impl From<Vec<Record>> for AdminState {
    fn from(records: Vec<Record>) -> Self {
        let mut state = Self::default();
        for Record {
            subject,
            admin,
            weight,
        } in records
        {
            if let Some(admin) = admin {
                state.admin.insert(subject.clone(), admin);
            }
            if let Some(weight) = weight {
                state.weight.insert(subject, weight);
            }
        }
        state
    }
}

impl From<AdminState> for Vec<Record> {
    fn from(state: AdminState) -> Self {
        let admin = state.admin.into_iter().map(|(subject, admin)| Record {
            subject,
            admin: Some(admin),
            weight: None,
        });
        let weight = state.weight.into_iter().map(|(subject, weight)| Record {
            subject,
            admin: None,
            weight: Some(weight),
        });
        admin.chain(weight).collect()
    }
}
