use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Descriptor, abi::abi};

/// Element of the map FORMER_RINGS, by the same index as RINGS: the ring that a row showed before its last
/// changes, which packets without an entry are still led by that open no connection.
///
/// The daemon writes it word by word, the ring first. A packet that meets the words of two elements goes
/// by a ring that rests, or by the present one.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct FormerRing {
    /// The ring. Its slots stand as long as it is named here.
    pub ring: Descriptor,
    /// The tick from which on it counts no more. The daemon takes it out afterwards; one that is away does
    /// not.
    pub until: u32,
    /// Always 0.
    pub reserved: u32,
}

impl FormerRing {
    /// There is none.
    pub const NONE: Self = Self::new(Descriptor::NO_ANSWER, 0);

    /// This ring, until a tick.
    #[inline(always)]
    pub const fn new(ring: Descriptor, until: u32) -> Self {
        Self {
            ring,
            until,
            reserved: 0,
        }
    }

    /// Ticks from `now` until it counts no more; 0 if there is none, or its time is over.
    #[inline(always)]
    pub fn ticks_left(self, now: u32) -> u32 {
        match self.ring.length() {
            0 => 0,
            _ => (self.until.wrapping_sub(now) as i32).max(0) as u32,
        }
    }
}

abi! { FormerRing = 16 align 8 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_ring_counts_until_its_tick() {
        let ring = Descriptor::new(64, 10);
        for (until, now, left) in [
            (100, 99, 1),
            (100, 100, 0),
            (100, 101, 0),
            (5, u32::MAX - 4, 10),
            (u32::MAX, 3, 0),
        ] {
            assert_eq!(FormerRing::new(ring, until).ticks_left(now), left);
            let none = FormerRing::new(Descriptor::DROP, until);
            assert_eq!(none.ticks_left(now), 0);
        }
    }
}
