use std::collections::{BTreeMap, BTreeSet};

use lb_common::{CHUNK, Descriptor};

use super::{DoesNotFit, Scope};
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
}

pub(super) fn plan<'a>(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'a>,
    ids: &BTreeMap<&TargetKey, u16>,
) -> Result<Plan<'a>, DoesNotFit> {
    let rows = rows(tables, scope)?;
    let in_use = tables.rows_in_use();
    let mut pool = Pool::new(standing(tables).chain(retiring(tables)));
    let mut lengths = Vec::new();
    let mut write = Vec::new();
    let mut point = Vec::new();
    for (group, &row) in &rows {
        let mut slots = slots(image.rings.get(*group), ids);
        if in_use.contains(&row) && tables.ring(row) == slots {
            continue;
        }
        let mut descriptor = Descriptor::NO_ANSWER;
        if !slots.is_empty() {
            lengths.push(slots.len());
            let offset = pool.take(slots.len()).slots().start as u32;
            descriptor = Descriptor::new(offset, slots.len() as u32);
            slots.resize(slots.len().next_multiple_of(CHUNK), 0);
            write.push(Change::WriteSlots { offset, slots });
        }
        point.push(Change::PointRow { row, descriptor });
    }
    if pool.size() > tables.slots.len() {
        return Err(too_long(tables, &lengths, pool.size()));
    }
    Ok(Plan { rows, write, point })
}

/// A group keeps the row that its services have; others get one that no packet looks at.
fn rows<'a>(tables: &Tables, scope: &Scope<'a>) -> Result<BTreeMap<&'a Name, u32>, DoesNotFit> {
    let known: BTreeMap<u32, u32> = tables
        .services()
        .filter(|(key, service)| {
            let group = scope.services.get(key).map(|group| group_id(group));
            scope.staying.contains(key) || group == Some(service.group)
        })
        .map(|(_, service)| (service.group, service.row))
        .filter(|(_, row)| *row < tables.capacity.rows)
        .collect();
    let in_use = tables.rows_in_use();
    let retired = &tables.retired.rows;
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

fn standing(tables: &Tables) -> impl Iterator<Item = Extent> {
    tables.rings_in_use().map(Extent::of)
}

fn retiring(tables: &Tables) -> impl Iterator<Item = Extent> {
    tables.retired.rings.iter().copied().map(Extent::of)
}

const SOON: &str = "a second after the last change";

fn too_many(tables: &Tables, needed: usize) -> DoesNotFit {
    let size = tables.rows.len();
    if needed <= size {
        let needed = needed + tables.retired.rows.len();
        let (map, when) = ("RINGS", SOON);
        return DoesNotFit::NotYet {
            map,
            needed,
            size,
            when,
        };
    }
    DoesNotFit::Rows { needed, size }
}

fn too_long(tables: &Tables, lengths: &[usize], needed: usize) -> DoesNotFit {
    let size = tables.slots.len();
    let mut pool = Pool::new(standing(tables));
    for length in lengths {
        pool.take(*length);
    }
    if pool.size() <= size {
        let (map, when) = ("SLOTS", SOON);
        return DoesNotFit::NotYet {
            map,
            needed,
            size,
            when,
        };
    }
    DoesNotFit::RingSlots {
        needed: pool.size(),
        size,
    }
}
