//! Sends a reply back in the place of a packet that does not go on.

use core::hint;

use aya_ebpf::bindings::xdp_md;
use lb_common::{Ports, Verdict};
use lb_ebpf::{
    fragment,
    parse::{self, Family, Skip},
    reply::Reply,
    word,
};

use super::{
    clock, counted, maps::REPLY_BUDGET, outcome::Outcome, packet::Packet, refused, services,
    settings::REPLY_LIMIT, tables,
};

/// Tells the sender of a packet what `outcome` says.
#[inline(always)]
pub(super) fn send(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(reply) = tables::reply() else {
        return counted(Verdict::NotOurs, bytes);
    };
    *reply = Reply::default();
    let service = match plan(context, family, outcome, reply) {
        NOT_OURS => return counted(Verdict::NotOurs, bytes),
        service => service,
    };
    let verdict = if !reply.is_some() {
        Verdict::ReplySilent
    } else if !within_budget() {
        Verdict::ReplyLimited
    } else if packet.turn_back(reply).is_none() {
        Verdict::NoHeadroom
    } else {
        outcome.verdict()
    };
    refused(service, verdict, bytes)
}

/// No service has this id.
const NOT_OURS: u32 = u32::MAX;

/// What the reply is, with the id of the service. It stands apart from the rest, so that the
/// verifier goes the rest once and not for every shape of a packet.
#[inline(never)]
fn plan(context: *mut xdp_md, family: Family, outcome: Outcome, reply: &mut Reply) -> u32 {
    // Else the compiler has the caller read where the packet is, and the verifier loses the pointers.
    let mut packet = Packet::new(hint::black_box(context));
    let mut again = Packet::new(hint::black_box(context));
    let parsed = match parse::packet(&mut packet.cursor(), family) {
        Ok(parsed) => Some(parsed),
        // Of other fragments than the first nobody is told.
        Err(Skip::Fragment { .. }) => {
            let fragment = fragment::fragment(&mut again.cursor(), family);
            fragment.map(|fragment| fragment.packet)
        }
        Err(_) => None,
    };
    let Some(mut parsed) = parsed else {
        return NOT_OURS;
    };
    let ports = &mut parsed.flow.tuple.ports;
    *ports = Ports::of_word(word::settle(ports.word()));
    let cause = outcome.cause();
    let found = cause.and_then(|cause| Reply::of(&mut parsed, cause));
    let Some(service) = services::find(&parsed.flow.tuple) else {
        return NOT_OURS;
    };
    // A frame for another host: that one serves it.
    if parsed.frame.ethernet().destination.mac() != Packet::new(context).station() {
        return NOT_OURS;
    }
    if let Some(found) = found {
        *reply = found;
    }
    service.id
}

/// Whether this CPU may send one more.
#[inline(always)]
fn within_budget() -> bool {
    let budget = tables::budget(REPLY_BUDGET);
    budget.is_some_and(|budget| budget.allows(clock::now(), REPLY_LIMIT.load()))
}
