//! The ways that a packet goes, which the verifier checks each by itself.
//!
//! A function whose name others could link to is checked once, whatever was known where it is called
//! (since Linux 5.6; what it gives back must be a bare number). So what one way costs is not
//! multiplied by the ways before it, and each has the stack of its own.

use aya_ebpf::bindings::xdp_md;
use lb_ebpf::parse::Family;

use super::{control, outcome::Outcome, pins, replies};

/// The way of most packets. Each family has its copy, in which the compiler leaves out what is the
/// other's.
#[inline(always)]
pub(super) fn follow(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(match family {
        Family::V4 => follow_v4(context),
        Family::V6 => follow_v6(context),
    })
}

/// The way of a packet that begins a flow, or may not follow its flow's entry, to a target.
#[inline(always)]
pub(super) fn begin(context: *mut xdp_md, family: Family, chosen: u16) -> Outcome {
    Outcome::of_word(begin_flow(context, family, chosen.into()))
}

/// The way of an ICMP message to the address of a service.
#[inline(always)]
pub(super) fn control(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(control_message(context, family))
}

/// The choice of a target for a packet whose client may have a pin.
#[inline(always)]
pub(super) fn pin(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(pin_flow(context, family))
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
extern "C" fn control_message(context: *mut xdp_md, family: Family) -> u32 {
    control::handle(context, family).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn pin_flow(context: *mut xdp_md, family: Family) -> u32 {
    pins::choose(context, family).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn reply_to_sender(context: *mut xdp_md, family: Family, outcome: u32) -> u32 {
    replies::send(context, family, Outcome::of_word(outcome)).word()
}
