use std::collections::BTreeMap;

use lb_common::{Descriptor, Row, ServiceKey};

use super::{
    DoesNotFit, Scope, classes,
    rings::{Places, Wanted},
};
use crate::{
    dataplane::{
        Change, Tables,
        pool::{Extent, Pool},
    },
    table::{Image, Served, ServiceSpec, group_id},
};

pub(super) struct Plan {
    /// The row of every service to be published.
    pub(super) rows: BTreeMap<ServiceKey, Row>,
    /// What rows of groups say, and rows that no packet looks at yet.
    pub(super) point_first: Vec<Change>,
    /// What rows of services say that tell clients apart; to be done when those have left them that go
    /// to another.
    pub(super) point: Vec<Change>,
    /// The rings that rows show, by where they begin.
    pub(super) shown: BTreeMap<u32, Descriptor>,
}

impl Plan {
    /// Those of the new rings that some row shows. Rules can leave no client to a group.
    pub(super) fn used(&self, write: Vec<Change>) -> Vec<Change> {
        let is_shown = |change: &Change| match change {
            Change::WriteSlots { offset, .. } => self.shown.contains_key(offset),
            _ => true,
        };
        write.into_iter().filter(is_shown).collect()
    }
}

/// Rows grow by this many descriptors, so that a further class seldom needs another row.
const STEP: u32 = 16;

/// The descriptors that a row with as many classes has.
pub fn row_length(classes: usize) -> usize {
    classes.max(2).next_multiple_of(STEP as usize)
}

/// A service keeps its row as long as that is long enough and all services that share it want the
/// same of it; others get one that no packet looks at. New rows are shared by services that want the
/// same.
pub(super) fn plan(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'_>,
    classes: &classes::Plan,
    (rings, places): (&Wanted<'_>, &Places),
) -> Result<Plan, DoesNotFit> {
    let mut rows = Rows::new(tables);
    let mut plan = Plan {
        rows: BTreeMap::new(),
        point_first: Vec::new(),
        point: Vec::new(),
        shown: BTreeMap::new(),
    };
    let mut wanted = stay(tables, scope, rings, places);
    group_rows(tables, scope, &mut rows, &mut plan.rows)?;
    for (key, spec) in scope.services.iter().filter(|(_, spec)| !spec.by_class) {
        wanted.insert(plan.rows[key].first(), places.of(&spec.group, 0));
    }
    let contents = contents(tables, image, scope, classes);
    class_rows(tables, &contents, classes, &mut rows, &mut plan.rows)?;
    for (key, content) in &contents {
        let row = plan.rows[key];
        for ((class, number), served) in classes.numbered().zip(&content.served) {
            let place = row.first() + u32::from(number);
            wanted.insert(place, places.by(image, *served, class));
        }
        for (number, now) in classes.leaving.iter().zip(&content.leaving) {
            let place = row.first() + u32::from(*number);
            wanted.insert(place, places.instead_of(tables, rings, *now));
        }
    }
    let in_use = tables.rows_in_use().into_iter();
    let shared = in_use.filter(|row| row.classes() > 1);
    let shared: Vec<_> = shared.map(Extent::of_row).collect();
    let rings = wanted.values().filter(|ring| ring.length() > 0);
    plan.shown = rings.map(|ring| (ring.offset(), *ring)).collect();
    for (row, descriptor) in wanted {
        if tables.rows[row as usize] != descriptor {
            let seen = shared.iter().any(|extent| extent.holds(row as usize));
            let phase = if seen {
                &mut plan.point
            } else {
                &mut plan.point_first
            };
            phase.push(Change::PointRow { row, descriptor });
        }
    }
    Ok(plan)
}

/// What the rows of services that are left alone should say: the new rings of the groups that they
/// show.
fn stay(
    tables: &Tables,
    scope: &Scope<'_>,
    rings: &Wanted<'_>,
    places: &Places,
) -> BTreeMap<u32, Descriptor> {
    let mut wanted = BTreeMap::new();
    for service in scope.staying.iter().map(|key| tables.services[key]) {
        for (_, place) in tables.seen_places(service.row) {
            let now = tables.row(place);
            // In a row of its own, a group is known though it has no ring.
            let next = match service.row.classes() {
                0 | 1 if tables.group_of(now) != Some(service.group) => {
                    places.by_id(service.group, 0).unwrap_or(now)
                }
                _ => places.instead_of(tables, rings, now),
            };
            if (place as usize) < tables.rows.len() {
                wanted.insert(place, next);
            }
        }
    }
    wanted
}

/// What a service that tells clients apart wants of its row.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Content<'a> {
    /// For each class of the image that has clients.
    served: Vec<Option<Served<'a>>>,
    /// What its present row says for the numbers that packets find until the new table is in use.
    /// Empty if it does not look classes up yet.
    leaving: Vec<Descriptor>,
}

fn contents<'a>(
    tables: &Tables,
    image: &'a Image,
    scope: &Scope<'_>,
    classes: &classes::Plan,
) -> BTreeMap<ServiceKey, Content<'a>> {
    let content = |key: &ServiceKey| {
        let now = tables.services.get(key).map(|service| service.row);
        let now = now.filter(|row| row.classes() > 1);
        let leaving = classes.leaving.iter();
        let leaving = leaving.filter_map(|it| Some(now?.first().saturating_add((*it).into())));
        let leaving = leaving.map(|place| tables.row(place));
        let served = |(class, _): (usize, u16)| image.answer(key, class);
        Content {
            served: classes.numbered().map(served).collect(),
            leaving: leaving.collect(),
        }
    };
    let by_class = |(_, spec): &(&ServiceKey, &&ServiceSpec)| spec.by_class;
    let services = scope.services.iter().filter(by_class);
    services.map(|(key, _)| (*key, content(key))).collect()
}

/// Services for which all clients are alike share the row of their group.
fn group_rows(
    tables: &Tables,
    scope: &Scope<'_>,
    free: &mut Rows,
    rows: &mut BTreeMap<ServiceKey, Row>,
) -> Result<(), DoesNotFit> {
    let same_group = |(key, service): &(ServiceKey, lb_common::Service)| {
        let spec = scope.services.get(key);
        let group = spec.map(|spec| group_id(&spec.group));
        scope.staying.contains(key) || group == Some(service.group)
    };
    let known = tables.services().filter(same_group);
    let mut by_group: BTreeMap<u32, Row> = known
        .map(|(_, service)| (service.group, service.row))
        .filter(|(_, row)| row.classes() == 1 && free.has(*row))
        .collect();
    for (key, spec) in scope.services.iter().filter(|(_, spec)| !spec.by_class) {
        let group = group_id(&spec.group);
        let row = match by_group.get(&group) {
            Some(row) => *row,
            None => free.take(tables, 1)?,
        };
        by_group.insert(group, row);
        rows.insert(*key, row);
    }
    Ok(())
}

fn class_rows(
    tables: &Tables,
    contents: &BTreeMap<ServiceKey, Content<'_>>,
    classes: &classes::Plan,
    free: &mut Rows,
    rows: &mut BTreeMap<ServiceKey, Row>,
) -> Result<(), DoesNotFit> {
    let numbers = classes.numbered().map(|(_, number)| number);
    let all = numbers.chain(classes.leaving.iter().copied());
    let needed = all.max().map_or(0, |number| usize::from(number) + 1);
    let mut claimed: BTreeMap<u32, &Content<'_>> = BTreeMap::new();
    let mut by_content: BTreeMap<&Content<'_>, Row> = BTreeMap::new();
    for (key, content) in contents {
        let Some(row) = tables.services.get(key).map(|service| service.row) else {
            continue;
        };
        if row.classes() > 1 && row.classes() as usize >= needed && free.has(row) {
            let first = *claimed.entry(row.first()).or_insert(content);
            if first == content {
                by_content.insert(content, row);
                rows.insert(*key, row);
            }
        }
    }
    for (key, content) in contents {
        if rows.contains_key(key) {
            continue;
        }
        let row = match by_content.get(content) {
            Some(row) => *row,
            None => free.take(tables, row_length(needed))?,
        };
        by_content.insert(content, row);
        rows.insert(*key, row);
    }
    Ok(())
}

/// The elements of RINGS.
struct Rows {
    size: usize,
    pool: Pool,
    taken: usize,
}

impl Rows {
    fn new(tables: &Tables) -> Self {
        let size = tables.rows.len();
        let in_use = tables.rows_in_use().into_iter();
        let busy = in_use.chain(tables.retired_rows()).map(Extent::of_row);
        Self {
            size,
            pool: Pool::of_rows(size, busy),
            taken: 0,
        }
    }

    /// Whether a row is one of the map, and not written by a foreign hand.
    fn has(&self, row: Row) -> bool {
        u64::from(row.first()) + u64::from(row.classes()) <= self.size as u64
    }

    fn take(&mut self, tables: &Tables, length: usize) -> Result<Row, DoesNotFit> {
        self.taken += length;
        let extent = self.pool.take(length);
        let row = |extent: Extent| Row::new(extent.start() as u32, length as u32);
        extent.map(row).ok_or_else(|| self.too_many(tables))
    }

    fn too_many(&self, tables: &Tables) -> DoesNotFit {
        let sum = |rows: &mut dyn Iterator<Item = Row>| -> usize {
            rows.map(|row| row.classes() as usize).sum()
        };
        let needed = sum(&mut tables.rows_in_use().into_iter()) + self.taken;
        let size = self.size;
        if needed <= size {
            return DoesNotFit::NotYet {
                map: "RINGS",
                needed: needed + sum(&mut tables.retired_rows()),
                size,
                when: "a second after the last change",
            };
        }
        DoesNotFit::Rows { needed, size }
    }
}
