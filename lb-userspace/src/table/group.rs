use std::collections::BTreeMap;

use crate::{
    model::{Backend, Group, Identity, Name, Share},
    policy::Decision,
};

/// Each backend's share of a group's traffic.
pub type Shares = BTreeMap<Identity, Share>;

/// The shares of a decision for `group`, by what is the same on every host.
pub fn shares(group: &Group, backends: &BTreeMap<Name, Backend>, decision: &Decision) -> Shares {
    let shares = decision.shares.iter().map(|(member, share)| {
        let backend = &backends[&group.members[*member].backend];
        (backend.identity(), share.clone())
    });
    shares.collect()
}
