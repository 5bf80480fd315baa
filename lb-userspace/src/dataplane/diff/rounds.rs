use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Descriptor, Service, ServiceKey};

use super::{
    DoesNotFit, Scope,
    rings::{Places, Wanted},
};
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
    /// It goes when all of these groups have moved; `None`: it stays.
    until: Option<BTreeSet<&'a Name>>,
}

/// The rings that packets find now, of which those of groups that change will be replaced, but for
/// those that are as they should be. `places` has the groups whose rings have a place.
pub(super) fn standing<'a>(
    tables: &Tables,
    scope: &Scope<'a>,
    wanted: &Wanted<'a>,
    places: &Places,
) -> Vec<Standing<'a>> {
    let mut users: BTreeMap<u32, (Descriptor, Vec<ServiceKey>)> = BTreeMap::new();
    for row in tables.rows_in_use() {
        let by_row = |(key, service): (ServiceKey, Service)| (service.row == row).then_some(key);
        let keys: Vec<ServiceKey> = tables.services().filter_map(by_row).collect();
        for ring in tables.rings_of(row) {
            let (_, all) = users.entry(ring.offset()).or_insert((ring, Vec::new()));
            all.extend(&keys);
        }
    }
    let standing = users.into_values().map(|(ring, keys)| {
        let group = tables.group_of(ring);
        let kept = group.is_some_and(|group| wanted.keeps(group, ring));
        let changed = group.and_then(|group| wanted.changed(group));
        let places = group.and_then(|group| places.all_of(group));
        let until = match (changed, places) {
            _ if kept => None,
            (Some(group), _) => Some(BTreeSet::from([group])),
            (None, Some(_)) => Some(BTreeSet::new()),
            (None, None) => until_moved(scope, &keys),
        };
        let extent = Extent::of(ring);
        Standing { extent, until }
    });
    standing.collect()
}

/// The groups whose rings must have a place before all of these services have left theirs. Those that
/// tell clients apart move together.
fn until_moved<'a>(scope: &Scope<'a>, keys: &[ServiceKey]) -> Option<BTreeSet<&'a Name>> {
    let mut until = BTreeSet::new();
    for key in keys {
        if scope.staying.contains(key) {
            return None;
        }
        let Some(spec) = scope.services.get(key) else {
            continue;
        };
        until.extend(spec.groups());
        if spec.by_class {
            let all = scope.services.values().filter(|spec| spec.by_class);
            until.extend(all.flat_map(|spec| spec.groups()));
        }
    }
    Some(until)
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
    mut waiting: Vec<(&Name, Vec<usize>)>,
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
        waiting.retain(|(_, lengths)| {
            let found = pool.take_all(lengths);
            placed.extend(found.iter().flatten());
            found.is_none()
        });
        if placed.len() == before {
            let sizes = waiting.iter().map(|(_, lengths)| pool.size_with(lengths));
            needed = sizes.min().unwrap_or(needed);
        }
    }
    if needed > size {
        return Err(DoesNotFit::RingSlots { needed, size });
    }
    Ok(())
}
