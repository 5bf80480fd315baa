use std::collections::{BTreeMap, BTreeSet};

use super::{DoesNotFit, Scope};
use crate::{
    dataplane::{
        Tables,
        pool::{Extent, Pool},
    },
    model::Name,
};

/// A ring that packets find now.
pub(super) struct Standing<'a> {
    extent: Extent,
    /// It goes when all of these have moved; `None`: it stays.
    until: Option<BTreeSet<&'a Name>>,
}

/// The rings that packets find now, of which those of `changed` will be replaced.
pub(super) fn standing<'a>(
    tables: &Tables,
    scope: &Scope<'a>,
    rows: &BTreeMap<&'a Name, u32>,
    changed: &BTreeSet<&'a Name>,
) -> Vec<Standing<'a>> {
    let mut until: BTreeMap<u32, Option<BTreeSet<&Name>>> = BTreeMap::new();
    for (key, service) in tables.services() {
        let groups = until
            .entry(service.row.first())
            .or_insert_with(|| Some(BTreeSet::new()));
        match (scope.services.get(&key), groups.as_mut()) {
            (Some(group), Some(groups)) => _ = groups.insert(group),
            (None, _) if scope.staying.contains(&key) => *groups = None,
            _ => {}
        }
    }
    for (group, row) in rows {
        if let Some(groups) = until.get_mut(row) {
            *groups = changed.contains(group).then(|| BTreeSet::from([*group]));
        }
    }
    let standing = until.into_iter().map(|(row, until)| {
        let extent = Extent::of(tables.row(row));
        Standing { extent, until }
    });
    standing.collect()
}

/// Plays the rounds that follow one in which the rings in `placed` found room and those of the groups
/// in `waiting`, with these lengths, did not: in each, what was replaced in the last one is free.
///
/// # Errors
///
/// With so small a pool they would wait for ever.
pub(super) fn play(
    size: usize,
    standing: &[Standing<'_>],
    mut placed: Vec<Extent>,
    mut waiting: Vec<(&Name, usize)>,
) -> Result<(), DoesNotFit> {
    let mut needed = size;
    while !waiting.is_empty() {
        let groups: BTreeSet<_> = waiting.iter().map(|(group, _)| *group).collect();
        let stays = |old: &&Standing<'_>| {
            let until = old.until.as_ref();
            until.is_none_or(|until| !until.is_disjoint(&groups))
        };
        let old = standing.iter().filter(stays).map(|old| old.extent);
        let mut pool = Pool::new(needed, old.chain(placed.iter().copied()));
        let before = placed.len();
        waiting.retain(|(_, length)| {
            let place = pool.take(*length);
            placed.extend(place);
            place.is_none()
        });
        if placed.len() == before {
            let sizes = waiting.iter().map(|(_, length)| pool.size_with(*length));
            needed = sizes.min().unwrap_or(needed);
        }
    }
    if needed > size {
        return Err(DoesNotFit::RingSlots { needed, size });
    }
    Ok(())
}
