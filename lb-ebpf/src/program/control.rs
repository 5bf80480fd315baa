//! ICMP messages to the address of a service.

use aya_ebpf::bindings::xdp_md;
use lb_common::Verdict;
use lb_ebpf::{
    control,
    parse::{Family, Flow},
};

use super::{
    counted, follow::known, outcome::Outcome, packet::Packet, pins::Shape, relay, services,
    settings::ANSWER_ECHO, ways,
};

/// Finds the target of an error about a flow by the flow's entry, or answers an echo request.
#[inline(always)]
pub(super) fn handle(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    if let Some(error) = ways::content(context, family, Shape::Error) {
        return find(&error.flow, bytes);
    }
    let station = packet.station();
    if ANSWER_ECHO.load() == 0
        || control::answer_echo(&mut packet.cursor(), family, station).is_none()
    {
        return counted(Verdict::NotOurs, bytes);
    }
    counted(Verdict::EchoAnswered, bytes)
}

#[inline(always)]
fn find(flow: &Flow, bytes: u64) -> Outcome {
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    match known(flow, &service) {
        Some(known) => Outcome::to(known.target.id),
        None => Outcome::TO_CHOOSE,
    }
}

/// Sends an error on to the backend of the flow that it is about. It is no packet of the flow, and
/// changes nothing that is known of it; and nobody is told of an error (RFC 1122, 3.2.2; RFC 4443, 2.4 e).
#[inline(always)]
pub(super) fn pass_on(context: *mut xdp_md, family: Family, target: u16) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(error) = control::error(&mut packet.cursor(), family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&error.flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let target = service.tables.target(target);
    relay(
        &mut Packet::new(context),
        error,
        (service.id, false),
        &target,
        bytes,
    )
}
