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
    tags: &'static mut [u16; RECENT_WAYS],
    ways: &'static mut [Recent; RECENT_WAYS],
    stamp: u64,
    tag: u16,
}

impl Memory {
    /// The place of a flow, to be asked for before anything is looked up in `tables`: if they change meanwhile,
    /// what was found does not hold.
    #[inline(always)]
    pub(super) fn of(tuple: &Tuple, tables: Tables) -> Option<Self> {
        Self::at(tuple, stamp(tuple, tables))
    }

    /// The place of a flow of which something was looked up after this stamp was read.
    #[inline(always)]
    pub(super) fn at(tuple: &Tuple, stamp: u64) -> Option<Self> {
        let Cpu {
            counters,
            tags,
            recent,
        } = tables::cpu()?;
        let set = Recent::set(tuple);
        Some(Self {
            counters,
            tags: &mut tags[set % tags.len()],
            ways: &mut recent[set % recent.len()],
            stamp,
            tag: Recent::tag(tuple, stamp),
        })
    }

    /// Where the last packet of a flow went, if this one goes there as well: it changes nothing.
    #[inline(always)]
    pub(super) fn recall(&self, flow: &Flow) -> Option<Course> {
        if flow.signal != Signal::Data {
            return None;
        }
        let mut ways = self.tags.iter().zip(self.ways.iter());
        let (_, own) = ways.find(|(tag, way)| self.is(**tag, way, flow))?;
        Some(own.course)
    }

    #[inline(always)]
    fn is(&self, tag: u16, way: &Recent, flow: &Flow) -> bool {
        tag == self.tag && way.is(self.stamp, &flow.tuple)
    }

    /// Keeps in mind where a packet of a flow went, if that goes on and there is a place.
    #[inline(always)]
    pub(super) fn keep(&mut self, flow: &Flow, course: Course) {
        if flow.signal != Signal::Data {
            return;
        }
        let mut ways = self.tags.iter_mut().zip(self.ways.iter_mut());
        if let Some((tag, way)) = ways.find(|(tag, _)| Recent::is_over(**tag, self.tag)) {
            *way = Recent::new(self.stamp, &flow.tuple, course);
            *tag = self.tag;
        }
    }

    /// Forgets a flow that may go elsewhere now.
    #[inline(always)]
    pub(super) fn forget(&mut self, flow: &Flow) {
        let (stamp, own) = (self.stamp, self.tag);
        for (tag, way) in self.tags.iter_mut().zip(self.ways.iter()) {
            if *tag == own && way.is(stamp, &flow.tuple) {
                *tag = !own;
            }
        }
    }
}

/// The stamp of what is kept of a flow now.
#[inline(always)]
pub(super) fn stamp(tuple: &Tuple, tables: Tables) -> u64 {
    Recent::stamp(tuple, tables.generation(), clock::jiffies())
}

/// Forgets a flow whose packets, or their answers, may go another way now.
#[inline(always)]
pub(super) fn forget(flow: &Flow) {
    let memory = Tables::open().and_then(|tables| Memory::of(&flow.tuple, tables));
    if let Some(mut memory) = memory {
        memory.forget(flow);
    }
}
