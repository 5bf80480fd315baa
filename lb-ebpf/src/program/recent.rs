//! What a CPU keeps in mind of the flows that it has just sent packets of.

use lb_common::{Counters, Course, Cpu, RECENT_WAYS, Recent, Tuple};
use lb_ebpf::parse::{Flow, Signal};

use super::{
    clock,
    tables::{self, Tables},
};

/// The place of a flow in the memory of this CPU.
pub(super) struct Memory {
    /// What the CPU has counted.
    pub(super) counters: &'static mut Counters,
    set: &'static mut [Recent; RECENT_WAYS],
    stamp: u64,
}

impl Memory {
    /// The place of a flow, to be asked for before anything is looked up in `tables`: if they change meanwhile,
    /// what was found does not hold.
    #[inline(always)]
    pub(super) fn of(tuple: &Tuple, tables: Tables) -> Option<Self> {
        let Cpu { counters, recent } = tables::cpu()?;
        Some(Self {
            counters,
            set: &mut recent[Recent::set(tuple) % recent.len()],
            stamp: Recent::stamp(tuple, tables.generation(), clock::jiffies()),
        })
    }

    /// Where the last packet of a flow went, if this one goes there as well: it changes nothing.
    #[inline(always)]
    pub(super) fn recall(&self, flow: &Flow) -> Option<Course> {
        if flow.signal != Signal::Data {
            return None;
        }
        let mut ways = self.set.iter();
        let own = ways.find(|way| way.is(self.stamp, &flow.tuple))?;
        Some(own.course)
    }

    /// Keeps in mind where a packet of a flow went, if that goes on and there is a place.
    #[inline(always)]
    pub(super) fn keep(&mut self, flow: &Flow, course: Course) {
        if flow.signal != Signal::Data {
            return;
        }
        let mut ways = self.set.iter_mut();
        if let Some(free) = ways.find(|way| way.is_over(self.stamp)) {
            *free = Recent::new(self.stamp, &flow.tuple, course);
        }
    }

    /// Forgets a flow that may go elsewhere now.
    #[inline(always)]
    pub(super) fn forget(&mut self, flow: &Flow) {
        let mut ways = self.set.iter_mut();
        if let Some(own) = ways.find(|way| way.is(self.stamp, &flow.tuple)) {
            own.end();
        }
    }
}

/// Forgets a flow whose packets, or their answers, may go another way now.
#[inline(always)]
pub(super) fn forget(flow: &Flow) {
    let memory = Tables::open().and_then(|tables| Memory::of(&flow.tuple, tables));
    if let Some(mut memory) = memory {
        memory.forget(flow);
    }
}
