//! A packet's path: parse, service, flow, class, ring, target, forward, count.

mod clients;
mod count;
mod flows;
mod log;
mod maps;
mod packet;
mod proof;
mod rings;
mod services;
mod settings;
mod tables;

use aya_ebpf::{bindings::xdp_action, macros::xdp, programs::XdpContext};
use lb_common::Verdict;
use lb_ebpf::{
    forward::{self, Envelope},
    parse::{self, Family, Skip},
};

use self::{
    flows::Place,
    packet::Packet,
    rings::Row,
    settings::PROOF,
    tables::{Service, Target},
};

/// Each family has its copy of the path, in which the compiler leaves out what is the other's.
#[xdp]
fn waggle(context: XdpContext) -> u32 {
    let mut packet = Packet::new(&context);
    let verdict = match parse::family(&mut packet.cursor()) {
        Some(Family::V4) => steer(&mut packet, Family::V4),
        Some(Family::V6) => steer(&mut packet, Family::V6),
        None => counted(Verdict::NotOurs, packet.length()),
    };
    action(verdict)
}

#[inline(always)]
fn steer(packet: &mut Packet<'_>, family: Family) -> Verdict {
    if PROOF.load() != 0 {
        return proof::prove(packet, family);
    }
    let bytes = packet.length();
    let parsed = match parse::packet(&mut packet.cursor(), family) {
        Ok(parsed) => parsed,
        Err(Skip::Fragment { destination }) if tables::has_service(destination) => {
            return counted(Verdict::FragmentUnsupported, bytes);
        }
        Err(_) => return counted(Verdict::NotOurs, bytes),
    };
    let Some(service) = services::find(&parsed.flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let line = log::begin(&parsed.flow);
    let sent = send(parsed, &service, bytes)
        .and_then(|(target, envelope)| packet.enclose(envelope, &target).map(|()| target.id));
    let verdict = sent.err().unwrap_or(Verdict::Forwarded);
    // A frame for another host is none of the service's.
    if verdict != Verdict::NotOurs {
        count::service(&service, bytes);
        log::end(&line, verdict, sent.unwrap_or(0));
    }
    if let Ok(target) = sent {
        count::target(target, bytes);
    }
    counted(verdict, bytes)
}

/// Rewrites the packet for its target, and returns that with what has to be put around the packet.
#[inline(always)]
fn send(
    parsed: parse::Packet<'_>,
    service: &Service,
    bytes: u64,
) -> Result<(Target, Option<Envelope>), Verdict> {
    let flow = parsed.flow;
    let keys = tables::keys().ok_or(Verdict::NoTarget)?;
    let place = Place::of(&flow, service, keys.flows, bytes).ok_or(Verdict::NoTarget)?;
    let target: Target = match place.target() {
        Some(known) => known,
        None => Row::of(&flow.tuple, service)?.choose(&flow.tuple, service, keys.ring)?,
    };
    let envelope = forward::write(parsed, &target.way, || target.address())?;
    place.remember(target.id, &flow, bytes);
    Ok((target, envelope))
}

#[inline(always)]
fn counted(verdict: Verdict, bytes: u64) -> Verdict {
    count::verdict(verdict, bytes);
    verdict
}

#[inline(always)]
fn action(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::NotOurs | Verdict::RulePassed => xdp_action::XDP_PASS,
        Verdict::Forwarded => xdp_action::XDP_TX,
        Verdict::FragmentUnsupported
        | Verdict::TooBig
        | Verdict::NoAnswer
        | Verdict::NoNextHop
        | Verdict::NoTarget
        | Verdict::NoHeadroom
        | Verdict::RuleDropped
        | Verdict::TtlExpired => xdp_action::XDP_DROP,
    }
}

/// Never reached: the verifier refuses a program in which it could be, because the loop has no
/// end.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
