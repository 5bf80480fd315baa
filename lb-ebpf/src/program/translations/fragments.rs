//! Fragments of packets of translated flows. They keep their identification, as the packets of all clients
//! have it, though to the backend they come from one address: two clients that have the same one in the
//! same moment lose a packet, whose sum will be wrong.

use aya_ebpf::bindings::xdp_md;
use lb_common::{FlowEvent, FragmentKey, FragmentRoute, Mac, Tuple, Verdict};
use lb_ebpf::{
    forward::full_nat::Place,
    fragment,
    parse::{Family, Flow},
};

use super::{
    super::{
        clock, count, counted, flows,
        outcome::Outcome,
        packet::Packet,
        refused, sent,
        tables::{self, Tables},
    },
    Found, back_to_sender, of_answer, returned, rewrite, send, to_open,
};

/// What is needed of a fragment.
struct Parsed {
    flow: Flow,
    /// Sender and receiver.
    stations: [Mac; 2],
    place: Place,
    id: u32,
    is_first: bool,
}

/// Translates a fragment of a packet whose route leads to a target, and sends it there.
#[inline(always)]
pub(in super::super) fn there(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(parsed) = parsed(&mut packet, family) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    let tuple = &parsed.flow.tuple;
    let route = tables::fragment_route(&FragmentKey::new(tuple, parsed.id));
    let (Some(route), Some(tables)) = (route, Tables::open()) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    let target = tables.target(outcome.target());
    let service = route.service();
    let port = if parsed.is_first {
        let Some(found) = Found::of(&parsed.flow, &target, tables) else {
            return to_open(outcome, service, bytes);
        };
        let exit = back_to_sender(&packet, &target);
        found.refresh(&parsed.flow, (parsed.stations[0], exit));
        found.port
    } else {
        // It has no ports, and goes by the addresses alone.
        0
    };
    match send(context, &parsed.flow, parsed.place, &target, port) {
        Ok(()) => sent(service, &target, bytes),
        Err(verdict) => refused(service, verdict, bytes),
    }
}

/// Sends a fragment of what a backend answers back to the client, if it is that.
#[inline(always)]
pub(in super::super) fn back(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(parsed) = parsed(&mut packet, family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let stations = (parsed.stations[1], packet.station());
    let Some(tuple) = answer(&parsed, stations, bytes) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some((_, translation)) = of_answer(&tuple, stations, clock::now()) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let to = translation.back(tuple.protocol);
    let macs = [Mac::of_number(translation.station), stations.0];
    if rewrite(context, parsed.place, [&tuple, &to], macs).is_none() {
        return counted(Verdict::ReplySilent, bytes);
    }
    returned(&translation, bytes)
}

/// The tuple of the packet that a fragment is of: the first has the ports and leaves them for the others.
#[inline(always)]
fn answer(parsed: &Parsed, stations: (Mac, Mac), bytes: u64) -> Option<Tuple> {
    let tuple = parsed.flow.tuple;
    let now = clock::now();
    let key = FragmentKey::new(&tuple, parsed.id);
    if !parsed.is_first {
        let route = tables::fragment_route(&key).filter(|route| route.is_live(now))?;
        let ports = route.ports();
        return Some(Tuple { ports, ..tuple });
    }
    of_answer(&tuple, stations, now)?;
    match flows::within_budget(now) {
        true => tables::put_fragment_route(&key, &FragmentRoute::back(tuple.ports, now)),
        false => count::event(FlowEvent::Limited, bytes),
    }
    Some(tuple)
}

#[inline(always)]
fn parsed(packet: &mut Packet, family: Family) -> Option<Parsed> {
    let mut fragment = fragment::fragment(&mut packet.cursor(), family)?;
    let ethernet = fragment.packet.frame.ethernet();
    let stations = [ethernet.source.mac(), ethernet.destination.mac()];
    Some(Parsed {
        flow: fragment.packet.flow,
        stations,
        place: Place::of(&fragment.packet, fragment.is_first)?,
        id: fragment.id,
        is_first: fragment.is_first,
    })
}
