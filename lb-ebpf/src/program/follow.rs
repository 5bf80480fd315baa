//! The way of packets of known flows.

use aya_ebpf::bindings::xdp_md;
use lb_common::{Course, Tuple, Verdict};
use lb_ebpf::{
    forward::{Unwritten, full_nat},
    parse::{self, Family, Flow, Skip},
};

use super::{
    count, counted,
    flows::{Known, Place},
    outcome::Outcome,
    packet::Packet,
    recent::Memory,
    refused,
    services::Listening,
    tables::{self, Service},
    translations, unsent, write,
};

/// The way of most packets of IPv4: they are not ours, or follow others of their flow that this CPU has just sent.
/// All others then go by [`follow`].
///
/// It is not called but a part of the program itself: where the kernel guards returns, one costs half as much as
/// all that is done here.
#[inline(always)]
pub(super) fn recall(context: *mut xdp_md) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(parsed) = parse::plain(&mut packet.cursor()) else {
        return Outcome::FORGOTTEN;
    };
    let listening = Listening::at(&parsed.flow.tuple);
    let Some(listening) = listening.filter(|it| it.may_have(&parsed.flow.tuple)) else {
        return not_served(&parsed.flow.tuple, bytes);
    };
    let Some(memory) = Memory::of(&parsed.flow.tuple, listening.tables) else {
        return Outcome::FORGOTTEN;
    };
    match memory.recall(&parsed.flow) {
        Some(course) => again(context, parsed, &listening, memory, course),
        None => Outcome::FORGOTTEN,
    }
}

/// The way of packets that are not ours, or of a flow that is known. All others then go by
/// [`super::begin`]; so this way is short and keeps nothing for them.
#[inline(always)]
pub(super) fn follow(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let parsed = match parse::packet(&mut packet.cursor(), family) {
        Ok(parsed) => parsed,
        Err(Skip::Fragment { destination }) => {
            return match tables::has_service(destination) {
                true => Outcome::FRAGMENT,
                false => Outcome::ANSWER_FRAGMENT,
            };
        }
        Err(Skip::Control { destination }) => {
            return match tables::has_service(destination) {
                true => Outcome::CONTROL,
                false => Outcome::ANSWER_CONTROL,
            };
        }
        Err(_) => return counted(Verdict::NotOurs, bytes),
    };
    let Some(listening) = Listening::at(&parsed.flow.tuple) else {
        return not_served(&parsed.flow.tuple, bytes);
    };
    let Some(memory) = Memory::of(&parsed.flow.tuple, listening.tables) else {
        return Outcome::UNKNOWN;
    };
    match memory.recall(&parsed.flow) {
        Some(course) => again(context, parsed, &listening, memory, course),
        None => by_entry(context, parsed, &listening, memory),
    }
}

/// What becomes of a packet to no service: a backend may answer by it.
#[inline(always)]
fn not_served(tuple: &Tuple, bytes: u64) -> Outcome {
    match translations::may_answer(tuple) {
        true => Outcome::ANSWER,
        false => counted(Verdict::NotOurs, bytes),
    }
}

/// Sends a packet where the last one of its flow went.
#[inline(always)]
fn again(
    context: *mut xdp_md,
    parsed: parse::Packet<'_>,
    listening: &Listening,
    memory: Memory,
    course: Course,
) -> Outcome {
    let (flow, family, payload) = (parsed.flow, parsed.frame.family(), parsed.payload);
    let target = listening.tables.target(course.target);
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let station = || Packet::new(context).station();
    let sent = match write(parsed, &target, station) {
        Ok(envelope) => packet.enclose(&envelope, &target),
        Err(Unwritten::ToTranslate) => {
            let place = full_nat::Place::at(family, payload, true);
            match translations::again(context, &flow, place, &target, course) {
                Some(sent) => sent,
                None => return Outcome::to_translate(target.id, true),
            }
        }
        Err(Unwritten::Refused(verdict)) => {
            return unsent(course.service, verdict, target.way().mtu(), bytes);
        }
    };
    if let Err(verdict) = sent {
        return refused(course.service, verdict, bytes);
    }
    count::hit_again(memory.counters, course.service, target.id, bytes);
    Outcome::sent(target.id, target.way().forward())
}

/// Sends a packet where the entry of its flow leads to.
#[inline(always)]
fn by_entry(
    context: *mut xdp_md,
    parsed: parse::Packet<'_>,
    listening: &Listening,
    mut memory: Memory,
) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let flow = parsed.flow;
    let Some(service) = listening.find(&flow.tuple) else {
        return not_served(&flow.tuple, bytes);
    };
    let Some(known) = known(&flow, &service) else {
        memory.forget(&flow);
        return Outcome::UNKNOWN;
    };
    let target = known.target;
    let station = || Packet::new(context).station();
    let envelope = match write(parsed, &target, station) {
        Ok(envelope) => envelope,
        Err(Unwritten::ToTranslate) => {
            known.refresh();
            return Outcome::to_translate(target.id, true);
        }
        Err(Unwritten::Refused(verdict)) => {
            return unsent(service.id, verdict, target.way().mtu(), bytes);
        }
    };
    known.refresh();
    memory.keep(&flow, Course::straight(service.id, target.id));
    if let Err(verdict) = packet.enclose(&envelope, &target) {
        return refused(service.id, verdict, bytes);
    }
    count::hit(service.id, target.id, bytes);
    Outcome::sent(target.id, target.way().forward())
}

/// The flow's entry, if its packet may follow it.
#[inline(always)]
pub(super) fn known(flow: &Flow, service: &Service) -> Option<Known> {
    let place = Place::of(flow, service.tables.keys())?;
    place.follow(flow, service).ok()
}
