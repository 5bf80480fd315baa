use std::collections::BTreeMap;

use super::{Ring, ring};
use crate::{
    model::{Backend, Group, Name},
    policy::Decision,
};

/// The ring that a decision for `group` makes.
pub fn group_ring(group: &Group, backends: &BTreeMap<Name, Backend>, decision: &Decision) -> Ring {
    let shares = decision.shares.iter().map(|(member, share)| {
        (
            backends[&group.members[*member].backend].identity(),
            share.clone(),
        )
    });
    ring(&group.name, &shares.collect())
}
