//! What became of a packet.

use lb_common::{VERDICTS, Verdict};

/// What became of a packet, in one register: a function of the program returns no more.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) struct Outcome(u32);

impl Outcome {
    /// Its flow is not known.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// It was sent to a target.
    #[inline(always)]
    pub(super) fn sent(target: u16) -> Self {
        Self((target as u32) << 16 | Verdict::Forwarded as u32)
    }

    /// It was not sent.
    #[inline(always)]
    pub(super) fn refused(verdict: Verdict) -> Self {
        Self(verdict as u32)
    }

    /// How it left.
    #[inline(always)]
    pub(super) fn verdict(self) -> Verdict {
        let number = (self.0 & 0xffff) as usize;
        VERDICTS.get(number).copied().unwrap_or(Verdict::NoTarget)
    }

    /// The target that it was sent to; 0 for none.
    #[inline(always)]
    pub(super) fn target(self) -> u16 {
        (self.0 >> 16) as u16
    }
}
