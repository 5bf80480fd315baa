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
    tables::{self, Keys, Service, Slot, Tables, Target, Ways},
    ways,
};

/// Where a flow stands in the table, or will stand.
pub(super) struct Place {
    bucket: u32,
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
    pub(super) fn of(flow: &Flow, keys: Keys) -> Option<Self> {
        let [first, second] = flow.tuple.flow_hashes(keys.flows).map(word::settle);
        let bucket = first & FLOW_MASK.load();
        Some(Self {
            bucket,
            ways: Ways::of_bucket(bucket)?,
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
        let target = service.tables.target(entry.target());
        let way = target.way();
        // Most targets are of the service's group, and were not flushed: two questions, one comparison.
        if !way.is_unflushed_of(service.group()) {
            if !service.takes(way.group()) {
                // The entry is another flow's, or the id went to another target, or to none.
                return Err(FlowEvent::Foreign);
            }
            if entry::is_flushed(entry, &way) {
                return Err(FlowEvent::Left);
            }
        }
        entry::may_follow(&way, flow)?;
        Ok(Known {
            target,
            slot,
            life: entry.life,
            next_life: entry::next_life(entry, self.now, flow),
        })
    }

    /// Keeps in mind that a packet of a new flow went to `target`.
    #[inline(always)]
    pub(super) fn remember(&self, target: u16, flow: &Flow, bytes: u64) {
        if flow.signal != Signal::Reset {
            let entry = Entry {
                name: self.fingerprint | u64::from(target),
                life: Entry::life(self.now, entry::first_state(flow)),
            };
            count::event(ways::write_entry(self.bucket, entry), bytes);
        }
    }

    /// Leaves the flow's entry the time of one that is closing.
    #[inline(always)]
    pub(super) fn end(&self) {
        if let Some((own, _)) = self.ways.find(self.fingerprint) {
            own.set_life(Entry::life(self.now, FlowState::CLOSING));
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

/// Writes an entry into a bucket over the flow's old one, which takes nothing from others and so is always
/// allowed: otherwise the next packet would follow the old one. Else over another's.
#[inline(always)]
pub(super) fn write(bucket: u32, entry: Entry) -> FlowEvent {
    let Some(ways) = Ways::of_bucket(bucket) else {
        return FlowEvent::Limited;
    };
    if let Some((own, _)) = ways.find(entry.name) {
        own.set(entry);
        return FlowEvent::Inserted;
    }
    let now = entry.last_seen();
    if !within_budget(now) {
        return FlowEvent::Limited;
    }
    let Some(tables) = Tables::open() else {
        return FlowEvent::Limited;
    };
    let idle = tables.keys().idle;
    let slot = ways.slot(entry::victim(|way| ways.slot(way).entry(), now, idle));
    let evicts = slot.entry().is_live(now, idle);
    slot.set(entry);
    match evicts {
        true => FlowEvent::Evicted,
        false => FlowEvent::Inserted,
    }
}

/// Whether this CPU may write one more entry, pin or route over those of others.
#[inline(always)]
pub(super) fn within_budget(now: u32) -> bool {
    tables::budget(INSERT_BUDGET).is_some_and(|budget| budget.allows(now, INSERT_LIMIT.load()))
}
