//! Affinity: how closely clients stay with their backends.

use std::time::Duration;

use lb_common::Scope;
use toml::Value;

use super::{leaf, raw::Table, report::Wrong};
use crate::{
    model::{Affinity, Policy},
    refusal,
};

/// Reads `affinity`, if it is there.
pub(super) fn read(group: &mut Table<'_>, policy: Policy) -> Option<Affinity> {
    let Some((scope, minutes)) = defaults(policy) else {
        let wrong = refusal::group::no_affinity(policy.as_str());
        group.refuse(&["affinity"], &wrong);
        return None;
    };
    let [least, most] = minutes.map(|it| Duration::from_secs(it * 60));
    group.table("affinity", |table| {
        let prefix = table.table("prefix", |prefix| {
            Some((
                prefix.or("v4", 32, leaf::within(1..=32_u8)),
                prefix.or("v6", 128, leaf::within(1..=128_u8)),
            ))
        });
        let (v4, v6) = prefix.unwrap_or((32, 128));
        let scopes = [("eligible", Scope::Eligible), ("healthy", Scope::Healthy)];
        Some(Affinity {
            v4,
            v6,
            idle: table.or("idle", Duration::from_secs(120), seconds(least, most)),
            scope: table.or("scope", scope, leaf::one_of(&scopes)),
        })
    })
}

/// The scope, and the least and the most minutes, of the system that a policy follows; none if it has no
/// affinity.
fn defaults(policy: Policy) -> Option<(Scope, [u64; 2])> {
    match policy {
        Policy::StaticProximity | Policy::DynamicRtt => Some((Scope::Healthy, [2, 1440])),
        Policy::FrontDoor | Policy::Stages => Some((Scope::Eligible, [1, 1440])),
        _ => None,
    }
}

/// A duration in whole seconds.
fn seconds(least: Duration, most: Duration) -> impl Fn(&Value) -> Result<Duration, Wrong> {
    let duration = leaf::duration(least..=most);
    move |value| {
        let duration = duration(value)?;
        match duration.subsec_nanos() {
            0 => Ok(duration),
            _ => Err(refusal::group::parts_of_seconds()),
        }
    }
}
