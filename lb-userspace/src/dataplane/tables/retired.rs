use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Descriptor, FormerRing, Row};

use super::Tables;

/// What a packet may still be looking at.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(in crate::dataplane) struct Retired {
    pub(super) services: BTreeSet<u32>,
    pub(super) rows: Vec<Row>,
    pub(super) rings: Vec<Descriptor>,
    pub(super) classes: BTreeSet<u16>,
    /// Whether a buffer of client prefixes is among it.
    pub(super) clients: bool,
}

impl Tables {
    /// Makes free what was retired before the last call. To be called every turn: what was retired
    /// rests for at least one, and packets take microseconds.
    pub fn release(&mut self) {
        let [recent, rested] = &mut self.retired;
        *rested = std::mem::take(recent);
    }

    /// The ids that packets may still be looking at, without a service.
    pub(in crate::dataplane) fn retired_services(&self) -> BTreeSet<u32> {
        let ids = self.retired.iter().flat_map(|retired| &retired.services);
        ids.copied().collect()
    }

    /// The rows that packets may still be looking at, without a service.
    pub(in crate::dataplane) fn retired_rows(&self) -> impl Iterator<Item = Row> {
        let retired = self.retired.iter();
        retired.flat_map(|retired| retired.rows.iter().copied())
    }

    /// The rings that packets may still be looking at, without a row.
    fn retired_rings(&self) -> impl Iterator<Item = Descriptor> {
        self.retired
            .iter()
            .flat_map(|retired| retired.rings.iter().copied())
    }

    /// The rings that packets may be looking at, though no row shows them: those that rest, and those
    /// that rows showed before.
    pub(in crate::dataplane) fn rings_out_of_use(&self) -> impl Iterator<Item = Descriptor> {
        let formers = self.formers.values().map(|former| self.placed(former.ring));
        let formers = formers.filter(|ring| ring.length() > 0);
        self.retired_rings().chain(formers)
    }

    /// The class numbers that packets may still have found, without a client.
    pub(in crate::dataplane) fn retired_classes(&self) -> BTreeSet<u16> {
        let classes = self.retired.iter().flat_map(|retired| &retired.classes);
        classes.copied().collect()
    }

    /// Whether packets may still be looking at the buffer of client prefixes that is not in use.
    pub(in crate::dataplane) fn other_buffer_rests(&self) -> bool {
        self.retired.iter().any(|retired| retired.clients)
    }

    pub(super) fn set_former(&mut self, row: u32, former: FormerRing) {
        let old = match former.ring.length() {
            0 => self.formers.remove(&row),
            _ => self.formers.insert(row, former),
        };
        if let Some(old) = old {
            self.retire(self.placed(old.ring));
        }
    }

    pub(super) fn leave(&mut self, row: Row) {
        if self.services.values().all(|service| service.row != row) {
            self.retired[0].rows.push(row);
            let rings: Vec<_> = self.rings_of(row).collect();
            rings.into_iter().for_each(|ring| self.retire(ring));
        }
    }

    pub(super) fn select(&mut self, buffer: u32) {
        let before = self.clients_in_use().numbers().clone();
        let rings: BTreeMap<_, _> = self.rings_in_use().map(|it| (it.offset(), it)).collect();
        self.buffer = buffer;
        self.clients = self.next_clients.take().unwrap_or_default();
        let left: Vec<u16> = before
            .difference(self.clients_in_use().numbers())
            .copied()
            .collect();
        self.retired[0].classes.extend(left);
        self.retired[0].clients = true;
        let seen: BTreeSet<_> = self.rings_in_use().map(Descriptor::offset).collect();
        let gone = rings
            .into_iter()
            .filter(|(offset, _)| !seen.contains(offset));
        let gone: Vec<_> = gone.map(|(_, ring)| ring).collect();
        gone.into_iter().for_each(|ring| self.retire(ring));
    }

    pub(super) fn retire(&mut self, ring: Descriptor) {
        let rings = &mut self.retired[0].rings;
        if ring.length() > 0 && rings.last() != Some(&ring) {
            rings.push(ring);
        }
    }
}
