//! ICMP errors about packets of translated flows.

use core::hint;

use aya_ebpf::bindings::xdp_md;
use lb_common::{Mac, Tuple, Verdict};
use lb_ebpf::{
    control,
    forward::full_nat::{
        self,
        error::{self, Place},
    },
    parse::{Family, Flow},
};

use super::{
    super::{clock, counted, outcome::Outcome, packet::Packet, refused, sent, services},
    Found, of_answer, returned,
};

/// Sends an error about a packet that a service sent to the backend that it came from.
#[inline(always)]
pub(in super::super) fn there(context: *mut xdp_md, family: Family, target: u16) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some((flow, _, place)) = parsed(&mut packet, family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let target = service.tables.target(target);
    // An error is no packet of its flow, and changes nothing that is known of it; and nobody is told of one.
    let Some(found) = Found::of(&flow, &target, service.tables) else {
        return refused(service.id, Verdict::ReplySilent, bytes);
    };
    let tuple = full_nat::there(&flow, target.address(), &target.nat(), found.port);
    let way = target.way();
    let macs = [way.next_hop(), way.source()];
    match rewrite(context, place, [&flow.tuple, &tuple], macs) {
        Some(()) => sent(service.id, &target, bytes),
        None => refused(service.id, Verdict::ReplySilent, bytes),
    }
}

/// Sends an error about a packet to a backend back to the client that it came from, if it is that.
#[inline(always)]
pub(in super::super) fn back(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some((flow, station, place)) = parsed(&mut packet, family) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let stations = (station, packet.station());
    let Some((_, translation)) = of_answer(&flow.tuple, stations, clock::now()) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let tuple = translation.back(flow.tuple.protocol);
    let macs = [Mac::of_number(translation.station), station];
    if rewrite(context, place, [&flow.tuple, &tuple], macs).is_none() {
        return counted(Verdict::ReplySilent, bytes);
    }
    returned(&translation, bytes)
}

/// What is needed of an error: the flow that it is about, the station that the frame is for, and where it
/// is to be changed.
#[inline(always)]
fn parsed(packet: &mut Packet, family: Family) -> Option<(Flow, Mac, Place)> {
    let mut error = control::error(&mut packet.cursor(), family)?;
    let station = error.frame.ethernet().destination.mac();
    Some((error.flow, station, Place::of(&error)?))
}

#[inline(always)]
fn rewrite(context: *mut xdp_md, place: Place, tuples: [&Tuple; 2], macs: [Mac; 2]) -> Option<()> {
    // Through other pointers than those of the parser, as for packets.
    let mut anew = Packet::new(hint::black_box(context));
    error::write(&mut anew.cursor(), place, tuples, macs)
}
