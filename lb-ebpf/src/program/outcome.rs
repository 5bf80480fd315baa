//! What became of a packet.

use aya_ebpf::bindings::xdp_action;
use lb_common::{ForwardMode, VERDICTS, Verdict};
use lb_ebpf::reply::Cause;

/// What became of a packet, in one register, since a way gives no more back: from the high bits to the
/// low ones the target (16), the verdict (8), and what the kernel is told (8).
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) struct Outcome(u32);

/// In the place of what the kernel is told, which is less: the target was chosen.
const CHOSEN: u32 = 0xe0;

/// In the same place: it is to be translated. The two low bits say what is known of its flow.
const TO_TRANSLATE: u32 = 0xe4;

/// In the same place: its sender is to be told.
const TO_TELL: u32 = 0xfe;

impl Outcome {
    /// Its flow is not in the memory of this CPU, or was not asked for.
    pub(super) const FORGOTTEN: Self = Self(u32::MAX - 11);

    /// Its flow is not known.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// It is an ICMP message to the address of a service.
    pub(super) const CONTROL: Self = Self(u32::MAX - 3);

    /// It is a fragment to the address of a service.
    pub(super) const FRAGMENT: Self = Self(u32::MAX - 4);

    /// It is a fragment, and where it goes is known if it was ever.
    pub(super) const ROUTED: Self = Self(u32::MAX - 5);

    /// It may be what a backend answers to a translated packet.
    pub(super) const ANSWER: Self = Self(u32::MAX - 6);

    /// It may be a fragment of that.
    pub(super) const ANSWER_FRAGMENT: Self = Self(u32::MAX - 7);

    /// It may be an ICMP error about a translated packet.
    pub(super) const ANSWER_CONTROL: Self = Self(u32::MAX - 8);

    /// Its flow has no translation, and [`super::translations`] is to make one.
    pub(super) const TO_OPEN: Self = Self(u32::MAX - 9);

    /// Its flow has a translation now.
    pub(super) const OPENED: Self = Self(u32::MAX - 10);

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

    /// Whether nothing is left to be done, but for how it leaves.
    #[inline(always)]
    pub(super) fn is_done(self) -> bool {
        self.action() <= xdp_action::XDP_REDIRECT
    }

    /// It is to be sent to a target.
    #[inline(always)]
    pub(super) fn to(target: u16) -> Self {
        Self(u32::from(target) << 16 | CHOSEN)
    }

    /// The target that it is to be sent to, if that was chosen and it was not sent yet.
    #[inline(always)]
    pub(super) fn chosen(self) -> Option<u16> {
        (self.action() == CHOSEN).then(|| self.target())
    }

    /// It is to be translated, and then sent to a target.
    #[inline(always)]
    pub(super) fn to_translate(target: u16, known: bool) -> Self {
        Self(u32::from(target) << 16 | TO_TRANSLATE | u32::from(known))
    }

    /// Whether it is to be translated.
    #[inline(always)]
    pub(super) fn is_to_translate(self) -> bool {
        self.action() & 0xfc == TO_TRANSLATE
    }

    /// The same of one whose flow was given a translation for that.
    #[inline(always)]
    pub(super) fn opened(self) -> Self {
        Self(self.0 | 2)
    }

    /// Whether its flow was given a translation for that.
    #[inline(always)]
    pub(super) fn is_opened(self) -> bool {
        self.0 & 2 != 0
    }

    /// Whether the flow of one that is to be translated was known.
    #[inline(always)]
    pub(super) fn is_known(self) -> bool {
        self.0 & 1 != 0
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
        const UNTRANSLATED: u32 = Verdict::Untranslated as u32;
        const DOWN: u32 = Verdict::BackendDown as u32;
        match (self.0 & 0xff, self.0 >> 8 & 0xff) {
            (TO_TELL, REJECTED | UNTRANSLATED | DOWN) => Some(Cause::Rejected),
            (TO_TELL, TOO_BIG) => Some(Cause::TooBig((self.0 >> 16) as u16)),
            (TO_TELL, EXPIRED) => Some(Cause::Expired),
            _ => None,
        }
    }

    /// It was sent to a target with this mode; how it leaves is still to be seen if the mode says so.
    #[inline(always)]
    pub(super) fn sent(target: u16, mode: ForwardMode) -> Self {
        Self(
            Self::to_leave(target, Verdict::Forwarded).0
                + u32::from(mode.0 / ForwardMode::ELSEWHERE),
        )
    }

    /// It was sent back to the client of a flow of `target`; how it leaves is still to be seen if `elsewhere`.
    #[inline(always)]
    pub(super) fn returned(target: u16, elsewhere: bool) -> Self {
        Self(Self::to_leave(target, Verdict::Returned).0 + u32::from(elsewhere))
    }

    #[inline(always)]
    fn to_leave(target: u16, verdict: Verdict) -> Self {
        Self(u32::from(target) << 16 | Self::refused(verdict).0)
    }

    /// Whether it leaves, and how is still to be seen.
    #[inline(always)]
    pub(super) fn leaves_elsewhere(self) -> bool {
        const { assert!(xdp_action::XDP_TX + 1 == xdp_action::XDP_REDIRECT) }
        self.action() == xdp_action::XDP_REDIRECT
    }

    /// It was not sent.
    #[inline(always)]
    pub(super) fn refused(verdict: Verdict) -> Self {
        Self((verdict as u32) << 8 | action(verdict))
    }

    /// The number of its verdict.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.0 >> 8 & 0xff
    }

    /// How it left.
    #[inline(always)]
    pub(super) fn verdict(self) -> Verdict {
        let number = self.number() as usize;
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
        | Verdict::Returned
        | Verdict::TooBig
        | Verdict::TtlExpired
        | Verdict::Untranslated => xdp_action::XDP_TX,
        Verdict::FragmentUnknown
        | Verdict::NoAnswer
        | Verdict::NoNextHop
        | Verdict::NoPort
        | Verdict::NoTarget
        | Verdict::NoHeadroom
        | Verdict::PolicyDropped
        | Verdict::ReplyLimited
        | Verdict::ReplySilent
        | Verdict::TranslationLimited => xdp_action::XDP_DROP,
    }
}
