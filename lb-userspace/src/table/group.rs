use std::collections::BTreeMap;

use lb_common::Affinity;

use super::{
    image::group_id,
    spread::{Destination, Shares, Spread},
};
use crate::{
    model::{Backend, Group, Name},
    policy::{self, Decision, Parts},
};

/// How a decision spreads flows, by what is the same on every host.
pub fn spread(backends: &BTreeMap<Name, Backend>, decision: &Decision) -> Spread {
    let shares = |parts: &Parts| -> Shares {
        let parts = parts.iter();
        parts
            .map(|(to, share)| (destination(backends, to), share.clone()))
            .collect()
    };
    let rows = &decision.rows;
    if rows.buckets().len() > 0 {
        return Spread::Buckets(rows.buckets().map(shares).collect());
    }
    let by_client = rows.iter().all(|(_, flows)| flows.len() == 1);
    match rows.iter().next() {
        Some((_, flows)) if rows.iter().len() == 1 => Spread::Flows(shares(flows)),
        _ if by_client => Spread::Clients(shares(&rows.total())),
        _ => {
            let rows = rows.iter();
            Spread::Rows(rows.map(|(part, it)| (part.clone(), shares(it))).collect())
        }
    }
}

/// How the clients of services that name a group are pinned, if they are.
pub fn affinity(group: &Group) -> Option<Affinity> {
    let affinity = group.affinity.as_ref()?;
    let idle = u32::try_from(affinity.idle.as_secs()).unwrap_or(Affinity::LONGEST_IDLE);
    let affinity = Affinity::new(idle, affinity.v4, affinity.v6, affinity.scope);
    Some(affinity.within(group_id(&group.name)))
}

fn destination(backends: &BTreeMap<Name, Backend>, to: &policy::Destination) -> Destination {
    match to {
        policy::Destination::Answer(answer) => Destination::Answer((*answer).into()),
        policy::Destination::Backend(name) => Destination::Backend(backends[name].identity()),
    }
}
