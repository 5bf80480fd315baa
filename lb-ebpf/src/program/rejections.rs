//! Sends an answer back in the place of a packet that is rejected.

use core::hint;

use aya_ebpf::bindings::xdp_md;
use lb_common::{Ports, Verdict};
use lb_ebpf::{
    parse::{self, Family},
    reject::Rejection,
    word,
};

use super::{
    clock, counted, maps::REJECTION_BUDGET, outcome::Outcome, packet::Packet, refused, services,
    settings::REJECT_LIMIT, tables,
};

/// The way of a packet whose sender is to be told that nobody serves it.
#[inline(always)]
pub(super) fn answer(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let mut rejection = Rejection::default();
    let service = match plan(context, family, &mut rejection) {
        NOT_OURS => return counted(Verdict::NotOurs, bytes),
        service => service,
    };
    let verdict = if !rejection.is_some() {
        Verdict::RejectSilent
    } else if !within_budget() {
        Verdict::RejectLimited
    } else if packet.turn_back(&rejection).is_none() {
        Verdict::NoHeadroom
    } else {
        Verdict::Rejected
    };
    refused(service, verdict, bytes)
}

/// No service has this id.
const NOT_OURS: u32 = u32::MAX;

/// What is to be answered, with the id of the service. It stands apart from the rest, so that the
/// verifier goes the rest once and not for every shape of a packet.
#[inline(never)]
fn plan(context: *mut xdp_md, family: Family, rejection: &mut Rejection) -> u32 {
    // Else the compiler has the caller read where the packet is, and the verifier loses the pointers.
    let mut packet = Packet::new(hint::black_box(context));
    let Ok(mut parsed) = parse::packet(&mut packet.cursor(), family) else {
        return NOT_OURS;
    };
    let ports = &mut parsed.flow.tuple.ports;
    *ports = Ports::of_word(word::settle(ports.word()));
    let answer = Rejection::of(&mut parsed);
    let Some(service) = services::find(&parsed.flow.tuple) else {
        return NOT_OURS;
    };
    // A frame for another host: that one serves it.
    if parsed.frame.ethernet().destination.mac() != tables::station() {
        return NOT_OURS;
    }
    if let Some(answer) = answer {
        *rejection = answer;
    }
    service.id
}

/// Whether this CPU may send one more.
#[inline(always)]
fn within_budget() -> bool {
    let budget = tables::budget(REJECTION_BUDGET);
    budget.is_some_and(|budget| budget.allows(clock::now(), REJECT_LIMIT.load()))
}
