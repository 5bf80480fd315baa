use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use lb_common::{Affinity, Answer, CHUNK, Descriptor, RING_HEAD, ring_head};

use super::{DoesNotFit, Scope, classes::Meaning, rounds};
use crate::{
    dataplane::{
        Change, Tables,
        pool::{Extent, Pool},
    },
    model::Name,
    table::{Image, Ring, Served, TargetKey, group_id},
};

/// The rings that groups should have, and those that they have.
pub(super) struct Wanted<'a> {
    groups: BTreeMap<u32, Group<'a>>,
    /// Which of the rings of its group follows each of those that packets find, by its offset, once
    /// that was asked.
    followers: BTreeMap<u32, OnceCell<usize>>,
}

struct Group<'a> {
    name: &'a Name,
    rings: Vec<Content>,
    /// Where each of the rings stands already.
    places: Vec<Option<Descriptor>>,
    /// Whether a target leaves what the group has now.
    shrinks: bool,
}

/// A ring as the pool holds it.
#[derive(Eq, PartialEq)]
struct Content {
    slots: Vec<u16>,
    columns: u32,
    affinity: Affinity,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(
        tables: &Tables,
        image: &Image,
        scope: &Scope<'a>,
        ids: &BTreeMap<&TargetKey, u16>,
    ) -> Self {
        // Rings of answers alone are of no group.
        let mut standing: BTreeMap<Option<u32>, Vec<Descriptor>> = BTreeMap::new();
        let mut followers = BTreeMap::new();
        for ring in tables.rings_in_use() {
            standing
                .entry(tables.group_of(ring))
                .or_default()
                .push(ring);
            followers.insert(ring.offset(), OnceCell::new());
        }
        let of = |group| standing.get(&group).map_or(&[][..], |it| it.as_slice());
        let group = |name: &'a Name| {
            let rings = image.rings.get(name).map_or(&[][..], |it| it.as_slice());
            let affinity = image.affinities.get(name).copied().unwrap_or_default();
            let rings = rings.iter().map(|ring| Content::new(ring, affinity, ids));
            let rings: Vec<_> = rings.collect();
            let id = group_id(name);
            (id, Group::new(tables, name, rings, of(Some(id)), of(None)))
        };
        Self {
            groups: scope.groups().into_iter().map(group).collect(),
            followers,
        }
    }

    /// What one of the new rings of a group stands for.
    pub(super) fn meaning(&self, group: &Name, index: usize) -> Meaning {
        let group = group_id(group);
        let rings = self.groups.get(&group).map(|it| &it.rings);
        let answer = rings.and_then(|it| it.get(index)?.answer());
        answer.map_or(Meaning::Ring { group, index }, Meaning::Answer)
    }

    /// What follows a ring that packets find, be it itself; none if its group is not known.
    pub(super) fn meaning_of(&self, tables: &Tables, now: Descriptor) -> Option<Meaning> {
        let group = tables.group_of(now)?;
        let Some(wanted) = self.groups.get(&group) else {
            return Some(Meaning::Ring { group, index: 0 });
        };
        let follower = || wanted.follower(tables, now);
        let known = self.followers.get(&now.offset());
        let index = known.map_or_else(follower, |known| *known.get_or_init(follower));
        Some(Meaning::Ring { group, index })
    }

    /// The group with this number if its rings, or some of them, are to be written.
    pub(super) fn changed(&self, group: u32) -> Option<&'a Name> {
        let group = self.groups.get(&group)?;
        group.places.contains(&None).then_some(group.name)
    }

    /// Whether a ring that packets find stays as one of its group's.
    pub(super) fn keeps(&self, group: u32, ring: Descriptor) -> bool {
        let group = self.groups.get(&group);
        group.is_some_and(|group| group.places.contains(&Some(ring)))
    }
}

impl<'a> Group<'a> {
    fn new(
        tables: &Tables,
        name: &'a Name,
        rings: Vec<Content>,
        standing: &[Descriptor],
        of_answers: &[Descriptor],
    ) -> Self {
        let place = |content: &Content| {
            let mut all = standing.iter().chain(of_answers);
            match content.answer() {
                Some(answer) => Some(Descriptor::of_answer(answer)),
                None if content.slots.is_empty() => Some(Descriptor::NO_ANSWER),
                None => all.find(|ring| content.stands_at(tables, **ring)).copied(),
            }
        };
        let places: Vec<_> = rings.iter().map(place).collect();
        let mut shrinks = false;
        if places.contains(&None) {
            let stays: BTreeSet<u16> = rings.iter().flat_map(|it| &it.slots).copied().collect();
            let mut old = standing.iter().flat_map(|ring| tables.slots_of(*ring));
            shrinks = old.any(|id| !stays.contains(id));
        }
        Self {
            name,
            rings,
            places,
            shrinks,
        }
    }

    /// Which of the rings agrees with an old one in most slots.
    fn follower(&self, tables: &Tables, old: Descriptor) -> usize {
        if self.rings.len() < 2 {
            return 0;
        }
        let same = self.places.iter().position(|place| *place == Some(old));
        let agreement = |index: &usize| self.rings[*index].agreement(tables, old);
        // Of equal ones this gives the last, so they come in backwards.
        let most = || (0..self.rings.len()).rev().max_by_key(agreement);
        same.or_else(most).unwrap_or(0)
    }

    /// The lengths of the rings that are to be written, each once, besides those of answers.
    fn lengths(&self, of_answers: &[(&Content, Descriptor)]) -> Vec<usize> {
        let rings = self.rings.iter().zip(&self.places).enumerate();
        let new = rings.filter(|(index, (ring, place))| {
            let is_written = of_answers.iter().any(|(other, _)| other == ring);
            place.is_none() && !is_written && !self.rings[..*index].contains(ring)
        });
        new.map(|(_, (ring, _))| ring.size()).collect()
    }

    /// Where the rings stand when those without a place are written to these.
    fn write(
        &self,
        extents: Vec<Extent>,
        of_answers: &[(&Content, Descriptor)],
        write: &mut Vec<Change>,
    ) -> Vec<Descriptor> {
        let mut extents = extents.into_iter();
        let mut places: Vec<Descriptor> = Vec::with_capacity(self.rings.len());
        for (index, (ring, place)) in self.rings.iter().zip(&self.places).enumerate() {
            let equal = self.rings[..index].iter().position(|it| it == ring);
            let other = of_answers.iter().find(|(other, _)| *other == ring);
            let known = place.or(equal.map(|equal| places[equal]));
            let known = known.or(other.map(|(_, place)| *place));
            let place = known.or_else(|| {
                let offset = extents.next()?.slots().start as u32;
                let slots = ring.written();
                write.push(Change::WriteSlots { offset, slots });
                Some(ring.at(offset))
            });
            places.push(place.unwrap_or_default());
        }
        places
    }
}

impl Content {
    fn new(ring: &Ring, affinity: Affinity, ids: &BTreeMap<&TargetKey, u16>) -> Self {
        let targets = ring.targets.iter();
        let targets: Vec<u16> = targets
            .map(|key| ids.get(key).copied().unwrap_or(0))
            .collect();
        let id = |slot: &u16| match Answer::of_slot(*slot) {
            Some(_) => *slot,
            None => targets.get(usize::from(*slot)).copied().unwrap_or(0),
        };
        Self {
            slots: ring.slots.iter().map(id).collect(),
            columns: ring.columns,
            // Nobody is pinned to an answer.
            affinity: match ring.targets.is_empty() {
                true => Affinity::NONE,
                false => affinity,
            },
        }
    }

    /// Slots that it takes in the pool, with its head.
    fn size(&self) -> usize {
        match self.affinity.is_some() {
            true => RING_HEAD + self.slots.len(),
            false => self.slots.len(),
        }
    }

    /// What it is in the pool, in whole chunks.
    fn written(&self) -> Vec<u16> {
        let mut written = Vec::with_capacity(self.size().next_multiple_of(CHUNK));
        if self.affinity.is_some() {
            let is_target = |slot: &u16| *slot != 0 && Answer::of_slot(*slot).is_none();
            let targets: BTreeSet<u16> = self.slots.iter().copied().filter(is_target).collect();
            written.extend(ring_head(self.affinity, targets));
        }
        written.extend(&self.slots);
        written.resize(written.len().next_multiple_of(CHUNK), 0);
        written
    }

    /// Where it stands if it begins at slot `offset` of the pool.
    fn at(&self, offset: u32) -> Descriptor {
        let ring = Descriptor::in_rows(offset, self.slots.len() as u32, self.columns);
        match self.affinity.is_some() {
            true => ring.with_head(),
            false => ring,
        }
    }

    /// The answer in all of its slots.
    fn answer(&self) -> Option<Answer> {
        let first = self.slots.first()?;
        let answer = Answer::of_slot(*first)?;
        self.slots.iter().all(|it| it == first).then_some(answer)
    }

    /// Whether it is of answers alone, and so of no group: equal ones of all groups are one.
    fn is_of_answers(&self) -> bool {
        self.slots
            .iter()
            .all(|slot| Answer::of_slot(*slot).is_some())
    }

    fn stands_at(&self, tables: &Tables, ring: Descriptor) -> bool {
        self.columns == ring.columns()
            && self.affinity == tables.affinity_of(ring)
            && tables.slots_of(ring) == self.slots
    }

    /// The slots that are the same in a ring of the same form.
    fn agreement(&self, tables: &Tables, ring: Descriptor) -> usize {
        let there = tables.slots_of(ring);
        if self.columns != ring.columns() || there.len() != self.slots.len() {
            return 0;
        }
        self.slots.iter().zip(there).filter(|(a, b)| a == b).count()
    }
}

pub(super) struct Plan<'a> {
    /// Where the rings stand.
    pub(super) places: Places,
    /// The new rings.
    pub(super) write: Vec<Change>,
    /// Groups whose new rings have no room yet, but will have once the others have moved.
    pub(super) put_off: Vec<&'a Name>,
}

/// Where the rings of each group stand that is not left alone.
#[derive(Default)]
pub(super) struct Places(BTreeMap<u32, Vec<Descriptor>>);

impl Places {
    /// One of the rings of a group.
    pub(super) fn of(&self, group: &Name, index: usize) -> Descriptor {
        self.by_id(group_id(group), index).unwrap_or_default()
    }

    /// One of the rings of a group that is not left alone.
    pub(super) fn by_id(&self, group: u32, index: usize) -> Option<Descriptor> {
        self.0.get(&group)?.get(index).copied()
    }

    /// All rings of a group that is not left alone.
    pub(super) fn all_of(&self, group: u32) -> Option<&[Descriptor]> {
        self.0.get(&group).map(Vec::as_slice)
    }

    /// What a row says of clients of a class that get this.
    pub(super) fn by(&self, image: &Image, served: Option<Served<'_>>, class: usize) -> Descriptor {
        match served {
            Some(Served::Answer(answer)) => Descriptor::of_answer(answer),
            Some(Served::Group(group)) => self.of(group, image.view(group, class)),
            None => Descriptor::NO_ANSWER,
        }
    }

    /// What a row says of clients for whom it says `now`, when their group's rings change.
    pub(super) fn instead_of(
        &self,
        tables: &Tables,
        wanted: &Wanted<'_>,
        now: Descriptor,
    ) -> Descriptor {
        let follower = match wanted.meaning_of(tables, now) {
            Some(Meaning::Ring { group, index }) => self.by_id(group, index),
            _ => None,
        };
        follower.unwrap_or(now)
    }
}

/// Finds places for the rings that have none; first for groups that a target leaves.
pub(super) fn plan<'a>(
    tables: &Tables,
    scope: &Scope<'a>,
    wanted: &Wanted<'a>,
) -> Result<Plan<'a>, DoesNotFit> {
    let size = tables.slots.len();
    let seen = tables.rings_in_use().chain(tables.rings_out_of_use());
    let mut pool = Pool::new(size, seen.map(Extent::of));
    let mut plan = Plan {
        places: Places::default(),
        write: Vec::new(),
        put_off: Vec::new(),
    };
    let mut placed = Vec::new();
    let mut waiting = Vec::new();
    let mut of_answers = Vec::new();
    let mut groups: Vec<_> = wanted.groups.iter().collect();
    groups.sort_by_key(|(_, group)| (!group.shrinks, group.name));
    for (id, group) in groups {
        let lengths = group.lengths(&of_answers);
        let Some(extents) = pool.take_all(&lengths) else {
            plan.put_off.push(group.name);
            waiting.push((group.name, lengths));
            continue;
        };
        placed.extend(&extents);
        let places = group.write(extents, &of_answers, &mut plan.write);
        let written = group.rings.iter().zip(places.iter().copied());
        of_answers.extend(written.filter(|(ring, _)| ring.is_of_answers()));
        plan.places.0.insert(*id, places);
    }
    if !waiting.is_empty() {
        let standing = rounds::standing(tables, scope, wanted, &plan.places);
        rounds::play(size, &standing, placed, waiting)?;
    }
    Ok(plan)
}
