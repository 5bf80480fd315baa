use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lb_common::{CLASSES, Descriptor, Row, ServiceKey};

use super::{DoesNotFit, Scope};
use crate::{
    class::{Class, Partition},
    dataplane::Tables,
    model::Route,
    table::{ClassTable, Image, group_id},
};

/// How classes are numbered in the kernel.
#[derive(Default)]
pub(super) struct Plan {
    /// The number of each class of the image; none for one of no clients.
    pub(super) numbers: Vec<Option<u16>>,
    /// The numbers that packets find until the new table is in use, and then no longer.
    pub(super) leaving: BTreeSet<u16>,
    /// What is to be put into use, if that is not what is in use.
    pub(super) table: Option<Arc<ClassTable>>,
}

/// A class that is as before keeps its number: one of the same clients, or else one for which all
/// services do the same. A number that goes to other clients must not change what it stands for, and
/// one that stands for something else must not go to other clients, so that both are sound before
/// and after the one store that puts the new table into use.
pub(super) fn plan(tables: &Tables, image: &Image, scope: &Scope<'_>) -> Result<Plan, DoesNotFit> {
    if scope.frozen {
        return Ok(Plan::default());
    }
    let (clients, now) = (&*image.clients, tables.clients_in_use());
    let (mut numbers, present) = same_clients(clients, now);
    let is_new = |class: &usize| present.contains(class) && numbers[*class].is_none();
    let new: Vec<usize> = (0..numbers.len()).filter(is_new).collect();
    let kept: BTreeSet<u16> = numbers.iter().flatten().copied().collect();
    let mut known = meanings(tables, scope, now.numbers().difference(&kept));
    let resting = tables.retired_classes();
    let is_free = |number: &u16| !now.numbers().contains(number) && !resting.contains(number);
    let mut free = (0..CLASSES as u16).filter(is_free);
    for class in &new {
        let meaning = meaning(&clients.classes[*class], tables, scope);
        let number = known.remove(&meaning).or_else(|| free.next());
        let too_many = || too_many(new.len(), now.numbers().len(), resting.len());
        numbers[*class] = Some(number.ok_or_else(too_many)?);
    }
    let taken: BTreeSet<u16> = numbers.iter().flatten().copied().collect();
    let mut plan = Plan {
        leaving: now.numbers().difference(&taken).copied().collect(),
        numbers,
        table: None,
    };
    if !new.is_empty() {
        plan.table = Some(Arc::new(plan.table_of(clients)));
    }
    Ok(plan)
}

impl Plan {
    fn table_of(&self, clients: &Partition) -> ClassTable {
        let number = |class: usize| self.numbers[class].unwrap_or_default();
        let v4 = clients
            .v4
            .iter()
            .map(|(first, class)| (*first, number(*class)));
        let v6 = clients
            .v6
            .iter()
            .map(|(first, class)| (*first, number(*class)));
        ClassTable::new(v4.collect(), v6.collect())
    }

    /// The classes that have clients, with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, u16)> {
        let numbers = self.numbers.iter().enumerate();
        numbers.filter_map(|(class, number)| Some((class, (*number)?)))
    }
}

/// Whether a table fits its maps.
pub(super) fn check_size(tables: &Tables, table: &ClassTable) -> Result<(), DoesNotFit> {
    let needed = table.mixed_blocks().len();
    let size = tables.capacity.long_networks as usize;
    if needed > size {
        return Err(DoesNotFit::LongNetworks { needed, size });
    }
    let needed = table.prefixes().len();
    let size = tables.capacity.v6_prefixes as usize;
    if needed > size {
        return Err(DoesNotFit::V6Prefixes { needed, size });
    }
    Ok(())
}

/// The number of each class whose clients all have one number that nobody else has; and the classes
/// that have clients.
fn same_clients(clients: &Partition, now: &ClassTable) -> (Vec<Option<u16>>, BTreeSet<usize>) {
    let mut pairs = BTreeSet::new();
    overlay(&clients.v4, now.v4(), &mut pairs);
    overlay(&clients.v6, now.v6(), &mut pairs);
    let mut of_number: BTreeMap<u16, usize> = BTreeMap::new();
    for (_, number) in &pairs {
        *of_number.entry(*number).or_default() += 1;
    }
    let mut numbers = vec![None; clients.classes.len()];
    let pairs: Vec<_> = pairs.into_iter().collect();
    for of_class in pairs.chunk_by(|one, next| one.0 == next.0) {
        if let [(class, number)] = of_class
            && of_number[number] == 1
        {
            numbers[*class] = Some(*number);
        }
    }
    (numbers, pairs.into_iter().map(|(class, _)| class).collect())
}

/// Collects which classes and numbers some address has.
fn overlay<A: Copy + Ord>(
    classes: &[(A, usize)],
    numbers: &[(A, u16)],
    pairs: &mut BTreeSet<(usize, u16)>,
) {
    let (mut i, mut j) = (0, 0);
    while let (Some((_, class)), Some((_, number))) = (classes.get(i), numbers.get(j)) {
        pairs.insert((*class, *number));
        let next = [
            classes.get(i + 1).map(|it| it.0),
            numbers.get(j + 1).map(|it| it.0),
        ];
        let Some(first) = next.into_iter().flatten().min() else {
            break;
        };
        i += usize::from(next[0] == Some(first));
        j += usize::from(next[1] == Some(first));
    }
}

/// What one service does for the clients of a class.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Meaning {
    Drop,
    Group(u32),
    Pass,
    Reject,
}

/// The services that look classes up now and will go on doing so.
fn told_apart<'a>(
    tables: &'a Tables,
    scope: &'a Scope<'_>,
) -> impl Iterator<Item = (ServiceKey, Row)> + 'a {
    let services = tables.services();
    let row = |(key, service): (ServiceKey, lb_common::Service)| {
        let goes_on = scope
            .services
            .get(&key)
            .is_some_and(|spec| spec.has_rules());
        (goes_on && service.row.classes() > 1).then_some((key, service.row))
    };
    services.filter_map(row)
}

/// The numbers by what they stand for, as far as that is seen: an empty ring is of no known group.
fn meanings<'a>(
    tables: &Tables,
    scope: &Scope<'_>,
    numbers: impl Iterator<Item = &'a u16>,
) -> BTreeMap<Vec<Meaning>, u16> {
    let rows: Vec<Row> = told_apart(tables, scope).map(|(_, row)| row).collect();
    let meaning = |number: &u16| {
        let of_row = |row: &Row| meaning_at(tables, *row, *number);
        let meaning: Option<Vec<_>> = rows.iter().map(of_row).collect();
        Some((meaning?, *number))
    };
    // Of two that stand for the same the lower one.
    numbers
        .filter_map(meaning)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect()
}

fn meaning_at(tables: &Tables, row: Row, number: u16) -> Option<Meaning> {
    if u32::from(number) >= row.classes() {
        return None;
    }
    match tables.row(row.first().saturating_add(number.into())) {
        Descriptor::DROP => Some(Meaning::Drop),
        Descriptor::PASS => Some(Meaning::Pass),
        Descriptor::REJECT => Some(Meaning::Reject),
        ring => tables.group_of(ring).map(Meaning::Group),
    }
}

fn meaning(class: &Class, tables: &Tables, scope: &Scope<'_>) -> Vec<Meaning> {
    let meaning = |(key, _)| match &class[&key] {
        Route::Drop => Meaning::Drop,
        Route::Group(group) => Meaning::Group(group_id(group)),
        Route::Pass => Meaning::Pass,
        Route::Reject => Meaning::Reject,
    };
    told_apart(tables, scope).map(meaning).collect()
}

pub(super) fn too_many(new: usize, standing: usize, resting: usize) -> DoesNotFit {
    let (needed, size) = (new + standing, CLASSES as usize);
    if needed <= size {
        return DoesNotFit::NotYet {
            map: "RINGS",
            needed: needed + resting,
            size,
            when: "a second after the last change",
        };
    }
    DoesNotFit::Classes { needed, size }
}
