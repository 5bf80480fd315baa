//! What became of a packet.

use aya_ebpf::bindings::xdp_action;
use lb_common::{VERDICTS, Verdict};

/// What became of a packet, in one register, since a function of the program returns no more: from
/// the high bits to the low ones the target (16), the verdict (8), and what the kernel is told (8).
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) struct Outcome(u32);

impl Outcome {
    /// Its flow is not known.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// It is to be rejected, and was not counted yet.
    pub(super) const TO_REJECT: Self = Self(u32::MAX - 1);

    /// It was sent to a target.
    #[inline(always)]
    pub(super) fn sent(target: u16) -> Self {
        Self(u32::from(target) << 16 | Self::refused(Verdict::Forwarded).0)
    }

    /// It was not sent.
    #[inline(always)]
    pub(super) fn refused(verdict: Verdict) -> Self {
        Self((verdict as u32) << 8 | action(verdict))
    }

    /// How it left.
    #[inline(always)]
    pub(super) fn verdict(self) -> Verdict {
        let number = (self.0 >> 8 & 0xff) as usize;
        VERDICTS.get(number).copied().unwrap_or(Verdict::NoTarget)
    }

    /// The target that it was sent to; 0 for none.
    #[inline(always)]
    pub(super) fn target(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// What the kernel does with it.
    #[inline(always)]
    pub(super) fn action(self) -> u32 {
        self.0 & 0xff
    }
}

#[inline(always)]
fn action(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::NotOurs | Verdict::PolicyPassed => xdp_action::XDP_PASS,
        Verdict::Forwarded | Verdict::Rejected => xdp_action::XDP_TX,
        Verdict::FragmentUnsupported
        | Verdict::TooBig
        | Verdict::NoAnswer
        | Verdict::NoNextHop
        | Verdict::NoTarget
        | Verdict::NoHeadroom
        | Verdict::PolicyDropped
        | Verdict::RejectLimited
        | Verdict::RejectSilent
        | Verdict::TtlExpired => xdp_action::XDP_DROP,
    }
}
