//! The flow table: which target a flow went to before.

use aya_ebpf::helpers::generated::bpf_ktime_get_coarse_ns;
use lb_common::{Entry, FLOW_PASSES, FlowEvent, HashKey, Service, Target, tick};
use lb_ebpf::{
    entry,
    parse::{Flow, Signal},
};

use super::{
    count,
    settings::{FLOW_MASK, IDLE_TICKS, INSERT_LIMIT},
    tables::{self, Ways},
};

/// Where a flow stands in the table, or will stand.
pub(super) struct Place {
    ways: Ways,
    /// The name of its entry, without a target.
    fingerprint: u64,
    /// The way with its fingerprint.
    way: Option<usize>,
    /// The entry there, if the packet follows it.
    followed: Option<(Entry, Target)>,
    now: u32,
}

impl Place {
    /// Looks the flow up, and counts what was found.
    #[inline(always)]
    pub(super) fn of(
        flow: &Flow,
        service: &Service,
        keys: &[HashKey; FLOW_PASSES],
        bytes: u64,
    ) -> Option<Self> {
        let [first, second] = keys.each_ref().map(|key| flow.tuple.hash(key));
        let ways = Ways::of_bucket(first & FLOW_MASK.load())?;
        let fingerprint = Entry::name(first, second, 0);
        let now = now();
        let found = ways.find(fingerprint);
        let followed = match found {
            Some((_, entry)) => follow(entry, now, flow, service),
            None => Err(FlowEvent::Miss),
        };
        count::event(followed.err().unwrap_or(FlowEvent::Hit), bytes);
        Some(Self {
            ways,
            fingerprint,
            way: found.map(|(way, _)| way),
            followed: followed.ok(),
            now,
        })
    }

    /// The target that the packet must go to, with its id; `None` if the flow is new.
    #[inline(always)]
    pub(super) fn target(&self) -> Option<(u16, Target)> {
        self.followed
            .map(|(entry, target)| (entry.target(), target))
    }

    /// Keeps in mind that a packet of the flow went to `target`.
    #[inline(always)]
    pub(super) fn remember(&self, target: u16, flow: &Flow, bytes: u64) {
        match (self.way, self.followed) {
            (Some(way), Some((entry, _))) => self.refresh(way, entry, flow),
            _ if flow.signal == Signal::Reset => {}
            _ => count::event(self.insert(target, flow), bytes),
        }
    }

    /// Writes only when something changed, so that the cache lines of a busy flow stay shared.
    #[inline(always)]
    fn refresh(&self, way: usize, entry: Entry, flow: &Flow) {
        let life = Entry::life(self.now, entry::next_state(entry.state(), flow));
        if life != entry.life {
            self.ways.set_life(way, life);
        }
    }

    /// Writes an entry over the flow's old one, which takes nothing from others and so is always
    /// allowed: otherwise the next packet would follow the old one. Else over another's.
    #[inline(always)]
    fn insert(&self, target: u16, flow: &Flow) -> FlowEvent {
        if self.way.is_none() && !within_budget(self.now) {
            return FlowEvent::Limited;
        }
        let idle = IDLE_TICKS.load();
        let way = self
            .way
            .unwrap_or_else(|| entry::victim(|way| self.ways.entry(way), self.now, &idle));
        let evicts = self.way.is_none() && self.ways.entry(way).is_live(self.now, &idle);
        self.ways.set(
            way,
            Entry {
                name: self.fingerprint | u64::from(target),
                life: Entry::life(self.now, entry::first_state(flow)),
            },
        );
        if evicts {
            FlowEvent::Evicted
        } else {
            FlowEvent::Inserted
        }
    }
}

/// Whether this CPU may write one more entry over those of others.
#[inline(always)]
fn within_budget(now: u32) -> bool {
    tables::budget().is_some_and(|budget| budget.allows(now, INSERT_LIMIT.load()))
}

/// The entry with its target, if a packet of the flow may follow it.
#[inline(always)]
fn follow(
    entry: Entry,
    now: u32,
    flow: &Flow,
    service: &Service,
) -> Result<(Entry, Target), FlowEvent> {
    if !entry.is_live(now, &IDLE_TICKS.load()) {
        return Err(FlowEvent::Miss);
    }
    let target = tables::target(entry.target()).ok_or(FlowEvent::Foreign)?;
    let serves = tables::serves(target.group, service);
    entry::may_follow(entry, &target, flow, serves)?;
    Ok((entry, target))
}

/// The present tick. The coarse clock costs a seventh of the exact one, and userspace can read it
/// too.
#[inline(always)]
fn now() -> u32 {
    // SAFETY: the helper takes nothing and always succeeds.
    tick(unsafe { bpf_ktime_get_coarse_ns() })
}
