//! The program's packet code on this host, with tables of one target.

use std::collections::{BTreeSet, HashMap};

use lb_common::{Address, FragmentKey, Mac, Target, Tuple, Verdict};
use lb_ebpf::{
    control,
    cursor::Cursor,
    forward::{self, Envelope, Tunnel, Unwritten},
    fragment,
    parse::{self, Family, Packet, Skip},
    reply::{Cause, Reply},
};

/// An edge with services that all lead to one target.
pub(super) struct Host {
    pub(super) services: Vec<Tuple>,
    pub(super) target: Target,
    /// Whether the fragments of a packet go to the target; else they are the host's own.
    routes: HashMap<FragmentKey, bool>,
}

impl Host {
    pub(super) fn new(services: Vec<Tuple>, target: Target) -> Self {
        Self {
            services,
            target,
            routes: HashMap::new(),
        }
    }

    /// What becomes of a frame, which is changed as the program would.
    pub(super) fn run(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let Some(family) = parse::family(&mut cursor(frame)) else {
            return Verdict::NotOurs;
        };
        let addresses: BTreeSet<Address> = self.services.iter().map(|it| it.service).collect();
        match parse::packet(&mut cursor(&mut frame.clone()), family) {
            Ok(packet) if self.serves(&packet.flow.tuple) => {
                self.send(frame, family, true, |cursor| {
                    parse::packet(cursor, family).ok()
                })
            }
            Err(Skip::Fragment { destination }) if addresses.contains(&destination) => {
                self.fragment(frame, family)
            }
            Err(Skip::Control { destination }) if addresses.contains(&destination) => {
                self.control(frame, family)
            }
            _ => Verdict::NotOurs,
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

    /// Sends what `packet` finds in a frame to the target, or tells the sender why not.
    fn send(
        &self,
        frame: &mut Vec<u8>,
        family: Family,
        tells: bool,
        packet: impl for<'p> Fn(&mut Cursor<'p>) -> Option<Packet<'p>>,
    ) -> Verdict {
        let found = packet(&mut cursor(frame)).expect("it was there before");
        match forward::write(found, &self.target.way(), || self.target.address) {
            Ok(envelope) => self.enclose(frame, &envelope),
            Err(Unwritten::ToTranslate) => unreachable!("no target is of full-nat"),
            Err(Unwritten::Refused(verdict)) => match cause(verdict, self.target.mtu) {
                None => verdict,
                Some(_) if !tells => Verdict::ReplySilent,
                Some(cause) => self
                    .tell(frame, family, cause)
                    .map_or_else(|it| it, |()| verdict),
            },
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
            let written = envelope.write(&mut cursor(frame), &self.target.way(), &tunnel);
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
            Some(true) => self.send(frame, family, fragment.is_first, |cursor| {
                Some(fragment::fragment(cursor, family)?.packet)
            }),
        }
    }

    fn control(&self, frame: &mut Vec<u8>, family: Family) -> Verdict {
        if let Some(error) = control::error(&mut cursor(&mut frame.clone()), family) {
            return match self.serves(&error.flow.tuple) {
                true => self.send(frame, family, false, |cursor| {
                    control::error(cursor, family)
                }),
                false => Verdict::NotOurs,
            };
        }
        match control::answer_echo(&mut cursor(frame), family, self.station()) {
            Some(()) => Verdict::EchoAnswered,
            None => Verdict::NotOurs,
        }
    }
}

fn cursor(frame: &mut [u8]) -> Cursor<'_> {
    Cursor::from(frame)
}

/// What the sender is told, if it is.
fn cause(verdict: Verdict, mtu: u16) -> Option<Cause> {
    match verdict {
        Verdict::TooBig => Some(Cause::TooBig(mtu)),
        Verdict::TtlExpired => Some(Cause::Expired),
        _ => None,
    }
}
