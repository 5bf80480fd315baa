//! The program's packet code on this host, with tables of one target.

use std::collections::{BTreeSet, HashMap};

use lb_common::{Address, Exit, FragmentKey, Mac, Ports, Tags, Target, Tuple, Verdict};
use lb_ebpf::{
    control,
    cursor::Cursor,
    forward::{self, Envelope, Tunnel, Tunnels, Unwritten},
    fragment,
    parse::{self, Family, Skip},
    reply::{Cause, Reply},
    vlan,
};
use lb_tests::datapath::edge::XDP_DROP;

use super::translations::{Shape, Translations};

/// An edge with services that all lead to one target.
pub(super) struct Host {
    pub(super) services: Vec<Tuple>,
    pub(super) target: Target,
    /// What is set for tunnels.
    tunnels: Tunnels,
    /// Whether the fragments of a packet go to the target; else they are the host's own.
    routes: HashMap<FragmentKey, bool>,
    pub(super) translations: Translations,
}

impl Host {
    pub(super) fn new(services: Vec<Tuple>, target: Target, translations: Translations) -> Self {
        Self {
            services,
            target,
            tunnels: Tunnels {
                hops: 1,
                more_sources: [0; 2],
            },
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
                self.send(frame, family, Shape::Packet, true)
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

    /// Sends what is in a frame to the target, or tells the sender why not.
    fn send(&mut self, frame: &mut Vec<u8>, family: Family, shape: Shape, tells: bool) -> Verdict {
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
        let written = forward::write(
            packet,
            &self.target.way(),
            || self.target.address,
            || self.station(),
            &self.tunnels,
        );
        let refused = match written {
            Ok(envelope) => return self.enclose(frame, &envelope),
            Err(Unwritten::ToTranslate) => match self.translations.there(frame, family, shape) {
                Ok(()) => return Verdict::Forwarded,
                Err(verdict) => verdict,
            },
            Err(Unwritten::Refused(verdict)) => verdict,
        };
        match cause(refused, self.target.mtu) {
            None => refused,
            Some(_) if !tells => Verdict::ReplySilent,
            Some(cause) => {
                let told = self.tell(frame, family, cause);
                told.map_or_else(|it| it, |()| refused)
            }
        }
    }

    fn enclose(&self, frame: &mut Vec<u8>, envelope: &Envelope) -> Verdict {
        let growth = envelope.growth();
        if growth > 0 {
            frame.splice(0..0, vec![0xa5; growth]);
            let tunnel = Tunnel {
                address: self.target.address,
                outer: self.target.outer,
            };
            let (way, port) = (self.target.way(), || self.target.nat.port);
            let written = envelope.write(&mut cursor(frame), &way, &tunnel, port);
            written.expect("it has grown");
        }
        Verdict::Forwarded
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
        if fragment.is_first {
            self.routes.insert(key, self.serves(&tuple));
        }
        match self.routes.get(&key) {
            None => Verdict::FragmentUnknown,
            Some(false) => Verdict::NotOurs,
            Some(true) => self.send(frame, family, Shape::Fragment, fragment.is_first),
        }
    }

    fn control(&mut self, frame: &mut Vec<u8>, family: Family) -> Verdict {
        if let Some(error) = control::error(&mut cursor(&mut frame.clone()), family) {
            return match self.serves(&error.flow.tuple) {
                true => self.send(frame, family, Shape::Error, false),
                false => Verdict::NotOurs,
            };
        }
        match control::answer_echo(&mut cursor(frame), family, self.station()) {
            Some(()) => Verdict::EchoAnswered,
            None => Verdict::NotOurs,
        }
    }
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
