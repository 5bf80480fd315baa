use std::collections::BTreeMap;

use super::spread::Shares;
use crate::{
    model::{Backend, Group, Name},
    policy::Decision,
};

/// The shares of a decision for `group`, by what is the same on every host.
pub fn shares(group: &Group, backends: &BTreeMap<Name, Backend>, decision: &Decision) -> Shares {
    let shares = decision.shares.iter().map(|(member, share)| {
        let backend = &backends[&group.members[*member].backend];
        (backend.identity().into(), share.clone())
    });
    shares.collect()
}
