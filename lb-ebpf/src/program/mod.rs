//! A packet's path: parse, service, flow, class, ring, target, forward, count.

mod clients;
mod count;
mod flows;
mod log;
mod maps;
mod packet;
mod rings;
mod services;
mod settings;
mod tables;

use aya_ebpf::{bindings::xdp_action, macros::xdp, programs::XdpContext};
use lb_common::{Service, Verdict};
use lb_ebpf::{
    forward,
    parse::{self, Flow, Skip},
};

use self::{flows::Place, packet::Packet};

#[xdp]
fn waggle(context: XdpContext) -> u32 {
    let mut packet = Packet::new(&context);
    let verdict = match parse::flow(&mut packet.cursor()) {
        Ok(flow) => match services::find(&flow.tuple) {
            Some(service) => serve(&mut packet, &flow, &service),
            None => Verdict::NotOurs,
        },
        Err(Skip::Fragment { destination }) if tables::has_service(destination) => {
            Verdict::FragmentUnsupported
        }
        Err(_) => Verdict::NotOurs,
    };
    count::verdict(verdict, packet.length());
    action(verdict)
}

/// A packet of a service; everything is counted but the verdict. One for another host is none of
/// the service's.
#[inline(always)]
fn serve(packet: &mut Packet<'_>, flow: &Flow, service: &Service) -> Verdict {
    let sent = send(packet, flow, service);
    if sent == Err(Verdict::NotOurs) {
        return Verdict::NotOurs;
    }
    count::service(service, packet.length());
    let verdict = match sent {
        Ok(target) => {
            count::target(target, packet.length());
            Verdict::Forwarded
        }
        Err(verdict) => verdict,
    };
    log::packet(flow, verdict, sent.unwrap_or(0));
    verdict
}

/// Writes the packet for its target, and returns the target's id.
#[inline(always)]
fn send(packet: &mut Packet<'_>, flow: &Flow, service: &Service) -> Result<u16, Verdict> {
    let keys = tables::keys().ok_or(Verdict::NoTarget)?;
    let place = Place::of(flow, service, keys.flows, packet.length()).ok_or(Verdict::NoTarget)?;
    let (id, target) = match place.target() {
        Some(known) => known,
        None => rings::choose(&flow.tuple, service, keys.ring)?,
    };
    forward::write(&mut packet.cursor(), flow.ip_length, &target)?;
    place.remember(id, flow, packet.length());
    Ok(id)
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
