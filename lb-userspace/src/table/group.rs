use std::collections::BTreeMap;

use crate::{
    model::{Backend, Identity, Name, Share},
    policy::{Decision, Destination},
};

/// Each backend's share of a group's traffic.
pub type Shares = BTreeMap<Identity, Share>;

/// The shares of a decision, by what is the same on every host.
pub fn shares(backends: &BTreeMap<Name, Backend>, decision: &Decision) -> Shares {
    let total = decision.rows.total();
    let shares = total.into_iter().filter_map(|(to, share)| match to {
        Destination::Backend(name) => Some((backends[&name].identity(), share)),
        Destination::Answer(_) => None,
    });
    shares.collect()
}
