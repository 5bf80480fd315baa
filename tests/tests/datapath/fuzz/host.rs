//! The program's packet code on this host, with tables of one target and one of a former ring.

use std::collections::{BTreeSet, HashMap};

use lb_common::{Address, Exit, FragmentKey, Mac, Ports, Protocol, Tags, Target, Tuple, Verdict};
use lb_ebpf::{
    control,
    cursor::Cursor,
    former,
    forward::{self, Envelope, Tunnels, Unwritten},
    fragment,
    parse::{self, Family, Flow, Signal, Skip},
    reply::{Cause, Reply},
    vlan,
};
use lb_tests::datapath::edge::XDP_DROP;

use super::translations::{Shape, Translations};

/// An edge with services that all lead to one target now, and to another before.
pub(super) struct Host {
    pub(super) services: Vec<Tuple>,
    pub(super) target: Target,
    former: Target,
    /// Packets that went by the former ring.
    pub(super) by_former: u64,
    flows: HashMap<FlowKey, Target>,
    /// Where the fragments of a packet go; none if they are the host's own.
    routes: HashMap<FragmentKey, Option<Target>>,
    pub(super) translations: Translations,
}

/// What is set for tunnels.
const TUNNELS: Tunnels = Tunnels {
    hops: 1,
    more_sources: [0; 2],
};

type FlowKey = (Address, Address, u32, Protocol);

impl Host {
    pub(super) fn new(
        services: Vec<Tuple>,
        [target, former]: [Target; 2],
        translations: Translations,
    ) -> Self {
        Self {
            services,
            target,
            former,
            by_former: 0,
            flows: HashMap::new(),
            routes: HashMap::new(),
            translations,
        }
    }

    /// What becomes of a frame, which is changed as the program would.
    pub(super) fn run(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let came = vlan::tags(&mut cursor(frame));
        let taken = vlan::take_off(&mut cursor(frame), came.count());
        assert!(taken.is_some() || came == Tags::NONE);
        frame.drain(..Tags::BYTES * came.count());
        self.translations.came = came;
        let verdict = self.untagged(frame);
        let exit = match verdict {
            Verdict::Forwarded => self.target.exit.tags.with_priority_of(came),
            Verdict::Returned => match self.translations.returns {
                Exit::SAME => came,
                exit => exit.tags.with_priority_of(came),
            },
            verdict if super::action(verdict) == XDP_DROP => Tags::NONE,
            _ => came,
        };
        frame.splice(0..0, vec![0xa5; Tags::BYTES * exit.count()]);
        let put = vlan::put_on(&mut cursor(frame), exit);
        put.expect("it has grown");
        verdict
    }

    fn untagged(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let Some(family) = parse::family(&mut cursor(frame)) else {
            return Verdict::NotOurs;
        };
        let addresses: BTreeSet<Address> = self.services.iter().map(|it| it.service).collect();
        match parse::packet(&mut cursor(&mut frame.clone()), family) {
            Ok(packet) if self.serves(&packet.flow.tuple) => {
                self.choose(frame, family, Shape::Packet, true)
            }
            Ok(_) => self.translations.back(frame, family, Shape::Packet),
            Err(Skip::Fragment { destination }) if addresses.contains(&destination) => {
                self.fragment(frame, family)
            }
            Err(Skip::Fragment { .. }) => self.translations.back(frame, family, Shape::Fragment),
            Err(Skip::Control { destination }) if addresses.contains(&destination) => {
                self.control(frame, family)
            }
            Err(Skip::Control { .. }) => self.translations.back(frame, family, Shape::Error),
            Err(Skip::NotOurs) => Verdict::NotOurs,
        }
    }

    fn serves(&self, tuple: &Tuple) -> bool {
        self.services.iter().any(|it| {
            (it.service, it.protocol) == (tuple.service, tuple.protocol)
                && it.ports.service() == tuple.ports.service()
        })
    }

    fn station(&self) -> Mac {
        self.target.way().source()
    }

    /// The target of a flow: that of its entry, else of the former ring or the present one.
    fn target_of(&mut self, flow: &Flow) -> Target {
        if let Some(known) = self.flows.get(&key(flow)) {
            return *known;
        }
        if former::may_be_older(flow) {
            self.by_former += 1;
            return self.former;
        }
        self.target
    }

    fn remember(&mut self, flow: &Flow, target: Target) {
        if flow.signal != Signal::Reset {
            self.flows.entry(key(flow)).or_insert(target);
        }
    }

    /// Sends a packet of a flow, or an error about one, to its target.
    fn choose(
        &mut self,
        frame: &mut Vec<u8>,
        family: Family,
        shape: Shape,
        tells: bool,
    ) -> Verdict {
        let mut copy = frame.clone();
        let mut read = cursor(&mut copy);
        let packet = match shape {
            Shape::Error => control::error(&mut read, family),
            _ => parse::packet(&mut read, family).ok(),
        };
        let flow = packet.expect("it was there before").flow;
        let target = self.target_of(&flow);
        if let Shape::Packet = shape
            && !self.refuses(&target, &mut frame.clone(), family)
        {
            self.remember(&flow, target);
        }
        self.send(frame, family, (shape, tells), target)
    }

    /// Sends what is in a frame to a target, or tells the sender why not.
    fn send(
        &mut self,
        frame: &mut Vec<u8>,
        family: Family,
        (shape, tells): (Shape, bool),
        target: Target,
    ) -> Verdict {
        let mut read = cursor(frame);
        let packet = match shape {
            Shape::Packet => parse::packet(&mut read, family).ok(),
            Shape::Fragment => fragment::fragment(&mut read, family).map(|it| it.packet),
            Shape::Error => control::error(&mut read, family),
        };
        let mut packet = packet.expect("it was there before");
        if let Shape::Fragment = shape {
            packet.flow.tuple.ports = Ports::new(0, 0);
        }
        let written = self.write(packet, &target);
        let refused = match written {
            Ok(envelope) => return enclose(frame, &envelope, target),
            Err(Unwritten::ToTranslate) => match self.translations.there(frame, family, shape) {
                Ok(()) => return Verdict::Forwarded,
                Err(verdict) => verdict,
            },
            Err(Unwritten::Refused(verdict)) => verdict,
        };
        match cause(refused, target.mtu) {
            None => refused,
            Some(_) if !tells => Verdict::ReplySilent,
            Some(cause) => {
                let told = self.tell(frame, family, cause);
                told.map_or_else(|it| it, |()| refused)
            }
        }
    }

    fn write(&self, packet: parse::Packet<'_>, target: &Target) -> Result<Envelope, Unwritten> {
        let station = || self.station();
        forward::write(
            packet,
            &target.way(),
            || target.address,
            station,
            || TUNNELS,
        )
    }

    /// Whether a packet does not go to a target, so that its flow is not remembered.
    fn refuses(&self, target: &Target, frame: &mut [u8], family: Family) -> bool {
        let packet = parse::packet(&mut cursor(frame), family).expect("it was there before");
        matches!(self.write(packet, target), Err(Unwritten::Refused(_)))
    }

    fn tell(&self, frame: &mut Vec<u8>, family: Family, cause: Cause) -> Result<(), Verdict> {
        let mut copy = frame.clone();
        let reply = match parse::packet(&mut cursor(&mut copy), family) {
            Ok(mut packet) => Reply::of(&mut packet, cause),
            Err(_) => {
                let mut copy = frame.clone();
                let fragment = fragment::fragment(&mut cursor(&mut copy), family);
                let mut packet = fragment.expect("it was there before").packet;
                Reply::of(&mut packet, cause)
            }
        };
        let reply = reply.ok_or(Verdict::ReplySilent)?;
        frame.splice(0..0, vec![0xa5; reply.growth()]);
        frame.resize(reply.length() as usize, 0);
        let quoted = reply.quoted(&mut cursor(frame)).expect("it is long enough");
        reply
            .write(&mut cursor(frame), quoted)
            .expect("it is long enough");
        Ok(())
    }

    fn fragment(&mut self, frame: &mut Vec<u8>, family: Family) -> Verdict {
        let mut copy = frame.clone();
        let Some(mut fragment) = fragment::fragment(&mut cursor(&mut copy), family) else {
            return Verdict::FragmentUnknown;
        };
        if fragment.packet.frame.ethernet().destination.mac() != self.station() {
            return Verdict::NotOurs;
        }
        let tuple = fragment.packet.flow.tuple;
        let key = FragmentKey::new(&tuple, fragment.id);
        let is_first = fragment.is_first;
        if is_first {
            let target = self.serves(&tuple).then(|| {
                let flow = fragment.packet.flow;
                let target = self.target_of(&flow);
                self.remember(&flow, target);
                target
            });
            self.routes.insert(key, target);
        }
        match self.routes.get(&key) {
            None => Verdict::FragmentUnknown,
            Some(None) => Verdict::NotOurs,
            Some(Some(target)) => self.send(frame, family, (Shape::Fragment, is_first), *target),
        }
    }

    fn control(&mut self, frame: &mut Vec<u8>, family: Family) -> Verdict {
        if let Some(error) = control::error(&mut cursor(&mut frame.clone()), family) {
            return match self.serves(&error.flow.tuple) {
                true => self.choose(frame, family, Shape::Error, false),
                false => Verdict::NotOurs,
            };
        }
        match control::answer_echo(&mut cursor(frame), family, self.station()) {
            Some(()) => Verdict::EchoAnswered,
            None => Verdict::NotOurs,
        }
    }
}

fn enclose(frame: &mut Vec<u8>, envelope: &Envelope, target: Target) -> Verdict {
    let growth = envelope.growth();
    if growth > 0 {
        frame.splice(0..0, vec![0xa5; growth]);
        let written = envelope.write(&mut cursor(frame), &target.way(), &target);
        written.expect("it has grown");
    }
    Verdict::Forwarded
}

fn key(flow: &Flow) -> FlowKey {
    let tuple = flow.tuple;
    (
        tuple.client,
        tuple.service,
        tuple.ports.word(),
        tuple.protocol,
    )
}

pub(super) fn cursor(frame: &mut [u8]) -> Cursor<'_> {
    Cursor::from(frame)
}

/// What the sender is told, if it is.
fn cause(verdict: Verdict, mtu: u16) -> Option<Cause> {
    match verdict {
        Verdict::TooBig => Some(Cause::TooBig(mtu)),
        Verdict::TtlExpired => Some(Cause::Expired),
        Verdict::Untranslated => Some(Cause::Rejected),
        _ => None,
    }
}
