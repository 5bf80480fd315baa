use std::collections::{BTreeMap, BTreeSet};

use lb_common::{CHUNK, Descriptor};

use super::{DoesNotFit, Scope, rounds};
use crate::{
    dataplane::{
        Change, Tables,
        pool::{Extent, Pool},
    },
    model::Name,
    table::{Image, Ring, TargetKey, group_id},
};

pub(super) struct Plan<'a> {
    /// The row of every group that a service to be published uses.
    pub(super) rows: BTreeMap<&'a Name, u32>,
    /// The new rings.
    pub(super) write: Vec<Change>,
    /// Rows to point to them.
    pub(super) point: Vec<Change>,
    /// Groups whose new rings have no room yet, but will have once the others have moved.
    pub(super) put_off: Vec<&'a Name>,
}

pub(super) fn plan<'a>(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'a>,
    ids: &BTreeMap<&TargetKey, u16>,
) -> Result<Plan<'a>, DoesNotFit> {
    let rows = rows(tables, scope)?;
    let size = tables.slots.len();
    let seen = tables.rings_in_use().chain(tables.retired_rings());
    let mut pool = Pool::new(size, seen.map(Extent::of));
    let mut write = Vec::new();
    let mut point = Vec::new();
    let mut placed = Vec::new();
    let mut waiting = Vec::new();
    let changed = changed(tables, image, &rows, ids);
    let groups = changed.iter().map(|ring| ring.group).collect();
    for New { group, row, slots } in changed {
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
        point.push(Change::PointRow { row, descriptor });
    }
    let put_off = waiting.iter().map(|(group, _)| *group).collect();
    let standing = rounds::standing(tables, scope, &rows, &groups);
    rounds::play(size, &standing, placed, waiting)?;
    Ok(Plan {
        rows,
        write,
        point,
        put_off,
    })
}

/// A ring that is not in the pool as it should be.
struct New<'a> {
    group: &'a Name,
    row: u32,
    slots: Vec<u16>,
}

/// The rings to be written; first those that a target leaves.
fn changed<'a>(
    tables: &Tables,
    image: &Image,
    rows: &BTreeMap<&'a Name, u32>,
    ids: &BTreeMap<&TargetKey, u16>,
) -> Vec<New<'a>> {
    let in_use = tables.rows_in_use();
    let old = |row| match in_use.contains(&row) {
        true => Some(tables.ring(row)),
        false => None,
    };
    let all = rows.iter().map(|(group, row)| New {
        group,
        row: *row,
        slots: slots(image.rings.get(*group), ids),
    });
    let mut changed: Vec<_> = all
        .filter(|ring| old(ring.row) != Some(&ring.slots))
        .collect();
    changed.sort_by_cached_key(|ring| {
        let stays: BTreeSet<u16> = ring.slots.iter().copied().collect();
        let old = old(ring.row).unwrap_or_default();
        old.iter().all(|id| stays.contains(id))
    });
    changed
}

fn filled_up(mut slots: Vec<u16>) -> Vec<u16> {
    slots.resize(slots.len().next_multiple_of(CHUNK), 0);
    slots
}

/// A group keeps the row that its services have; others get one that no packet looks at.
fn rows<'a>(tables: &Tables, scope: &Scope<'a>) -> Result<BTreeMap<&'a Name, u32>, DoesNotFit> {
    let known: BTreeMap<u32, u32> = tables
        .services()
        .filter(|(key, service)| {
            let group = scope.services.get(key).map(|group| group_id(group));
            scope.staying.contains(key) || group == Some(service.group)
        })
        .map(|(_, service)| (service.group, service.row.first()))
        .filter(|(_, row)| *row < tables.capacity.rows)
        .collect();
    let in_use = tables.rows_in_use();
    let retired = tables.retired_rows();
    let mut free =
        (0..tables.capacity.rows).filter(|row| !in_use.contains(row) && !retired.contains(row));
    let groups: BTreeSet<&Name> = scope.services.values().copied().collect();
    let unknown = |group: &&&Name| !known.contains_key(&group_id(group));
    let new = groups.iter().filter(unknown).count();
    groups
        .iter()
        .map(|group| {
            let known = known.get(&group_id(group)).copied();
            known
                .or_else(|| free.next())
                .map(|row| (*group, row))
                .ok_or_else(|| too_many(tables, in_use.len() + new))
        })
        .collect()
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

fn too_many(tables: &Tables, needed: usize) -> DoesNotFit {
    let size = tables.rows.len();
    if needed <= size {
        return DoesNotFit::NotYet {
            map: "RINGS",
            needed: needed + tables.retired_rows().len(),
            size,
            when: "a second after the last change",
        };
    }
    DoesNotFit::Rows { needed, size }
}
