//! Affinity: where the flows of a client went before.

use aya_ebpf::bindings::xdp_md;
use lb_common::{Affinity, Descriptor, FlowEvent, Mac, Pin, PinKey, ServiceKey, Tuple, Verdict};
use lb_ebpf::{
    control, fragment,
    parse::{self, Family, Flow, Signal},
    pin, word,
};

use super::{
    clock, count, counted, flows,
    outcome::Outcome,
    packet::Packet,
    refused,
    rings::Row,
    services, silent,
    tables::{self, PinSlot, Service, Target},
    unsent,
};

/// What is in a frame that needs a target.
#[derive(Clone, Copy, Eq, PartialEq)]
#[repr(u32)]
pub(super) enum Shape {
    /// A packet of the flow.
    Packet,
    /// An ICMP error about one of its packets.
    Error,
    /// The first fragment of one.
    Fragment,
}

/// Chooses the target of a flow without an entry, of which something of this shape was found in the frame: by the
/// pin of its client, else by the ring before a change or the present one, and pins the client to it. Neither a reset, nor an error, nor a frame for
/// another host makes or keeps a pin.
#[inline(always)]
pub(super) fn choose(context: *mut xdp_md, shape: Shape) -> Outcome {
    let packet = Packet::new(context);
    let bytes = packet.length();
    let Some(Content { flow, to, .. }) = tables::content() else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let ours = Mac::of_number(*to) == packet.station();
    let pins = ours && shape != Shape::Error && flow.signal != Signal::Reset;
    match (target(flow, &service, pins, bytes), shape) {
        (Ok(target), _) => Outcome::to(target.id),
        (Err(verdict), Shape::Error) => refused(service.id, silent(verdict), bytes),
        (Err(verdict), _) => unsent(service.id, verdict, 0, bytes),
    }
}

/// What is in a frame that needs a target.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Content {
    /// The flow.
    pub(super) flow: Flow,
    /// The station that the frame is from.
    pub(super) from: u64,
    /// The station that it is for.
    pub(super) to: u64,
}

impl Content {
    /// Finds it.
    #[inline(always)]
    pub(super) fn of(context: *mut xdp_md, family: Family, shape: Shape) -> Option<Self> {
        let mut packet = Packet::new(context);
        let cursor = &mut packet.cursor();
        let mut packet = match shape {
            Shape::Packet => parse::packet(cursor, family).ok()?,
            Shape::Error => control::error(cursor, family)?,
            Shape::Fragment => fragment::fragment(cursor, family)?.packet,
        };
        let ethernet = packet.frame.ethernet();
        Some(Self {
            flow: packet.flow,
            from: ethernet.source.mac().number(),
            to: ethernet.destination.mac().number(),
        })
    }
}

#[inline(always)]
fn target(flow: &Flow, service: &Service, pins: bool, bytes: u64) -> Result<Target, Verdict> {
    let keys = service.tables.keys();
    let row = Row::of(&flow.tuple, service)?;
    let now = clock::now();
    let before = word::unbounded(row.before(flow, service, keys.ring, now).into()) as u16;
    let place = Place::of(row.ring, &flow.tuple, now);
    let pinned = place.as_ref().and_then(|it| it.follow(row.ring, service));
    // The clients' pin says more of where an older flow went than any ring.
    let target = match pinned {
        Some(target) => target,
        None if before != 0 => {
            count::event(FlowEvent::Former, bytes);
            service.tables.target(before)
        }
        None => row.choose(&flow.tuple, service, keys.ring)?,
    };
    if let Some(place) = place.filter(|_| pins) {
        if pinned.is_some() {
            count::event(FlowEvent::Pinned, bytes);
        }
        place.remember(&target, bytes);
    }
    Ok(target)
}

/// The pin of a flow's client, or where one would be.
pub(super) struct Place {
    key: PinKey,
    slot: Option<PinSlot>,
    affinity: Affinity,
    now: u32,
}

impl Place {
    /// The place for a flow that goes by a ring; none if that has no affinity.
    #[inline(always)]
    pub(super) fn of(ring: Descriptor, tuple: &Tuple, now: u32) -> Option<Self> {
        let affinity = tables::affinity(ring)?;
        let port = tuple.ports.service().to_be_bytes();
        let key = PinKey {
            clients: affinity.prefix(tuple.client),
            service: ServiceKey::new(tuple.service, port, tuple.protocol),
            realm: affinity.realm(),
        };
        let slot = PinSlot::of(&key);
        Some(Self {
            key,
            slot,
            affinity,
            now,
        })
    }

    /// Where the pin leads, if a new flow that goes by `ring` may follow it.
    #[inline(always)]
    pub(super) fn follow(&self, ring: Descriptor, service: &Service) -> Option<Target> {
        let pin = self.slot?.load();
        let target = service.tables.target(pin.target());
        let way = target.way();
        let is_eligible = || tables::is_member(ring, target.id);
        let follows = pin::may_follow(pin, self.affinity, &way, self.now, is_eligible);
        (follows && service.takes(way.group())).then_some(target)
    }

    /// Keeps in mind that a new flow goes to `target`, by the pin or not. A pin that was there is
    /// written over whatever the limit is, since that takes nothing from others: as for entries of the
    /// flow table.
    #[inline(always)]
    pub(super) fn remember(&self, target: &Target, bytes: u64) {
        let pin = Pin::new(target.id, target.way().identity(), self.now);
        let event = match self.slot {
            Some(slot) => {
                let stays = slot.load().identity == pin.identity;
                slot.store(pin);
                if stays {
                    return;
                }
                FlowEvent::PinSet
            }
            None if !flows::within_budget(self.now) => FlowEvent::PinLimited,
            None => {
                tables::put_pin(&self.key, &pin);
                FlowEvent::PinSet
            }
        };
        count::event(event, bytes);
    }
}
