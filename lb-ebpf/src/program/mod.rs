//! A packet's path: parse, memory of this CPU, service, flow, class, pin or ring, target, forward, count.

mod clients;
mod clock;
mod control;
mod count;
mod flows;
mod follow;
mod fragments;
mod leave;
mod log;
mod maps;
mod outcome;
mod packet;
mod pins;
mod proof;
mod recent;
mod replies;
mod rings;
mod services;
mod settings;
mod tables;
mod translations;
mod ways;

use aya_ebpf::{bindings::xdp_md, macros::xdp, programs::XdpContext};
use lb_common::{FlowEvent, ForwardMode, Mac, Verdict};
use lb_ebpf::{
    forward::{self, Envelope, Unwritten},
    parse::{self, Family},
};

use self::{
    flows::Place,
    outcome::Outcome,
    packet::Packet,
    rings::Row,
    settings::{PROOF, TUNNEL_CHECKSUM, tunnels},
    tables::{Service, Tables, Target},
};

#[xdp]
fn waggle(context: XdpContext) -> u32 {
    let context = context.ctx;
    let mut packet = Packet::new(context);
    let Some(family) = parse::family(&mut packet.cursor()) else {
        return tagged(context);
    };
    let outcome = match family {
        Family::V4 if !is_looked_at() => follow::recall(context),
        _ => Outcome::FORGOTTEN,
    };
    let outcome = match outcome.is_done() {
        true => outcome,
        false => go(context, family, outcome),
    };
    match outcome.leaves_elsewhere() {
        true => ways::leave(context, outcome),
        false => outcome.action(),
    }
}

/// Whether something is done with packets besides that they are sent on.
#[inline(always)]
fn is_looked_at() -> bool {
    PROOF.load() != 0 || log::is_on() || TUNNEL_CHECKSUM.load() != 0
}

/// A frame that is not plainly one of IP: without its tags it may be.
#[inline(always)]
fn tagged(context: *mut xdp_md) -> u32 {
    let packet = Packet::new(context);
    if !ways::take_tags_off(context) {
        return counted(Verdict::NotOurs, packet.length()).action();
    }
    let outcome = match parse::family(&mut Packet::new(context).cursor()) {
        Some(family) => go(context, family, Outcome::FORGOTTEN),
        None => counted(Verdict::NotOurs, packet.length()),
    };
    ways::leave(context, outcome)
}

/// What becomes of a frame without tags, of which this much is known.
#[inline(always)]
fn go(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    if PROOF.load() != 0 {
        return Outcome::refused(proof::prove(context, family));
    }
    if log::is_on() {
        ways::note(context, family);
    }
    let outcome = match outcome {
        Outcome::FORGOTTEN => ways::follow(context, family),
        outcome => outcome,
    };
    let outcome = match outcome.is_done() {
        true => outcome,
        false => go_on(context, family, outcome),
    };
    if TUNNEL_CHECKSUM.load() != 0 {
        ways::sum(context, outcome);
    }
    if log::is_on() {
        ways::log(outcome);
    }
    outcome
}

/// What becomes of a frame that the way of most did not do with, for the reason that `outcome` says.
#[inline(always)]
fn go_on(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    let outcome = match outcome {
        Outcome::UNKNOWN => ways::begin(context, family),
        Outcome::FRAGMENT => ways::fragment(context, family),
        Outcome::CONTROL => ways::control(context, family),
        Outcome::ANSWER => ways::answer(context, family),
        Outcome::ANSWER_FRAGMENT => ways::answer_fragment(context, family),
        Outcome::ANSWER_CONTROL => ways::answer_control(context, family),
        known => known,
    };
    let outcome = match outcome.is_to_translate() {
        true => ways::translate(context, family, outcome),
        false => outcome,
    };
    match outcome.cause() {
        Some(_) => ways::reply(context, family, outcome),
        None => outcome,
    }
}

/// Puts the checksum into the datagram that a packet was sent in; `None` if it was in none. Without one, a
/// datagram says so.
#[inline(always)]
fn sum(context: *mut xdp_md, outcome: Outcome) -> Option<()> {
    let target = Tables::open()?.target(outcome.target());
    let is_sent = outcome.number() == Verdict::Forwarded as u32;
    let is_datagram = target.way().forward().mode() == ForwardMode::GUE;
    if !is_sent || !is_datagram {
        return None;
    }
    Packet::new(context).sum_datagram()
}

/// Rewrites a packet for a target, as far as that needs no room. `station` is asked for the address of the
/// interface that it came by, if need be.
#[inline(always)]
fn write(
    parsed: parse::Packet<'_>,
    target: &Target,
    station: impl FnOnce() -> Mac,
) -> Result<Envelope, Unwritten> {
    let way = target.way();
    forward::write(parsed, &way, || target.address(), station, tunnels)
}

/// No target was chosen yet: no target has this id.
const BY_RING: u16 = 0;

/// The way of a packet that begins a flow, or may not follow its flow's entry, to the target that its
/// client's pin chose, or its ring chooses.
#[inline(always)]
fn begin(context: *mut xdp_md, family: Family, chosen: u16) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Ok(parsed) = parse::packet(&mut packet.cursor(), family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&parsed.flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let station = || Packet::new(context).station();
    let (target, envelope) = match send(parsed, station, &service, chosen, bytes) {
        Ok(sent) => sent,
        Err(Unsent::ToChoose) => return Outcome::TO_CHOOSE,
        Err(Unsent::ToTranslate(target)) => return Outcome::to_translate(target, false),
        Err(Unsent::Refused(verdict, mtu)) => return unsent(service.id, verdict, mtu, bytes),
    };
    if let Err(verdict) = packet.enclose(&envelope, &target) {
        return refused(service.id, verdict, bytes);
    }
    sent(service.id, &target, bytes)
}

/// Sends what is no whole packet of a flow on. If it can not be, its sender is told or not.
#[inline(always)]
fn relay(
    packet: &mut Packet,
    parsed: parse::Packet<'_>,
    (service, tells): (u32, bool),
    target: &Target,
    bytes: u64,
) -> Outcome {
    let station = || packet.station();
    let envelope = match write(parsed, target, station) {
        Ok(envelope) => envelope,
        Err(Unwritten::Refused(verdict)) if tells => {
            return unsent(service, verdict, target.way().mtu(), bytes);
        }
        Err(Unwritten::Refused(verdict)) => return refused(service, silent(verdict), bytes),
        Err(Unwritten::ToTranslate) => return Outcome::to_translate(target.id, false),
    };
    if let Err(verdict) = packet.enclose(&envelope, target) {
        return refused(service, verdict, bytes);
    }
    sent(service, target, bytes)
}

/// Whether the sender of a packet with this verdict is to be told.
#[inline(always)]
fn is_told(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::BackendDown
            | Verdict::Rejected
            | Verdict::TooBig
            | Verdict::TtlExpired
            | Verdict::Untranslated
    )
}

/// The verdict of a packet of which nobody is told.
#[inline(always)]
fn silent(verdict: Verdict) -> Verdict {
    match is_told(verdict) {
        true => Verdict::ReplySilent,
        false => verdict,
    }
}

/// Counts a packet that was sent, other than by its flow's entry.
#[inline(always)]
fn sent(service: u32, target: &Target, bytes: u64) -> Outcome {
    count::sent(service, target.id, bytes);
    Outcome::sent(target.id, target.way().forward())
}

/// Why a packet was not sent.
enum Unsent {
    /// Its client may have a pin, or its flow be older than its ring.
    ToChoose,
    /// It goes to this target, translated.
    ToTranslate(u16),
    /// This became of it instead; its way, if there is one, takes so many bytes.
    Refused(Verdict, u16),
}

impl From<Verdict> for Unsent {
    #[inline(always)]
    fn from(verdict: Verdict) -> Self {
        Self::Refused(verdict, 0)
    }
}

/// Chooses a target, rewrites the packet for it, and returns it with what has to be put around the
/// packet. An entry that another CPU has written meanwhile is written over: it came from the same
/// ring.
#[inline(always)]
fn send(
    mut parsed: parse::Packet<'_>,
    station: impl Fn() -> Mac,
    service: &Service,
    chosen: u16,
    bytes: u64,
) -> Result<(Target, Envelope), Unsent> {
    let flow = parsed.flow;
    let tables = service.tables;
    let place = Place::of(&flow, tables.keys()).ok_or(Verdict::NoTarget)?;
    let target = if chosen == BY_RING {
        let event = place.follow(&flow, service).err();
        let event = event.unwrap_or(FlowEvent::Miss);
        count::event(event, bytes);
        if event == FlowEvent::Ended {
            // Of a frame for another host nobody is told either.
            if parsed.frame.ethernet().destination.mac() == station() {
                place.end();
            }
            return Err(Verdict::BackendDown.into());
        }
        let row = Row::of(&flow.tuple, service)?;
        if row.ring.has_head() || row.may_be_older(&flow) {
            return Err(Unsent::ToChoose);
        }
        row.choose(&flow.tuple, service, tables.keys().ring)?
    } else {
        tables.target(chosen)
    };
    let written = write(parsed, &target, station);
    if let Err(Unwritten::Refused(verdict)) = written {
        return Err(Unsent::Refused(verdict, target.way().mtu()));
    }
    place.remember(target.id, &flow, bytes);
    match written {
        Ok(envelope) => Ok((target, envelope)),
        Err(_) => Err(Unsent::ToTranslate(target.id)),
    }
}

/// What becomes of a packet of a service that is not sent. If its sender is to be told, it is counted
/// when that is done.
#[inline(always)]
fn unsent(service: u32, verdict: Verdict, mtu: u16, bytes: u64) -> Outcome {
    match is_told(verdict) {
        true => Outcome::to_tell(verdict, mtu),
        false => refused(service, verdict, bytes),
    }
}

/// Counts a packet of a service that is not sent. A frame for another host is none of the service's.
#[inline(always)]
fn refused(service: u32, verdict: Verdict, bytes: u64) -> Outcome {
    if verdict != Verdict::NotOurs {
        count::service(service, bytes);
    }
    counted(verdict, bytes)
}

#[inline(always)]
fn counted(verdict: Verdict, bytes: u64) -> Outcome {
    count::verdict(verdict, bytes);
    Outcome::refused(verdict)
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
