//! Elements of the map FLOWS.

use core::ptr;

use lb_common::{Bucket, Entry, WAYS};

use super::maps;

/// A bucket of the flow table. Several CPUs may write one at the same time, without a lock.
///
/// A word is written whole, so an entry's name always carries the target of its own fingerprint;
/// but its two words may come from two writers. Then an entry has the age and state of another:
/// it is given up, or kept, too early or too late. Its packets still go to the target of its
/// name, and only if that target is of the service's group.
#[derive(Clone, Copy)]
pub(in super::super) struct Ways(*mut Entry);

/// The place of an entry.
#[derive(Clone, Copy)]
pub(in super::super) struct Slot(*mut Entry);

impl Ways {
    /// The bucket with this index.
    #[inline(always)]
    pub(in super::super) fn of_bucket(index: u32) -> Option<Self> {
        let bucket: *mut Bucket = maps::FLOWS.get_ptr_mut(index)?;
        Some(Self(bucket.cast()))
    }

    /// The entry with this fingerprint, and its place.
    ///
    /// Its name is read once: if it were read again, another flow's could stand there by then.
    #[inline(always)]
    pub(in super::super) fn find(self, fingerprint: u64) -> Option<(Slot, Entry)> {
        (0..WAYS).find_map(|way| {
            let slot = self.slot(way);
            let name = slot.name();
            let entry = |life| (slot, Entry { name, life });
            Entry::same_flow(name, fingerprint).then(|| entry(slot.life()))
        })
    }

    /// The place of a way.
    #[inline(always)]
    pub(in super::super) fn slot(self, way: usize) -> Slot {
        // The remainder is inside the bucket.
        Slot(self.0.wrapping_add(way % WAYS))
    }
}

impl Slot {
    /// The entry there.
    #[inline(always)]
    pub(in super::super) fn entry(self) -> Entry {
        Entry {
            name: self.name(),
            life: self.life(),
        }
    }

    /// Changes the age and state of the entry.
    #[inline(always)]
    pub(in super::super) fn set_life(self, life: u64) {
        // SAFETY: as for reading the name.
        unsafe { ptr::write_volatile(&raw mut (*self.0).life, life) }
    }

    /// Puts another entry there: its life first, lest its name meets a life that is over. Not every
    /// CPU keeps the order (arm64 does not); then a packet may miss the entry once.
    #[inline(always)]
    pub(in super::super) fn set(self, entry: Entry) {
        self.set_life(entry.life);
        // SAFETY: as for reading it.
        unsafe { ptr::write_volatile(&raw mut (*self.0).name, entry.name) }
    }

    #[inline(always)]
    fn name(self) -> u64 {
        // SAFETY: it is inside a bucket, whose words are aligned and never freed.
        unsafe { ptr::read_volatile(&raw const (*self.0).name) }
    }

    #[inline(always)]
    fn life(self) -> u64 {
        // SAFETY: as for the name.
        unsafe { ptr::read_volatile(&raw const (*self.0).life) }
    }
}
