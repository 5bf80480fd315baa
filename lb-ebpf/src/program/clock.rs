//! What time it is.

use core::{cell::UnsafeCell, ptr};

use aya_ebpf::helpers::generated::{bpf_jiffies64, bpf_ktime_get_coarse_ns};
use lb_common::tick;

/// The present tick. The coarse clock costs a seventh of the exact one, and userspace can read it
/// too. It moves when the kernel counts a jiffy, which is read in one instruction: so it is asked
/// once per jiffy and not for every packet.
#[inline(always)]
pub(super) fn now() -> u32 {
    let jiffy = jiffies() as u32;
    // SAFETY: words are read and written whole, and each is right for the jiffy that it names.
    let known = unsafe { ptr::read_volatile(LAST.0.get()) };
    if (known >> 32) as u32 == jiffy {
        return known as u32;
    }
    // SAFETY: the helper takes nothing and always succeeds.
    let now = tick(unsafe { bpf_ktime_get_coarse_ns() });
    let known = u64::from(jiffy) << 32 | u64::from(now);
    // SAFETY: as for reading it.
    unsafe { ptr::write_volatile(LAST.0.get(), known) }
    now
}

/// What the kernel counts some hundred times a second. To read it is one instruction.
#[inline(always)]
pub(super) fn jiffies() -> u64 {
    // SAFETY: the helper takes nothing and always succeeds.
    unsafe { bpf_jiffies64() }
}

/// A jiffy in the high half, the tick then in the low one. It is of all CPUs, since it changes but
/// some hundred times a second, and nothing is lost with it.
static LAST: Cached = Cached(UnsafeCell::new(0));

struct Cached(UnsafeCell<u64>);

// SAFETY: it is one word, which is read and written whole.
unsafe impl Sync for Cached {}
