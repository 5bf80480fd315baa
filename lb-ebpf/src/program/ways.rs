//! The ways that a packet goes, which the verifier checks each by itself.
//!
//! A function whose name others could link to is checked once, whatever was known where it is called
//! (since Linux 5.6; what it gives back must be a bare number). So what one way costs is not
//! multiplied by the ways before it, and each has the stack of its own.

use aya_ebpf::bindings::xdp_md;
use lb_ebpf::parse::Family;

use super::{
    BY_RING, control, fragments,
    outcome::Outcome,
    pins::{self, Shape},
    replies,
};

/// The way of most packets. Each family has its copy, in which the compiler leaves out what is the
/// other's.
#[inline(always)]
pub(super) fn follow(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(match family {
        Family::V4 => follow_v4(context),
        Family::V6 => follow_v6(context),
    })
}

/// The way of a packet that begins a flow, or may not follow its flow's entry.
#[inline(always)]
pub(super) fn begin(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(begin_flow(context, family, BY_RING.into()));
    match outcome.or_choose(context, family, Shape::Packet) {
        Ok(target) => Outcome::of_word(begin_flow(context, family, target.into())),
        Err(outcome) => outcome,
    }
}

/// The way of a fragment to the address of a service.
#[inline(always)]
pub(super) fn fragment(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(first_fragment(context, family, BY_RING.into()));
    let outcome = match outcome.or_choose(context, family, Shape::Fragment) {
        Ok(target) => Outcome::of_word(first_fragment(context, family, target.into())),
        Err(outcome) => outcome,
    };
    match outcome {
        Outcome::ROUTED => Outcome::of_word(routed_fragment(context, family)),
        outcome => outcome,
    }
}

/// The way of an ICMP message to the address of a service.
#[inline(always)]
pub(super) fn control(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(control_message(context, family));
    match outcome.or_choose(context, family, Shape::Error) {
        Ok(target) => Outcome::of_word(relayed_error(context, family, target.into())),
        Err(outcome) => outcome,
    }
}

impl Outcome {
    /// The target that was chosen, or is chosen now if nobody could yet.
    ///
    /// # Errors
    /// What became of the packet instead.
    #[inline(always)]
    fn or_choose(self, context: *mut xdp_md, family: Family, shape: Shape) -> Result<u16, Self> {
        let outcome = match self {
            Self::TO_CHOOSE => Self::of_word(choice(context, family, shape)),
            outcome => outcome,
        };
        outcome.chosen().ok_or(outcome)
    }
}

/// The way of a packet whose sender is to be told what `outcome` says.
#[inline(always)]
pub(super) fn reply(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    Outcome::of_word(reply_to_sender(context, family, outcome.word()))
}

// SAFETY, of the names below: the program is linked with nothing that could have the same ones.

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn follow_v4(context: *mut xdp_md) -> u32 {
    super::follow(context, Family::V4).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn follow_v6(context: *mut xdp_md) -> u32 {
    super::follow(context, Family::V6).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn begin_flow(context: *mut xdp_md, family: Family, chosen: u32) -> u32 {
    super::begin(context, family, chosen as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn first_fragment(context: *mut xdp_md, family: Family, chosen: u32) -> u32 {
    fragments::begin(context, family, chosen as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn routed_fragment(context: *mut xdp_md, family: Family) -> u32 {
    fragments::follow(context, family).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn control_message(context: *mut xdp_md, family: Family) -> u32 {
    control::handle(context, family).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn relayed_error(context: *mut xdp_md, family: Family, target: u32) -> u32 {
    control::pass_on(context, family, target as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn choice(context: *mut xdp_md, family: Family, shape: Shape) -> u32 {
    pins::choose(context, family, shape).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn reply_to_sender(context: *mut xdp_md, family: Family, outcome: u32) -> u32 {
    replies::send(context, family, Outcome::of_word(outcome)).word()
}
