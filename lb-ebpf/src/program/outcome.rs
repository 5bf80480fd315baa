//! What became of a packet.

use aya_ebpf::bindings::xdp_action;
use lb_common::{VERDICTS, Verdict};
use lb_ebpf::reply::Cause;

/// What became of a packet, in one register, since a way gives no more back: from the high bits to the
/// low ones the target (16), the verdict (8), and what the kernel is told (8).
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) struct Outcome(u32);

/// In the place of a verdict and what the kernel is told.
const CHOSEN: u32 = 0xff00;

/// In the place of what the kernel is told.
const TO_TELL: u32 = 0xfe;

impl Outcome {
    /// Its flow is not known.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// It is an ICMP message to the address of a service.
    pub(super) const CONTROL: Self = Self(u32::MAX - 3);

    /// It is a fragment to the address of a service.
    pub(super) const FRAGMENT: Self = Self(u32::MAX - 4);

    /// It is a fragment, and where it goes is known if it was ever.
    pub(super) const ROUTED: Self = Self(u32::MAX - 5);

    /// Its flow has no entry, and [`super::pins`] is to choose a target.
    pub(super) const TO_CHOOSE: Self = Self(u32::MAX - 2);

    /// What [`Self::word`] gave.
    #[inline(always)]
    pub(super) fn of_word(word: u32) -> Self {
        Self(word)
    }

    /// The number that stands for it.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.0
    }

    /// It is to be sent to a target.
    #[inline(always)]
    pub(super) fn to(target: u16) -> Self {
        Self(u32::from(target) << 16 | CHOSEN)
    }

    /// The target that it is to be sent to, if that was chosen and it was not sent yet.
    #[inline(always)]
    pub(super) fn chosen(self) -> Option<u16> {
        (self.0 & 0xffff == CHOSEN).then(|| self.target())
    }

    /// Its sender is to be told, and it was not counted yet: it can not go on for the reason that the
    /// verdict names, and the way takes `mtu` bytes.
    #[inline(always)]
    pub(super) fn to_tell(verdict: Verdict, mtu: u16) -> Self {
        Self(u32::from(mtu) << 16 | (verdict as u32) << 8 | TO_TELL)
    }

    /// Why its sender is to be told, if it is.
    #[inline(always)]
    pub(super) fn cause(self) -> Option<Cause> {
        const REJECTED: u32 = Verdict::Rejected as u32;
        const TOO_BIG: u32 = Verdict::TooBig as u32;
        const EXPIRED: u32 = Verdict::TtlExpired as u32;
        const DOWN: u32 = Verdict::BackendDown as u32;
        match (self.0 & 0xff, self.0 >> 8 & 0xff) {
            (TO_TELL, REJECTED | DOWN) => Some(Cause::Rejected),
            (TO_TELL, TOO_BIG) => Some(Cause::TooBig((self.0 >> 16) as u16)),
            (TO_TELL, EXPIRED) => Some(Cause::Expired),
            _ => None,
        }
    }

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
        Verdict::BackendDown
        | Verdict::EchoAnswered
        | Verdict::Forwarded
        | Verdict::Rejected
        | Verdict::TooBig
        | Verdict::TtlExpired => xdp_action::XDP_TX,
        Verdict::FragmentUnknown
        | Verdict::NoAnswer
        | Verdict::NoNextHop
        | Verdict::NoTarget
        | Verdict::NoHeadroom
        | Verdict::PolicyDropped
        | Verdict::ReplyLimited
        | Verdict::ReplySilent => xdp_action::XDP_DROP,
    }
}
