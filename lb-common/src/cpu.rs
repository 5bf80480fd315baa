use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Counters, RECENT_SETS, RECENT_WAYS, Recent};

/// Element of the map CPUS: what a CPU has for itself. The program finds all of it by one look-up.
#[derive(FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Cpu {
    /// What was counted there.
    pub counters: Counters,
    /// What tells of each of the flows that it keeps in mind whether to look at it: see [`Recent::tag`].
    pub tags: [[u16; RECENT_WAYS]; RECENT_SETS],
    /// The flows that it keeps in mind, by [`Recent::set`].
    pub recent: [[Recent; RECENT_WAYS]; RECENT_SETS],
}

// Elements, and all that is recent, begin with a cache line.
const _: () = assert!(size_of::<Counters>().is_multiple_of(64));
const _: () = assert!(size_of::<Cpu>() == 1_180_672 && align_of::<Cpu>() == 8);
