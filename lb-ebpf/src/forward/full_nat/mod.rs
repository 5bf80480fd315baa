//! The packet gets other addresses and ports: to the backend it comes from the edge, and what the backend
//! answers comes from the service. The backend needs nothing for that, and never sees who its client is.

pub mod error;

use lb_common::{Address, Mac, Nat, Ports, Protocol, Tuple};

use super::{hop, l2_dsr};
use crate::{
    checksum::Change,
    cursor::Cursor,
    header::{FrameV4, FrameV6, Tcp, Udp},
    load,
    parse::{Family, Flow, Frame, Packet},
    store, word,
};

#[cfg(test)]
mod tests;

/// The tuple with which packets of a flow go to a backend, from this port of the edge.
#[inline(always)]
pub fn there(flow: &Flow, backend: Address, nat: &Nat, port: u16) -> Tuple {
    let theirs = match nat.port {
        [0, 0] => flow.tuple.ports.service(),
        port => u16::from_be_bytes(port),
    };
    Tuple {
        client: nat.source,
        service: backend,
        ports: Ports::new(port, theirs),
        protocol: flow.tuple.protocol,
    }
}

/// Where a packet is to be changed: its headers are found by numbers and not by references, since the
/// verifier would go all that is done with these once more for every chain of headers that leads there.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    family: Family,
    /// Bytes of options or extension headers.
    between: u64,
    /// Whether its TCP or UDP header is there: of a packet's fragments the first alone has it.
    has_ports: bool,
}

/// Bytes of options or extension headers that a translated packet may have, and a mask.
const MOST_BETWEEN: u64 = 1023;

impl Place {
    /// Of a packet, which may be a fragment; `None` if more than 1,023 bytes stand in front of what it carries.
    #[inline(always)]
    pub fn of(packet: &Packet<'_>, has_ports: bool) -> Option<Self> {
        Self::at(packet.frame.family(), packet.payload, has_ports)
    }

    /// The same of one whose payload begins at this byte of the frame.
    #[inline(always)]
    pub fn at(family: Family, payload: u16, has_ports: bool) -> Option<Self> {
        let headers = match family {
            Family::V4 => size_of::<FrameV4>(),
            Family::V6 => size_of::<FrameV6>(),
        };
        let between = u64::from(payload).wrapping_sub(headers as u64);
        let between = (between <= MOST_BETWEEN).then(|| word::unbounded(between))?;
        Some(Self {
            family,
            between,
            has_ports,
        })
    }
}

/// Makes a packet, whose frame begins at the cursor, one of another tuple of the same family, on its way
/// to `next_hop`. Its client is the sender and its service the receiver. `None`, and it must not be sent, if
/// its time to live ends here or it is no such packet.
#[inline(always)]
pub fn write(
    cursor: &mut Cursor<'_>,
    place: Place,
    [from, to]: [&Tuple; 2],
    [next_hop, source]: [Mac; 2],
) -> Option<()> {
    let mut frame = match place.family {
        Family::V4 => Frame::V4(cursor.take()?),
        Family::V6 => Frame::V6(cursor.take()?),
    };
    hop::take(&mut frame, 1)?;
    l2_dsr::write(frame.ethernet(), next_hop, source);
    let change = match frame {
        Frame::V4(frame) => readdress_v4(frame, from, to),
        Frame::V6(frame) => readdress_v6(frame, from, to),
    };
    if place.has_ports {
        // Else the verifier does not know how much that is at most.
        cursor.skip((place.between & MOST_BETWEEN) as u16)?;
        let change = change.word(from.ports.word(), to.ports.word());
        match from.protocol {
            Protocol::TCP => tcp(cursor.take()?, to.ports, change),
            _ => udp(cursor.take()?, to.ports, change),
        }
    }
    Some(())
}

#[inline(always)]
fn readdress_v4(frame: &mut FrameV4, from: &Tuple, to: &Tuple) -> Change {
    let change = Change::default()
        .word(last(from.client), last(to.client))
        .word(last(from.service), last(to.service));
    let checksum = change.apply(load!(FrameV4, frame.ip.check as u16));
    store!(FrameV4, frame.ip.src_addr as put_u32, last(to.client));
    store!(FrameV4, frame.ip.dst_addr as put_u32, last(to.service));
    store!(FrameV4, frame.ip.check as put_u16, checksum);
    change
}

/// The word in which IPv4 addresses differ.
#[inline(always)]
fn last(address: Address) -> u32 {
    address.words()[3]
}

#[inline(always)]
fn readdress_v6(frame: &mut FrameV6, from: &Tuple, to: &Tuple) -> Change {
    const SOURCE: usize = core::mem::offset_of!(FrameV6, ip.src_addr);
    let [client, service] = [to.client.words(), to.service.words()];
    word::put_words::<SOURCE, 4, _>(frame, &client);
    word::put_words::<{ SOURCE + 16 }, 4, _>(frame, &service);
    Change::default()
        .quads(from.client.words(), client)
        .quads(from.service.words(), service)
}

#[inline(always)]
fn tcp(header: &mut Tcp, ports: Ports, change: Change) {
    let checksum = change.apply(load!(Tcp, header.checksum as u16));
    store!(Tcp, header.ports as put_u32, ports.word());
    store!(Tcp, header.checksum as put_u16, checksum);
}

#[inline(always)]
fn udp(header: &mut Udp, ports: Ports, change: Change) {
    let checksum = datagram_checksum(load!(Udp, header.checksum as u16), change);
    store!(Udp, header.ports as put_u32, ports.word());
    store!(Udp, header.checksum as put_u16, checksum);
}

/// The checksum of UDP afterwards: 0 says that there is none (RFC 768), and so no other may become 0.
#[inline(always)]
fn datagram_checksum(checksum: u16, change: Change) -> u16 {
    match change.apply(checksum) {
        _ if checksum == 0 => 0,
        0 => u16::MAX,
        changed => changed,
    }
}
