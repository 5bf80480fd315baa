//! The host's part of `full-nat`.

use std::collections::HashMap;

use lb_common::{
    Control, Exit, FragmentKey, Mac, NAT_PROBES, Ports, Protocol, Tags, Target, Translation,
    TranslationKey, Tuple, Verdict,
};
use lb_ebpf::{
    control,
    forward::full_nat::{self, Place, error},
    fragment,
    parse::{self, Family, Flow, Signal},
};

use lb_tests::datapath::edge::LOOPBACK;

use super::host::cursor;

/// The flows of one target, as the program keeps them.
pub(super) struct Translations {
    target: Target,
    control: Control,
    /// First and number of the ports.
    ports: [u32; 2],
    flows: HashMap<TranslationKey, Translation>,
    /// The ports of packets from backends, of which fragments came.
    routes: HashMap<FragmentKey, Ports>,
    /// The tags that the present frame came with.
    pub(super) came: Tags,
    /// How the last answer leaves.
    pub(super) returns: Exit,
}

/// What is in a frame that goes to the target.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Packet,
    Fragment,
    Error,
}

impl Translations {
    pub(super) fn new(target: Target, control: Control, ports: [u32; 2]) -> Self {
        Self {
            target,
            control,
            ports,
            flows: HashMap::new(),
            routes: HashMap::new(),
            came: Tags::NONE,
            returns: Exit::SAME,
        }
    }

    /// The ports that a flow may have, in their order.
    fn probes(&self, flow: &Flow) -> impl Iterator<Item = Tuple> + use<'_> {
        let flow = *flow;
        let [first, second] = &self.control.flow_keys;
        let (hash, step) = (flow.tuple.hash(first), flow.tuple.hash(second) | 1);
        (0..NAT_PROBES).map(move |probe| {
            let hash = hash.wrapping_add(probe.wrapping_mul(step));
            let port = self.ports[0] + hash % self.ports[1];
            let port = u16::try_from(port).expect("a port");
            full_nat::there(&flow, self.target.address, &self.target.nat, port)
        })
    }

    /// The tuple of a flow's packets to the target, if it has a translation.
    pub(super) fn known(&self, flow: &Flow) -> Option<Tuple> {
        for tuple in self.probes(flow) {
            match self.flows.get(&TranslationKey::there(&tuple)) {
                Some(found) if found.is_of(&flow.tuple) => return Some(tuple),
                None if flow.signal == Signal::Open => return None,
                _ => {}
            }
        }
        None
    }

    fn known_or_opened(&mut self, flow: &Flow, from: Mac) -> Result<Tuple, Verdict> {
        let exit = self.exit();
        if let Some(tuple) = self.known(flow) {
            let key = TranslationKey::there(&tuple);
            let translation = self.flows.get_mut(&key).expect("it is known");
            translation.station = from.number();
            translation.exit = exit;
            return Ok(tuple);
        }
        if flow.tuple.protocol == Protocol::TCP && flow.signal != Signal::Open {
            return Err(Verdict::Untranslated);
        }
        let is_free = |tuple: &Tuple| !self.flows.contains_key(&TranslationKey::there(tuple));
        let tuple = self.probes(flow).find(is_free).ok_or(Verdict::NoPort)?;
        let translation = Translation::new(&flow.tuple, 1, 0, (from, exit));
        self.flows
            .insert(TranslationKey::there(&tuple), translation);
        Ok(tuple)
    }

    /// How answers to the present frame leave.
    fn exit(&self) -> Exit {
        let leaves_as_it_came = self.target.forward.leaves_as_it_came();
        match (self.came, leaves_as_it_came) {
            (Tags::NONE, true) => Exit::SAME,
            (tags, _) => Exit {
                tags,
                interface: LOOPBACK,
            },
        }
    }

    /// Translates a frame to the target.
    pub(super) fn there(
        &mut self,
        frame: &mut [u8],
        family: Family,
        shape: Shape,
    ) -> Result<(), Verdict> {
        let way = self.target.way();
        let macs = [way.next_hop(), way.source()];
        let mut copy = frame.to_vec();
        let mut read = cursor(&mut copy);
        let (flow, to, place) = match shape {
            Shape::Error => {
                let packet = control::error(&mut read, family).expect("it was there before");
                let place = error::Place::of(&packet).ok_or(Verdict::NotOurs)?;
                let to = self.known(&packet.flow).ok_or(Verdict::ReplySilent)?;
                let tuples = [&packet.flow.tuple, &to];
                let written = error::write(&mut cursor(frame), place, tuples, macs);
                return written.ok_or(Verdict::ReplySilent);
            }
            Shape::Packet => {
                let mut packet = parse::packet(&mut read, family).expect("it was there before");
                let from = packet.frame.ethernet().source.mac();
                let to = self.known_or_opened(&packet.flow, from)?;
                (packet.flow, to, Place::of(&packet, true))
            }
            Shape::Fragment => {
                let mut part = fragment::fragment(&mut read, family).expect("it was there before");
                let from = part.packet.frame.ethernet().source.mac();
                let flow = part.packet.flow;
                let to = match part.is_first {
                    true => self.known_or_opened(&flow, from)?,
                    false => full_nat::there(&flow, self.target.address, &self.target.nat, 0),
                };
                (flow, to, Place::of(&part.packet, part.is_first))
            }
        };
        let place = place.ok_or(Verdict::NotOurs)?;
        let written = full_nat::write(&mut cursor(frame), place, [&flow.tuple, &to], macs);
        written.ok_or(Verdict::ReplySilent)
    }

    /// Translates a frame that may be from the backend.
    pub(super) fn back(&mut self, frame: &mut [u8], family: Family, shape: Shape) -> Verdict {
        let found = self.answer(frame, family, shape);
        let Some((from, translation, place)) = found else {
            return Verdict::NotOurs;
        };
        self.returns = translation.exit;
        let to = translation.back(from.protocol);
        let macs = [
            Mac::of_number(translation.station),
            self.target.way().source(),
        ];
        let mut cursor = cursor(frame);
        let written = match place {
            Change::Packet(place) => full_nat::write(&mut cursor, place, [&from, &to], macs),
            Change::Error(place) => error::write(&mut cursor, place, [&from, &to], macs),
        };
        written.map_or(Verdict::ReplySilent, |()| Verdict::Returned)
    }

    fn answer(
        &mut self,
        frame: &[u8],
        family: Family,
        shape: Shape,
    ) -> Option<(Tuple, Translation, Change)> {
        let mut copy = frame.to_vec();
        let mut read = cursor(&mut copy);
        let (mut packet, part, change) = match shape {
            Shape::Packet => {
                let packet = parse::packet(&mut read, family).ok()?;
                let port = u32::from(packet.flow.tuple.ports.service());
                if port.wrapping_sub(self.ports[0]) >= self.ports[1] {
                    return None;
                }
                let change = Change::Packet(Place::of(&packet, true)?);
                (packet, None, change)
            }
            Shape::Fragment => {
                let part = fragment::fragment(&mut read, family)?;
                let change = Change::Packet(Place::of(&part.packet, part.is_first)?);
                (part.packet, Some((part.id, part.is_first)), change)
            }
            Shape::Error => {
                let packet = control::error(&mut read, family)?;
                let change = Change::Error(error::Place::of(&packet)?);
                (packet, None, change)
            }
        };
        let mut tuple = packet.flow.tuple;
        let station = packet.frame.ethernet().destination.mac();
        let is_ours = station == self.target.way().source();
        if let Some((id, is_first)) = part {
            let key = FragmentKey::new(&tuple, id);
            if !is_first {
                tuple.ports = *self.routes.get(&key)?;
            } else if is_ours && self.flows.contains_key(&TranslationKey::back(&tuple)) {
                self.routes.insert(key, tuple.ports);
            }
        }
        let translation = self.flows.get(&TranslationKey::back(&tuple))?;
        is_ours.then_some((tuple, *translation, change))
    }
}

enum Change {
    Packet(Place),
    Error(error::Place),
}
