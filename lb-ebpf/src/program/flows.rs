//! The flow table: which target a flow went to before.

use lb_common::{Entry, FlowEvent, FlowState, IdleTicks};
use lb_ebpf::{
    entry,
    parse::{Flow, Signal},
    word,
};

use super::{
    clock, count,
    maps::INSERT_BUDGET,
    settings::{FLOW_MASK, INSERT_LIMIT},
    tables::{self, Keys, Service, Slot, Target, Ways},
};

/// Where a flow stands in the table, or will stand.
pub(super) struct Place {
    ways: Ways,
    /// The name of its entry, without a target.
    fingerprint: u64,
    now: u32,
    idle: &'static IdleTicks,
}

/// An entry that a packet follows.
pub(super) struct Known {
    /// Where it leads.
    pub(super) target: Target,
    slot: Slot,
    life: u64,
    next_life: u64,
}

impl Place {
    /// The place of a flow.
    #[inline(always)]
    pub(super) fn of(flow: &Flow, keys: &Keys) -> Option<Self> {
        let [first, second] = flow.tuple.flow_hashes(keys.flows).map(word::settle);
        Some(Self {
            ways: Ways::of_bucket(first & FLOW_MASK.load())?,
            fingerprint: Entry::name(first, second, 0),
            now: clock::now(),
            idle: keys.idle,
        })
    }

    /// The entry of the flow, if a packet of it may follow it.
    ///
    /// # Errors
    /// What is counted, because it may not.
    #[inline(always)]
    pub(super) fn follow(&self, flow: &Flow, service: &Service) -> Result<Known, FlowEvent> {
        let found = self.ways.find(self.fingerprint);
        let (slot, entry) = found.ok_or(FlowEvent::Miss)?;
        if !entry.is_live(self.now, self.idle) {
            return Err(FlowEvent::Miss);
        }
        let target = Target::of(entry.target()).ok_or(FlowEvent::Foreign)?;
        let way = target.way();
        if !way.is_used() || !service.takes(way.group()) {
            // The entry is another flow's, or the id went to another target.
            return Err(FlowEvent::Foreign);
        }
        entry::may_follow(entry, &way, flow)?;
        Ok(Known {
            target,
            slot,
            life: entry.life,
            next_life: Entry::life(self.now, entry::next_state(entry.state(), flow)),
        })
    }

    /// Keeps in mind that a packet of a new flow went to `target`.
    #[inline(always)]
    pub(super) fn remember(&self, target: u16, flow: &Flow, bytes: u64) {
        if flow.signal != Signal::Reset {
            count::event(self.insert(target, flow), bytes);
        }
    }

    /// Leaves the flow's entry the time of one that is closing.
    #[inline(always)]
    pub(super) fn end(&self) {
        if let Some((own, _)) = self.ways.find(self.fingerprint) {
            own.set_life(Entry::life(self.now, FlowState::CLOSING));
        }
    }

    /// Writes an entry over the flow's old one, which takes nothing from others and so is always
    /// allowed: otherwise the next packet would follow the old one. Else over another's.
    #[inline(always)]
    fn insert(&self, target: u16, flow: &Flow) -> FlowEvent {
        let entry = Entry {
            name: self.fingerprint | u64::from(target),
            life: Entry::life(self.now, entry::first_state(flow)),
        };
        if let Some((own, _)) = self.ways.find(self.fingerprint) {
            own.set(entry);
            return FlowEvent::Inserted;
        }
        if !within_budget(self.now) {
            return FlowEvent::Limited;
        }
        let way = entry::victim(|way| self.ways.slot(way).entry(), self.now, self.idle);
        let slot = self.ways.slot(way);
        let evicts = slot.entry().is_live(self.now, self.idle);
        slot.set(entry);
        if evicts {
            FlowEvent::Evicted
        } else {
            FlowEvent::Inserted
        }
    }
}

impl Known {
    /// Keeps in mind that a packet followed the entry. It is written only when something changed, so
    /// that the cache lines of a busy flow stay shared.
    #[inline(always)]
    pub(super) fn refresh(&self) {
        if self.next_life != self.life {
            self.slot.set_life(self.next_life);
        }
    }
}

/// Whether this CPU may write one more entry, pin or route over those of others.
#[inline(always)]
pub(super) fn within_budget(now: u32) -> bool {
    tables::budget(INSERT_BUDGET).is_some_and(|budget| budget.allows(now, INSERT_LIMIT.load()))
}
