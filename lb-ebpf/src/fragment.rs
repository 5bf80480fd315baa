//! Fragments: only the first of a packet says which flow it belongs to, the others follow it.

use lb_common::{Address, Ports, Protocol, Tuple};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use crate::{
    cursor::Cursor,
    header::{Extension, FrameV4, FrameV6, Tcp, Udp},
    load,
    parse::{self, Family, Flow, Frame, Packet, Signal},
};

/// A fragment of a packet.
#[derive(Debug)]
pub struct Fragment<'p> {
    /// Its headers and what they say; the ports of one that is not the first are 0.
    pub packet: Packet<'p>,
    /// The identification of that packet, as it stands in this one.
    pub id: u32,
    /// Whether it is the first.
    pub is_first: bool,
}

/// The fragment in a frame that holds one of this family; `None` if it is none, or a first one that
/// lacks a whole TCP or UDP header (RFC 1858, 3). It writes nothing.
///
/// IPv6's other extension headers may not stand before the fragment header: hosts send none there.
#[inline(always)]
pub fn fragment<'p>(cursor: &mut Cursor<'p>, family: Family) -> Option<Fragment<'p>> {
    match family {
        Family::V4 => ipv4(cursor),
        Family::V6 => ipv6(cursor),
    }
}

#[inline(always)]
fn ipv4<'p>(cursor: &mut Cursor<'p>) -> Option<Fragment<'p>> {
    let frame: &mut FrameV4 = cursor.take()?;
    let length = usize::from(u16::from_be(load!(FrameV4, frame.ip.tot_len as u16)));
    let options = parse::options(frame.ip.vihl)?;
    let part = load!(FrameV4, frame.ip.frags as u16);
    let is_whole = part & parse::MORE_OR_OFFSET == 0;
    if is_whole || length > Ipv4Hdr::LEN + cursor.remaining() {
        return None;
    }
    let carried = length.checked_sub(Ipv4Hdr::LEN + usize::from(options))?;
    cursor.skip(options)?;
    let protocol = Protocol(frame.ip.proto);
    let is_first = part & parse::OFFSET == 0;
    let (ports, signal) = beginning(cursor, protocol, is_first, carried)?;
    let tuple = Tuple {
        client: Address::of_v4_word(load!(FrameV4, frame.ip.src_addr as u32)),
        service: Address::of_v4_word(load!(FrameV4, frame.ip.dst_addr as u32)),
        ports,
        protocol,
    };
    let id = load!(FrameV4, frame.ip.id as u16).into();
    let payload = size_of::<FrameV4>() as u16 + options;
    let packet = packet(Frame::V4(frame), tuple, signal, [length, payload.into()]);
    Some(Fragment {
        packet,
        id,
        is_first,
    })
}

#[inline(always)]
fn ipv6<'p>(cursor: &mut Cursor<'p>) -> Option<Fragment<'p>> {
    let frame: &mut FrameV6 = cursor.take()?;
    let payload = usize::from(u16::from_be(load!(FrameV6, frame.ip.payload_len as u16)));
    let is_one = frame.ip.vcf[0] >> 4 == 6 && frame.ip.next_hdr == Protocol::FRAGMENT.0;
    if !is_one || payload > cursor.remaining() {
        return None;
    }
    let header: &mut Extension = cursor.take()?;
    let carried = payload.checked_sub(size_of::<Extension>())?;
    let part = load!(Extension, header.fragment as u16);
    if part & parse::PART == 0 {
        return None;
    }
    let protocol = Protocol(header.next);
    let is_first = part & parse::OFFSET_V6 == 0;
    let (ports, signal) = beginning(cursor, protocol, is_first, carried)?;
    let tuple = Tuple {
        client: Address::of_words(load!(FrameV6, frame.ip.src_addr as quads)),
        service: Address::of_words(load!(FrameV6, frame.ip.dst_addr as quads)),
        ports,
        protocol,
    };
    let id = load!(Extension, header.rest as u32);
    let at = size_of::<FrameV6>() + size_of::<Extension>();
    let packet = packet(
        Frame::V6(frame),
        tuple,
        signal,
        [Ipv6Hdr::LEN + payload, at],
    );
    Some(Fragment {
        packet,
        id,
        is_first,
    })
}

/// The ports that the first fragment begins with, and what it does to its connection; of the others
/// nothing is known. It must carry the whole header: what stands behind is padding of the frame.
#[inline(always)]
fn beginning(
    cursor: &mut Cursor<'_>,
    protocol: Protocol,
    is_first: bool,
    carried: usize,
) -> Option<(Ports, Signal)> {
    match protocol {
        _ if !is_first => Some((Ports::of_word(0), Signal::Data)),
        Protocol::TCP if carried >= size_of::<Tcp>() => {
            let tcp: &mut Tcp = cursor.take()?;
            let ports = Ports::of_word(load!(Tcp, tcp.ports as u32));
            Some((ports, parse::signal(tcp.flags)))
        }
        Protocol::UDP if carried >= size_of::<Udp>() => {
            let udp: &mut Udp = cursor.take()?;
            let ports = Ports::of_word(load!(Udp, udp.ports as u32));
            Some((ports, Signal::Data))
        }
        _ => None,
    }
}

#[inline(always)]
fn packet(
    frame: Frame<'_>,
    tuple: Tuple,
    signal: Signal,
    [length, payload]: [usize; 2],
) -> Packet<'_> {
    Packet {
        frame,
        flow: Flow {
            tuple,
            signal,
            ip_length: length as u32,
        },
        segment: None,
        payload: payload as u16,
    }
}
