use std::collections::{BTreeMap, BTreeSet};

use lb_common::{CHUNK, Descriptor, FormerRing, Row, ServiceKey};

use super::{Scope, rows};
use crate::dataplane::{Change, Tables, pool::Extent};

/// How long a ring still counts that a change has replaced, for packets that open no connection and
/// have no entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grace {
    /// The present tick.
    pub now: u32,
    /// Ticks from the change on; 0 for not at all.
    pub ticks: u32,
}

impl Grace {
    /// No ring counts that was replaced.
    pub const OFF: Self = Self { now: 0, ticks: 0 };

    /// Whether a ring that was replaced counts. One that would for longer than the grace was left by
    /// a daemon with another.
    fn covers(self, former: FormerRing) -> bool {
        (1..=self.ticks).contains(&former.ticks_left(self.now))
    }

    fn until(self) -> u32 {
        self.now.wrapping_add(self.ticks)
    }
}

/// Takes out the former rings whose time is over.
pub fn expire(tables: &Tables, grace: Grace) -> Vec<Change> {
    let over = tables.formers.iter();
    let over = over.filter(|(_, former)| !grace.covers(**former));
    over.map(|(row, _)| forget(*row)).collect()
}

pub(super) struct Plan {
    /// Former rings that count no more; to be done before anything else.
    pub(super) forget: Vec<Change>,
    /// Rings that are about to be replaced; to be done before they are.
    pub(super) keep: Vec<Change>,
}

/// A row keeps what it showed before only while the same services look at it and, if they tell clients
/// apart, numbers go on to mean the same clients: so nobody is led by another's ring. What it shows now
/// must not be an answer, since that holds for all. Of several changes within the grace it keeps what it
/// showed before the first, under which most connections began.
///
/// The pool goes to the rings that packets find now and to room for as many that may follow them; only
/// what is left goes to former ones.
pub(super) fn plan(
    tables: &Tables,
    scope: &Scope<'_>,
    rows: &rows::Plan,
    renumbered: bool,
    grace: Grace,
) -> Plan {
    let places = lasting_places(tables, scope, &rows.rows, renumbered);
    let next = rows.point_first.iter().chain(&rows.point);
    let next: BTreeMap<u32, Descriptor> = next.filter_map(pointed).collect();
    let mut room = Room::beside(tables, rows);
    let mut plan = Plan {
        forget: Vec::new(),
        keep: Vec::new(),
    };
    for (place, former) in &tables.formers {
        let shown = next.get(place).copied();
        let shown = shown.unwrap_or_else(|| tables.row(*place));
        let stands = grace.covers(*former) && tables.placed(former.ring) == former.ring;
        let lasts = places.contains(place) && shown.answer().is_none();
        if !stands || !lasts || !room.take(former.ring) {
            plan.forget.push(forget(*place));
        }
    }
    for (place, shown) in next {
        let old = tables.row(place);
        let is_known = tables
            .formers
            .get(&place)
            .is_some_and(|it| grace.covers(*it));
        let counts = grace.ticks > 0 && old.length() > 0 && shown.answer().is_none();
        if counts && !is_known && places.contains(&place) && room.take(old) {
            let former = FormerRing::new(old, grace.until());
            plan.keep.push(Change::SetFormer { row: place, former });
        }
    }
    plan
}

fn forget(row: u32) -> Change {
    let former = FormerRing::NONE;
    Change::SetFormer { row, former }
}

fn pointed(change: &Change) -> Option<(u32, Descriptor)> {
    match change {
        Change::PointRow { row, descriptor } => Some((*row, *descriptor)),
        _ => None,
    }
}

/// The elements of RINGS that mean after the changes what they mean now.
fn lasting_places(
    tables: &Tables,
    scope: &Scope<'_>,
    rows: &BTreeMap<ServiceKey, Row>,
    renumbered: bool,
) -> BTreeSet<u32> {
    let now = |key: &ServiceKey| tables.services.get(key).map(|service| service.row);
    let staying = scope
        .staying
        .iter()
        .filter_map(|key| Some((*key, now(key)?)));
    let next: Vec<(ServiceKey, Row)> = rows
        .iter()
        .map(|(key, row)| (*key, *row))
        .chain(staying)
        .collect();
    let place = |row: Row| (row.first(), row.classes());
    let joins = |(key, row): &&(ServiceKey, Row)| now(key) != Some(*row);
    let joined: BTreeSet<_> = next
        .iter()
        .filter(joins)
        .map(|(_, row)| place(*row))
        .collect();
    let changes = |row: Row| joined.contains(&place(row)) || (renumbered && row.classes() > 1);
    let used = next.iter().map(|(_, row)| *row);
    let lasting: BTreeMap<_, _> = used
        .filter(|row| !changes(*row))
        .map(|row| (place(row), row))
        .collect();
    let places = lasting
        .into_values()
        .flat_map(|row| tables.seen_places(row));
    places.map(|(_, place)| place).collect()
}

/// What the pool has left for former rings.
struct Room {
    chunks: usize,
    /// Where those begin that have room.
    taken: BTreeSet<u32>,
}

impl Room {
    /// Beside the rings that rows will show, and as many that may follow them.
    fn beside(tables: &Tables, rows: &rows::Plan) -> Self {
        let shown = rows.shown.values().map(|ring| Extent::of(*ring).len());
        let shown: usize = shown.sum();
        Self {
            chunks: (tables.slots.len() / CHUNK).saturating_sub(2 * shown),
            taken: rows.shown.keys().copied().collect(),
        }
    }

    fn take(&mut self, ring: Descriptor) -> bool {
        if self.taken.contains(&ring.offset()) {
            return true;
        }
        let left = self.chunks.checked_sub(Extent::of(ring).len());
        if let Some(left) = left {
            self.chunks = left;
            self.taken.insert(ring.offset());
        }
        left.is_some()
    }
}
