//! Elements of the map AFFINITY_PINS.

use core::ptr;

use lb_common::{Pin, PinKey};

use super::maps;

/// The place of a pin in the kernel's table.
///
/// The kernel may give the place to another client while this program holds it. Then that client's
/// pin is written over, or lives longer; where it leads to is looked at before it is followed.
#[derive(Clone, Copy)]
pub(in super::super) struct PinSlot(*mut Pin);

impl PinSlot {
    /// The place of the pin with this key, if there is one.
    #[inline(always)]
    pub(in super::super) fn of(key: &PinKey) -> Option<Self> {
        maps::AFFINITY_PINS.get_ptr_mut(key).map(Self)
    }

    /// The pin there. A torn one names a target that has another identity than the pin, and is not
    /// followed.
    #[inline(always)]
    pub(in super::super) fn load(self) -> Pin {
        // SAFETY: an element of a hash that was made in advance is never freed while this runs.
        unsafe { ptr::read_volatile(self.0) }
    }

    /// Puts another pin there.
    #[inline(always)]
    pub(in super::super) fn store(self, pin: Pin) {
        // SAFETY: as for reading it.
        unsafe { ptr::write_volatile(self.0, pin) }
    }
}

/// Makes a pin, in the place of one that was not used for long if there is no other.
#[inline(always)]
pub(in super::super) fn put_pin(key: &PinKey, pin: &Pin) {
    // It fails when other CPUs hold all that could give way: then there is none, as after an eviction.
    let _ = maps::AFFINITY_PINS.insert(key, pin, 0);
}
