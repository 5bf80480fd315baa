//! Fragments to the address of a service: the first goes as any packet of its flow, the others after
//! it.

use aya_ebpf::bindings::xdp_md;
use lb_common::{FlowEvent, FragmentKey, FragmentRoute, Ports, Tuple, Verdict};
use lb_ebpf::{
    fragment,
    parse::{Family, Flow},
};

use super::{
    BY_RING, clock, count, counted,
    flows::{self, Place},
    outcome::Outcome,
    packet::Packet,
    relay, services,
    tables::{self, Service, Tables},
};

/// Decides where the fragments of a packet go, if this is the first: by the entry of its flow, else to
/// the target that was chosen. Then it goes after itself, as the others do.
#[inline(always)]
pub(super) fn begin(context: *mut xdp_md, family: Family, chosen: u16) -> Outcome {
    let mut packet = Packet::new(context);
    let (bytes, station) = (packet.length(), packet.station());
    let Some(mut fragment) = fragment::fragment(&mut packet.cursor(), family) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    // A frame for another host: that one serves it.
    if fragment.packet.frame.ethernet().destination.mac() != station {
        return counted(Verdict::NotOurs, bytes);
    }
    if !fragment.is_first {
        return Outcome::ROUTED;
    }
    let flow = fragment.packet.flow;
    let Some(service) = services::find(&flow.tuple) else {
        put(&flow.tuple, fragment.id, 0, TO_HOST, bytes);
        return counted(Verdict::NotOurs, bytes);
    };
    let target = match target(&flow, &service, chosen, bytes) {
        Ok(target) => target,
        Err(outcome) => return outcome,
    };
    put(&flow.tuple, fragment.id, service.id, target, bytes);
    Outcome::ROUTED
}

/// Where the packets of a flow go, which is kept in mind.
///
/// # Errors
/// A target is to be chosen, or the sender to be told that there is none.
#[inline(always)]
fn target(flow: &Flow, service: &Service, chosen: u16, bytes: u64) -> Result<u16, Outcome> {
    let place = Place::of(flow, service.tables.keys()).ok_or(Outcome::TO_CHOOSE)?;
    if chosen != BY_RING {
        place.remember(chosen, flow, bytes);
        return Ok(chosen);
    }
    match place.follow(flow, service) {
        Ok(known) => {
            known.refresh();
            Ok(known.target.id)
        }
        Err(event) => {
            count::event(event, bytes);
            if event != FlowEvent::Ended {
                return Err(Outcome::TO_CHOOSE);
            }
            place.end();
            Err(Outcome::to_tell(Verdict::BackendDown, 0))
        }
    }
}

/// Sends a fragment where the first of its packet went.
#[inline(always)]
pub(super) fn follow(context: *mut xdp_md, family: Family) -> Outcome {
    let mut packet = Packet::new(context);
    let bytes = packet.length();
    let Some(mut fragment) = fragment::fragment(&mut packet.cursor(), family) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    // The others have none, and all are to take the same way through a network that spreads flows.
    fragment.packet.flow.tuple.ports = Ports::new(0, 0);
    let route = tables::fragment_route(&FragmentKey::new(&fragment.packet.flow.tuple, fragment.id));
    let Some(route) = route.filter(|route| route.is_live(clock::now())) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    if route.is_to_host() {
        return counted(Verdict::NotOurs, bytes);
    }
    let Some(target) = Tables::open().map(|tables| tables.target(route.target())) else {
        return counted(Verdict::FragmentUnknown, bytes);
    };
    // Its id can have gone to another target meanwhile.
    if target.way().identity() != route.identity() {
        return counted(Verdict::FragmentUnknown, bytes);
    }
    let packet = &mut Packet::new(context);
    // Of the others nobody is told (RFC 1122, 3.2.2).
    let service = (route.service(), fragment.is_first);
    relay(packet, fragment.packet, service, &target, bytes)
}

/// No target has this id.
const TO_HOST: u16 = 0;

/// Keeps in mind where the fragments of a packet go, within the insert limit: beyond it the packet is
/// lost, since a part of it is worth nothing. On a stack frame of its own.
#[inline(never)]
fn put(flow: &Tuple, id: u32, service: u32, target: u16, bytes: u64) {
    let now = clock::now();
    if !flows::within_budget(now) {
        count::event(FlowEvent::Limited, bytes);
        return;
    }
    let route = match Tables::open().filter(|_| target != TO_HOST) {
        Some(tables) => {
            let identity = tables.target(target).way().identity();
            FragmentRoute::new(service, target, identity, now)
        }
        None => FragmentRoute::to_host(now),
    };
    tables::put_fragment_route(&FragmentKey::new(flow, id), &route);
}
