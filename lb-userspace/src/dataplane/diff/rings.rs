use std::collections::{BTreeMap, BTreeSet};

use lb_common::{CHUNK, Descriptor};

use super::{DoesNotFit, Scope, rounds};
use crate::{
    dataplane::{
        Change, Tables,
        pool::{Extent, Pool},
    },
    model::{Name, Route},
    table::{Image, Ring, TargetKey, group_id},
};

pub(super) struct Plan<'a> {
    /// Where the rings stand.
    pub(super) places: Places<'a>,
    /// The new rings.
    pub(super) write: Vec<Change>,
    /// Groups whose new rings have no room yet, but will have once the others have moved.
    pub(super) put_off: Vec<&'a Name>,
}

/// Where the ring of each group stands that is not left alone.
#[derive(Default)]
pub(super) struct Places<'a> {
    by_name: BTreeMap<&'a Name, Descriptor>,
    by_id: BTreeMap<u32, Descriptor>,
}

impl<'a> Places<'a> {
    fn insert(&mut self, group: &'a Name, ring: Descriptor) {
        self.by_name.insert(group, ring);
        self.by_id.insert(group_id(group), ring);
    }

    /// The ring of a group.
    pub(super) fn of(&self, group: &Name) -> Descriptor {
        self.by_name.get(group).copied().unwrap_or_default()
    }

    /// The ring of a group that is not left alone.
    pub(super) fn by_id(&self, group: u32) -> Option<Descriptor> {
        self.by_id.get(&group).copied()
    }

    /// What a row says of clients that get this.
    pub(super) fn by(&self, route: &Route) -> Descriptor {
        match route {
            Route::Drop => Descriptor::DROP,
            Route::Group(group) => self.of(group),
            Route::Pass => Descriptor::PASS,
            Route::Reject => Descriptor::REJECT,
        }
    }

    /// What a row says of clients for whom it says `now`, so that they get the same.
    pub(super) fn instead_of(&self, tables: &Tables, now: Descriptor) -> Descriptor {
        let group = tables.group_of(now);
        group.and_then(|group| self.by_id(group)).unwrap_or(now)
    }
}

pub(super) fn plan<'a>(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'a>,
    ids: &BTreeMap<&TargetKey, u16>,
) -> Result<Plan<'a>, DoesNotFit> {
    let size = tables.slots.len();
    let seen = tables.rings_in_use().chain(tables.retired_rings());
    let mut pool = Pool::new(size, seen.map(Extent::of));
    let mut places = Places::default();
    let mut write = Vec::new();
    let mut placed = Vec::new();
    let mut waiting = Vec::new();
    let (same, changed) = compare(tables, image, scope, ids);
    for (group, ring) in same {
        places.insert(group, ring);
    }
    let groups = changed.iter().map(|ring| ring.group).collect();
    for New { group, slots, .. } in changed {
        let length = slots.len();
        let mut descriptor = Descriptor::NO_ANSWER;
        if length > 0 {
            let Some(extent) = pool.take(length) else {
                waiting.push((group, length));
                continue;
            };
            placed.push(extent);
            let offset = extent.slots().start as u32;
            descriptor = Descriptor::new(offset, length as u32);
            write.push(Change::WriteSlots {
                offset,
                slots: filled_up(slots),
            });
        }
        places.insert(group, descriptor);
    }
    let put_off: Vec<_> = waiting.iter().map(|(group, _)| *group).collect();
    if !waiting.is_empty() {
        let standing = rounds::standing(tables, scope, &places.by_id, &groups);
        rounds::play(size, &standing, placed, waiting)?;
    }
    Ok(Plan {
        places,
        write,
        put_off,
    })
}

/// A ring that is not in the pool as it should be.
struct New<'a> {
    group: &'a Name,
    slots: Vec<u16>,
    /// Whether a target leaves.
    shrinks: bool,
}

/// The rings that are in the pool as they should be, and those to be written; first those that a
/// target leaves.
fn compare<'a>(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'a>,
    ids: &BTreeMap<&TargetKey, u16>,
) -> (Vec<(&'a Name, Descriptor)>, Vec<New<'a>>) {
    let mut standing: BTreeMap<u32, Vec<Descriptor>> = BTreeMap::new();
    for ring in tables.rings_in_use() {
        if let Some(group) = tables.group_of(ring) {
            standing.entry(group).or_default().push(ring);
        }
    }
    let (mut same, mut changed) = (Vec::new(), Vec::new());
    for group in scope.groups() {
        let slots = slots(image.rings.get(group), ids);
        let standing = standing
            .get(&group_id(group))
            .map_or(&[][..], Vec::as_slice);
        let of = |ring: &Descriptor| {
            let start = ring.offset() as usize;
            &tables.slots[start..start + ring.length() as usize]
        };
        if let Some(ring) = standing.iter().find(|ring| of(ring) == slots) {
            same.push((group, *ring));
            continue;
        }
        let stays: BTreeSet<u16> = slots.iter().copied().collect();
        let mut old = standing.iter().flat_map(of);
        let shrinks = old.any(|id| !stays.contains(id));
        changed.push(New {
            group,
            slots,
            shrinks,
        });
    }
    changed.sort_by_key(|ring| !ring.shrinks);
    (same, changed)
}

fn filled_up(mut slots: Vec<u16>) -> Vec<u16> {
    slots.resize(slots.len().next_multiple_of(CHUNK), 0);
    slots
}

fn slots(ring: Option<&Ring>, ids: &BTreeMap<&TargetKey, u16>) -> Vec<u16> {
    let Some(ring) = ring else {
        return Vec::new();
    };
    let targets: Vec<u16> = ring
        .targets
        .iter()
        .map(|key| ids.get(key).copied().unwrap_or(0))
        .collect();
    ring.slots
        .iter()
        .map(|slot| targets.get(usize::from(*slot)).copied().unwrap_or(0))
        .collect()
}
