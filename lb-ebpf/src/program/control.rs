//! ICMP messages to the address of a service.

use aya_ebpf::bindings::xdp_md;
use lb_common::Verdict;
use lb_ebpf::{
    control, forward,
    parse::{self, Family, Flow},
};

use super::{
    counted,
    flows::Place,
    outcome::Outcome,
    packet::Packet,
    pins, refused, sent, services,
    settings::ANSWER_ECHO,
    tables::{self, Service, Target},
};

/// The way of such a message: an error about a flow goes to its backend, an echo request comes back.
#[inline(always)]
pub(super) fn handle(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    if let Some(error) = control::error(&mut packet.cursor(), family) {
        return relay(&mut Packet::new(context), error, bytes);
    }
    let station = tables::station();
    if ANSWER_ECHO.load() == 0
        || control::answer_echo(&mut packet.cursor(), family, station).is_none()
    {
        return counted(Verdict::NotOurs, bytes);
    }
    counted(Verdict::EchoAnswered, bytes)
}

/// Sends an error on to the backend of the flow that it is about. It is no packet of the flow, and
/// changes nothing that is known of it.
#[inline(always)]
fn relay(packet: &mut Packet, error: parse::Packet<'_>, bytes: u64) -> Outcome {
    let flow = error.flow;
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let target = match target(&flow, &service, bytes) {
        Ok(target) => target,
        Err(verdict) => return refused(service.id, silent(verdict), bytes),
    };
    let envelope = match forward::write(error, &target.way(), || target.address()) {
        Ok(envelope) => envelope,
        Err(verdict) => return refused(service.id, silent(verdict), bytes),
    };
    if let Err(verdict) = packet.enclose(&envelope, &target) {
        return refused(service.id, verdict, bytes);
    }
    sent(service.id, target.id, bytes)
}

/// Where the packets of a flow go: by its entry, else as another edge would find it.
#[inline(always)]
fn target(flow: &Flow, service: &Service, bytes: u64) -> Result<Target, Verdict> {
    let keys = tables::keys().ok_or(Verdict::NoTarget)?;
    let place = Place::of(flow, keys.flows).ok_or(Verdict::NoTarget)?;
    match place.follow(flow, service) {
        Ok(known) => Ok(known.target),
        Err(_) => pins::target(&flow.tuple, service, false, bytes),
    }
}

/// Nobody is told of an error (RFC 1122, 3.2.2; RFC 4443, 2.4 e).
#[inline(always)]
fn silent(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Rejected | Verdict::TooBig | Verdict::TtlExpired => Verdict::ReplySilent,
        verdict => verdict,
    }
}
