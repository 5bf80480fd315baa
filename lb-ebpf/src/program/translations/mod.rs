//! Flows to `full-nat` backends: which port of the edge each has there, and whose answers go back where.

pub(super) mod errors;
pub(super) mod fragments;
pub(super) mod opening;

use core::hint;

use aya_ebpf::bindings::xdp_md;
use lb_common::{
    Course, Entry, Exit, FlowState, Mac, NAT_PROBES, Tags, Translation, TranslationKey, Tuple,
    Verdict,
};
use lb_ebpf::{
    entry,
    forward::full_nat::{self, Place},
    parse::{self, Family, Flow, Signal},
};

use super::{
    clock, count, counted,
    outcome::Outcome,
    packet::Packet,
    recent::{self, Memory},
    refused, sent, services,
    settings::{NAT_FIRST_PORT, NAT_PORT_COUNT},
    tables::{self, Tables, Target, TranslationSlot},
};

/// Whether a packet may be what a backend answers to a translated one.
#[inline(always)]
pub(super) fn may_answer(tuple: &Tuple) -> bool {
    let port = u32::from(tuple.ports.service());
    port.wrapping_sub(NAT_FIRST_PORT.load()) < NAT_PORT_COUNT.load()
}

/// Translates a packet that is known to go to a target, and sends it there.
#[inline(always)]
pub(super) fn there(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some((flow, [from, _], place)) = parsed(&mut packet, family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let stamp = recent::stamp(&flow.tuple, service.tables);
    let target = service.tables.target(outcome.target());
    let Some(found) = Found::of(&flow, &target, service.tables) else {
        return to_open(outcome, service.id, bytes);
    };
    let exit = back_to_sender(&packet, &target);
    found.refresh(&flow, (from, exit));
    if let Err(verdict) = send(context, &flow, place, &target, found.port) {
        return refused(service.id, verdict, bytes);
    }
    if outcome.is_known() {
        if exit == Exit::SAME
            && let Some(mut memory) = Memory::at(&flow.tuple, stamp)
        {
            memory.keep(&flow, found.course(service.id, target.id, from));
        }
        count::hit(service.id, target.id, bytes);
        return Outcome::sent(target.id, target.way().forward());
    }
    sent(service.id, &target, bytes)
}

/// Translates a packet as the last one of its flow; `None` if it came another way, or the last one was not
/// translated.
///
/// # Errors
/// What becomes of it instead.
#[inline(always)]
pub(super) fn again(
    context: *mut xdp_md,
    flow: &Flow,
    place: Option<Place>,
    target: &Target,
    course: Course,
) -> Option<Result<(), Verdict>> {
    let mut packet = Packet::new(context);
    if packet.sender()?.number() != course.station || back_to_sender(&packet, target) != Exit::SAME
    {
        return None;
    }
    Some(send(context, flow, place?, target, course.port))
}

/// Makes a packet of a flow one to its target, from this port of the edge.
///
/// # Errors
/// What becomes of it instead.
#[inline(always)]
fn send(
    context: *mut xdp_md,
    flow: &Flow,
    place: Place,
    target: &Target,
    port: u16,
) -> Result<(), Verdict> {
    let tuple = full_nat::there(flow, target.address(), &target.nat(), port);
    let way = target.way();
    let macs = [way.next_hop(), way.source()];
    let rewritten = rewrite(context, place, [&flow.tuple, &tuple], macs);
    rewritten.ok_or(Verdict::ReplySilent)
}

/// What becomes of a packet whose flow has no translation: it is to be made, unless that was done just now
/// and others have taken its place already.
#[inline(always)]
fn to_open(outcome: Outcome, service: u32, bytes: u64) -> Outcome {
    match outcome.is_opened() {
        true => refused(service, Verdict::NoPort, bytes),
        false => Outcome::TO_OPEN,
    }
}

/// Sends what a backend answers back to the client, if it is that.
#[inline(always)]
pub(super) fn back(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some((flow, [_, station], place)) = parsed(&mut packet, family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let now = clock::now();
    let Some((slot, translation)) = of_answer(&flow.tuple, (station, packet.station()), now) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let tuple = translation.back(flow.tuple.protocol);
    let macs = [Mac::of_number(translation.station), station];
    if rewrite(context, place, [&flow.tuple, &tuple], macs).is_none() {
        return counted(Verdict::ReplySilent, bytes);
    }
    keep(
        slot,
        &translation,
        state_after_answer(translation.state(), &flow),
        now,
    );
    returned(&translation, bytes)
}

/// The translation of a flow whose packets from the backend have this tuple, in a frame for one station that
/// came by another. A frame for another host is not ours: that one serves it.
#[inline(always)]
fn of_answer(
    tuple: &Tuple,
    (station, ours): (Mac, Mac),
    now: u32,
) -> Option<(TranslationSlot, Translation)> {
    let slot = TranslationSlot::of(&TranslationKey::back(tuple))?;
    let translation = slot.load();
    let is_live = translation.is_live(now, Tables::open()?.keys().idle);
    (is_live && station == ours).then_some((slot, translation))
}

/// Counts what is sent back to a client.
#[inline(always)]
fn returned(translation: &Translation, bytes: u64) -> Outcome {
    count::verdict(Verdict::Returned, bytes);
    let elsewhere = translation.exit != Exit::SAME;
    if elsewhere && let Some(transit) = tables::transit() {
        transit.back = translation.exit;
    }
    Outcome::returned(translation.target(), elsewhere)
}

/// How what `target` answers leaves for the sender of a packet to it. Where the packet leaves by the
/// interface that it came by, and without tags, so does the answer.
#[inline(always)]
fn back_to_sender(packet: &Packet, target: &Target) -> Exit {
    let tags = tables::transit().map_or(Tags::NONE, |transit| transit.tags);
    if tags == Tags::NONE && target.way().forward().leaves_as_it_came() {
        return Exit::SAME;
    }
    Exit {
        tags,
        interface: packet.interface(),
    }
}

/// What is needed of a packet: its flow, its stations (sender and receiver), and where it is to be
/// changed.
#[inline(always)]
fn parsed(packet: &mut Packet, family: Family) -> Option<(Flow, [Mac; 2], Place)> {
    let mut parsed = parse::packet(&mut packet.cursor(), family).ok()?;
    let ethernet = parsed.frame.ethernet();
    let stations = [ethernet.source.mac(), ethernet.destination.mac()];
    Some((parsed.flow, stations, Place::of(&parsed, true)?))
}

#[inline(always)]
fn rewrite(context: *mut xdp_md, place: Place, tuples: [&Tuple; 2], macs: [Mac; 2]) -> Option<()> {
    // Through other pointers than those of the parser: see the place.
    let mut anew = Packet::new(hint::black_box(context));
    full_nat::write(&mut anew.cursor(), place, tuples, macs)
}

/// What a backend answers ends a flow, but opens none: else whoever floods it with SYNs would have as
/// many established flows as it answers.
#[inline(always)]
fn state_after_answer(state: FlowState, flow: &Flow) -> FlowState {
    match flow.signal {
        Signal::Finish | Signal::Reset => FlowState::CLOSING,
        Signal::Open | Signal::Data => state,
    }
}

/// The translation of a flow to a target, with the port that it has there.
struct Found {
    port: u16,
    slot: TranslationSlot,
}

impl Found {
    #[inline(always)]
    fn of(flow: &Flow, target: &Target, tables: Tables) -> Option<Self> {
        let probes = Probes::of(flow, target, tables);
        for probe in 0..NAT_PROBES {
            let tuple = probes.tuple(flow, probe);
            if let Some(slot) = TranslationSlot::of(&TranslationKey::there(&tuple)) {
                let translation = slot.load();
                if translation.is_of(&flow.tuple) {
                    let port = tuple.ports.client();
                    return Some(Self { port, slot });
                }
            } else if flow.signal == Signal::Open {
                // Only behind a port that was taken then, and is free now, could it have one already.
                return None;
            }
        }
        None
    }

    /// Where packets of the flow go that come from a station.
    #[inline(always)]
    fn course(&self, service: u32, target: u16, from: Mac) -> Course {
        Course {
            service,
            target,
            port: self.port,
            station: from.number(),
        }
    }

    /// Keeps in mind that a packet of the flow came from a station, and how others get back there.
    #[inline(always)]
    fn refresh(&self, flow: &Flow, (from, exit): (Mac, Exit)) {
        // Read again, which takes less stack than to keep it.
        let translation = self.slot.load();
        let state = entry::next_state(translation.state(), flow);
        keep(self.slot, &translation, state, clock::now());
        if (from.number(), exit) != (translation.station, translation.exit) {
            self.slot.set_back(from.number(), exit);
            // Its packets do not say so for as long as they go the short way.
            recent::forget(flow);
        }
    }
}

/// Keeps in mind that a translation was used.
#[inline(always)]
fn keep(slot: TranslationSlot, translation: &Translation, state: FlowState, now: u32) {
    let life = Entry::life(now, state);
    if life != translation.life {
        slot.set_life(life);
    }
}

/// The ports that a flow may have at a target, as the hashes of the flow table name them: so its
/// translation is found again without a table of the other direction.
struct Probes {
    target: Target,
    first: u32,
    step: u32,
}

impl Probes {
    #[inline(always)]
    fn of(flow: &Flow, target: &Target, tables: Tables) -> Self {
        let [first, second] = tables.keys().flows;
        Self {
            target: *target,
            first: flow.tuple.hash(first),
            step: flow.tuple.hash(second) | 1,
        }
    }

    #[inline(always)]
    fn tuple(&self, flow: &Flow, probe: u32) -> Tuple {
        let hash = self.first.wrapping_add(probe.wrapping_mul(self.step));
        let port = NAT_FIRST_PORT.load() + hash % NAT_PORT_COUNT.load().max(1);
        full_nat::there(flow, self.target.address(), &self.target.nat(), port as u16)
    }
}
