//! Names for the numbers in the kernel's tables, which hold none.

use std::collections::BTreeMap;

use lb_common::{ServiceKey, Target};

use crate::{
    control::Status,
    dataplane::Tables,
    model::{Model, Name},
    table::{TargetKey, group_id},
};

/// What services, groups and backends are called, as far as somebody told.
#[derive(Default)]
pub(super) struct Names {
    services: BTreeMap<ServiceKey, Name>,
    groups: BTreeMap<u32, Name>,
    /// By the hash of group and backend.
    backends: BTreeMap<u64, Name>,
}

impl Names {
    /// The names of a configuration.
    pub(super) fn of_model(model: &Model) -> Self {
        let services = model.services.values();
        let members = model.groups.keys().flat_map(|group| {
            let backends = model.backends_within(group).into_iter();
            backends.map(move |backend| (group, &model.backends[backend]))
        });
        let backends = members.map(|(group, backend)| {
            let key = TargetKey {
                group: group.clone(),
                identity: backend.identity(),
            };
            (key.hash(), backend.name.clone())
        });
        Self {
            services: services.map(|it| (it.key(), it.name.clone())).collect(),
            groups: named(model.groups.keys()),
            backends: backends.collect(),
        }
    }

    /// The names that a daemon uses, whose tables these are.
    pub(super) fn of_status(status: &Status, tables: &Tables) -> Self {
        let service = |(key, _): (ServiceKey, _)| {
            let mut known = status.view.services.iter();
            let known = known.find(|it| {
                let port = it.port.to_be_bytes();
                (it.address, port) == (key.address.into(), key.port)
                    && it.protocol == key.protocol.to_string()
            })?;
            Some((key, known.name.clone()))
        };
        let targets: BTreeMap<u16, &Target> = tables.targets().collect();
        let groups = || status.view.groups.iter();
        let members = groups().flat_map(|group| &group.members);
        let backends = members.flat_map(|member| {
            let of_member = member.targets.iter().filter_map(|id| targets.get(id));
            of_member.map(|target| (target.identity, member.backend.clone()))
        });
        Self {
            services: tables.services().filter_map(service).collect(),
            groups: named(groups().map(|group| &group.name)),
            backends: backends.collect(),
        }
    }

    pub(super) fn service(&self, key: &ServiceKey) -> Option<&Name> {
        self.services.get(key)
    }

    pub(super) fn group(&self, id: u32) -> Option<&Name> {
        self.groups.get(&id)
    }

    pub(super) fn backend(&self, target: &Target) -> Option<&Name> {
        self.backends.get(&target.identity)
    }
}

fn named<'a>(groups: impl Iterator<Item = &'a Name>) -> BTreeMap<u32, Name> {
    groups.map(|name| (group_id(name), name.clone())).collect()
}
