//! Elements of the map TRANSLATIONS.

use core::ptr;

use aya_ebpf::bindings::BPF_NOEXIST;
use lb_common::{Address, Exit, Translation, TranslationKey};

use super::{exit, four_words, maps};

/// The place of a translation in the kernel's table.
///
/// The kernel may give the place to another flow while this program holds it: then the client of a
/// packet from a backend is read anew, or the other flow's age is written over. It gives up what was not
/// used for the longest time first, so that takes a table that is full of busy flows.
#[derive(Clone, Copy)]
pub(in super::super) struct TranslationSlot(*mut Translation);

impl TranslationSlot {
    /// The place of the translation with this key, if there is one.
    #[inline(always)]
    pub(in super::super) fn of(key: &TranslationKey) -> Option<Self> {
        maps::TRANSLATIONS.get_ptr_mut(key).map(Self)
    }

    /// The translation there.
    #[inline(always)]
    pub(in super::super) fn load(self) -> Translation {
        // SAFETY: an element of a hash that was made in advance is never freed while this runs, and its
        // words are aligned.
        unsafe {
            let element = self.0;
            Translation {
                client: Address::of_words(four_words((&raw const (*element).client).cast())),
                service: Address::of_words(four_words((&raw const (*element).service).cast())),
                place: ptr::read_volatile(&raw const (*element).place),
                life: ptr::read_volatile(&raw const (*element).life),
                station: ptr::read_volatile(&raw const (*element).station),
                exit: exit((&raw const (*element).exit).cast()),
                reserved: [0; 4],
            }
        }
    }

    /// Changes age and state.
    #[inline(always)]
    pub(in super::super) fn set_life(self, life: u64) {
        // SAFETY: as for reading it.
        unsafe { ptr::write_volatile(&raw mut (*self.0).life, life) }
    }

    /// Changes where the client's packets come from, and how others get there.
    #[inline(always)]
    pub(in super::super) fn set_back(self, station: u64, exit: Exit) {
        // SAFETY: as for reading it.
        unsafe {
            ptr::write_volatile(&raw mut (*self.0).station, station);
            ptr::write_volatile(&raw mut (*self.0).exit, exit);
        }
    }
}

/// Makes a translation; `None` if the key is another flow's, or nothing could give way for it.
#[inline(always)]
pub(in super::super) fn put_translation(
    key: &TranslationKey,
    translation: &Translation,
) -> Option<()> {
    let put = maps::TRANSLATIONS.insert(key, translation, BPF_NOEXIST.into());
    put.ok()
}

/// Removes a translation.
#[inline(always)]
pub(in super::super) fn remove_translation(key: &TranslationKey) {
    // Another CPU may have done so.
    let _ = maps::TRANSLATIONS.remove(key);
}
