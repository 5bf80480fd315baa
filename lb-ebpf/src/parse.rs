//! From the bytes of a frame to the flow that it belongs to.

use lb_common::{Address, Ports, Protocol, Tuple};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use crate::{
    cursor::Cursor,
    header::{Ethernet, Extension, FrameV4, FrameV6, Tcp, Udp},
    load,
};

#[cfg(test)]
mod tests;

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flow {
    /// Which flow it belongs to.
    pub tuple: Tuple,
    /// What it does to its connection.
    pub signal: Signal,
    /// Bytes of the IP packet with its header, without the padding of a short frame.
    pub ip_length: u32,
}

/// What a packet does to its connection (RFC 9293, 3.5 and 3.6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// SYN without ACK: it opens a new one.
    Open,
    /// FIN: one side has said all it had to say.
    Finish,
    /// RST: it is over.
    Reset,
    /// None of these; all of UDP.
    Data,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A packet taken apart. What forwards it changes the headers in place.
#[derive(Debug)]
pub struct Packet<'p> {
    /// Its headers.
    pub frame: Frame<'p>,
    /// What they say.
    pub flow: Flow,
    /// Its TCP segment, if that is what it carries.
    pub segment: Option<Segment<'p>>,
    /// Where in the frame what it carries begins: the header of TCP or UDP, or a part of it.
    pub payload: u16,
}

/// A TCP segment.
#[derive(Debug)]
pub struct Segment<'p> {
    /// Its header, without options.
    pub header: &'p mut Tcp,
    /// Bytes of header, options and data.
    pub length: u32,
}

/// The headers that a frame begins with.
#[derive(Debug)]
pub enum Frame<'p> {
    /// The last is of IPv4, without options.
    V4(&'p mut FrameV4),
    /// The last is of IPv6, without extension headers.
    V6(&'p mut FrameV6),
}

impl Frame<'_> {
    /// The first of them.
    #[inline(always)]
    pub fn ethernet(&mut self) -> &mut Ethernet {
        match self {
            Self::V4(frame) => &mut frame.ethernet,
            Self::V6(frame) => &mut frame.ethernet,
        }
    }

    /// The version of IP.
    #[inline(always)]
    pub fn family(&self) -> Family {
        match self {
            Self::V4(_) => Family::V4,
            Self::V6(_) => Family::V6,
        }
    }
}

/// Why a frame has no flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Skip {
    /// A fragment of what may be TCP or UDP: only the first one of a packet has ports.
    Fragment {
        /// Where it goes, possibly to a service.
        destination: Address,
    },
    /// An ICMP message, of whatever kind.
    Control {
        /// Where it goes, possibly to a service.
        destination: Address,
    },
    /// No whole TCP segment or UDP datagram to one station. Nothing is said about what it is then.
    NotOurs,
}

/// Most IPv6 extension headers that are walked.
const EXTENSIONS: usize = 8;

/// Protocol numbers of IPv6 extension headers (RFC 8200, 4; RFC 4302).
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
}

/// The version of IP in a frame to one station; `None` for all other frames.
///
/// TCP has one receiver (RFC 9293, MUST-57), and a datagram to many is for more than a backend. Were
/// such a frame forwarded, each of several edges would send a copy.
#[inline(always)]
pub fn family(cursor: &mut Cursor<'_>) -> Option<Family> {
    const V4: u16 = u16::from_ne_bytes(Ethernet::IPV4);
    const V6: u16 = u16::from_ne_bytes(Ethernet::IPV6);
    let ethernet: &mut Ethernet = cursor.take()?;
    match load!(Ethernet, ethernet.ether_type as u16) {
        _ if ethernet.destination.is_multicast() => None,
        V4 => Some(Family::V4),
        V6 => Some(Family::V6),
        _ => None,
    }
}

/// The packet in a frame that holds one of this family. It writes nothing.
#[inline(always)]
pub fn packet<'p>(cursor: &mut Cursor<'p>, family: Family) -> Result<Packet<'p>, Skip> {
    match family {
        Family::V4 => ipv4(cursor),
        Family::V6 => ipv6(cursor),
    }
}

/// The packet in a frame of IPv4, if it is as most are: without options, no fragment, and neither the first nor the
/// last of its flow. It writes nothing.
#[inline(always)]
pub fn plain<'p>(cursor: &mut Cursor<'p>) -> Option<Packet<'p>> {
    let frame: &mut FrameV4 = cursor.take()?;
    let ip_length = usize::from(u16::from_be(load!(FrameV4, frame.ip.tot_len as u16)));
    let is_part = load!(FrameV4, frame.ip.frags as u16) & MORE_OR_OFFSET != 0;
    if frame.ip.vihl != PLAIN || is_part || ip_length > Ipv4Hdr::LEN + cursor.remaining() {
        return None;
    }
    let protocol = Protocol(frame.ip.proto);
    let payload = ip_length.checked_sub(Ipv4Hdr::LEN)?;
    let (ports, segment, signal) = transport(cursor, protocol, payload)?;
    if signal != Signal::Data {
        return None;
    }
    let tuple = Tuple {
        client: Address::of_v4_word(load!(FrameV4, frame.ip.src_addr as u32)),
        service: Address::of_v4_word(load!(FrameV4, frame.ip.dst_addr as u32)),
        ports,
        protocol,
    };
    Some(Packet {
        frame: Frame::V4(frame),
        flow: Flow {
            tuple,
            signal: Signal::Data,
            ip_length: ip_length as u32,
        },
        segment,
        payload: size_of::<FrameV4>() as u16,
    })
}

#[inline(always)]
fn ipv4<'p>(cursor: &mut Cursor<'p>) -> Result<Packet<'p>, Skip> {
    let frame: &mut FrameV4 = cursor.take().ok_or(Skip::NotOurs)?;
    let ip_length = usize::from(u16::from_be(load!(FrameV4, frame.ip.tot_len as u16)));
    let options = options(frame.ip.vihl).ok_or(Skip::NotOurs)?;
    if ip_length > Ipv4Hdr::LEN + cursor.remaining() {
        return Err(Skip::NotOurs);
    }
    let payload = ip_length.checked_sub(Ipv4Hdr::LEN + usize::from(options));
    let payload = payload.ok_or(Skip::NotOurs)?;
    let protocol = Protocol(frame.ip.proto);
    let service = Address::of_v4_word(load!(FrameV4, frame.ip.dst_addr as u32));
    if load!(FrameV4, frame.ip.frags as u16) & MORE_OR_OFFSET != 0 && is_served(protocol) {
        return Err(Skip::Fragment {
            destination: service,
        });
    }
    if protocol == Protocol::ICMP {
        return Err(Skip::Control {
            destination: service,
        });
    }
    cursor.skip(options).ok_or(Skip::NotOurs)?;
    let Some((ports, segment, signal)) = transport(cursor, protocol, payload) else {
        return Err(Skip::NotOurs);
    };
    let client = Address::of_v4_word(load!(FrameV4, frame.ip.src_addr as u32));
    Ok(Packet {
        frame: Frame::V4(frame),
        flow: Flow {
            tuple: Tuple {
                client,
                service,
                ports,
                protocol,
            },
            signal,
            ip_length: ip_length as u32,
        },
        segment,
        payload: size_of::<FrameV4>() as u16 + options,
    })
}

/// The first byte of an IPv4 header without options: version and length.
pub(crate) const PLAIN: u8 = 0x45;

/// Bytes of the options of an IPv4 header that begins with this byte; `None` if there is none that does.
#[inline(always)]
pub(crate) fn options(vihl: u8) -> Option<u16> {
    let options = u16::from(vihl.wrapping_sub(PLAIN)) * 4;
    // Any other version, or a header that is too short, makes a number behind all options.
    (options <= 40).then_some(options)
}

/// In IPv4's word of flags and fragment offset: more fragments follow, or this is not the first.
pub(crate) const MORE_OR_OFFSET: u16 = 0x3fff_u16.to_be();

/// In the same: this is not the first.
pub(crate) const OFFSET: u16 = 0x1fff_u16.to_be();

#[inline(always)]
fn ipv6<'p>(cursor: &mut Cursor<'p>) -> Result<Packet<'p>, Skip> {
    let frame: &mut FrameV6 = cursor.take().ok_or(Skip::NotOurs)?;
    let payload = usize::from(u16::from_be(load!(FrameV6, frame.ip.payload_len as u16)));
    if frame.ip.vcf[0] >> 4 != 6 || payload > cursor.remaining() {
        return Err(Skip::NotOurs);
    }
    let service = Address::of_words(load!(FrameV6, frame.ip.dst_addr as quads));
    let before = cursor.remaining();
    let protocol = extensions(cursor, frame.ip.next_hdr, service)?;
    let extensions = before - cursor.remaining();
    if protocol == Protocol::ICMPV6 {
        return Err(Skip::Control {
            destination: service,
        });
    }
    let left = payload.checked_sub(extensions).ok_or(Skip::NotOurs)?;
    let Some((ports, segment, signal)) = transport(cursor, protocol, left) else {
        return Err(Skip::NotOurs);
    };
    let client = Address::of_words(load!(FrameV6, frame.ip.src_addr as quads));
    Ok(Packet {
        frame: Frame::V6(frame),
        flow: Flow {
            tuple: Tuple {
                client,
                service,
                ports,
                protocol,
            },
            signal,
            ip_length: (Ipv6Hdr::LEN + payload) as u32,
        },
        segment,
        payload: (size_of::<FrameV6>() + extensions) as u16,
    })
}

/// Goes over the extension headers, of which the first is of type `next`, to what they stand before.
///
/// A fragment that is a whole packet (RFC 6946) is one.
#[inline(always)]
fn extensions(cursor: &mut Cursor<'_>, next: u8, destination: Address) -> Result<Protocol, Skip> {
    let mut next = next;
    for _ in 0..EXTENSIONS {
        if !is_extension(next) {
            break;
        }
        let header: &mut Extension = cursor.take().ok_or(Skip::NotOurs)?;
        let more = match next {
            extension::FRAGMENT if load!(Extension, header.fragment as u16) & PART == 0 => 0,
            extension::FRAGMENT
                if is_served(Protocol(header.next)) || is_extension(header.next) =>
            {
                return Err(Skip::Fragment { destination });
            }
            extension::FRAGMENT => return Err(Skip::NotOurs),
            // Its length counts words of four bytes, without two of them.
            extension::AUTHENTICATION => u16::from(header.length) * 4,
            // Others count eight bytes each, without the first.
            _ => u16::from(header.length) * 8,
        };
        next = header.next;
        cursor.skip(more).ok_or(Skip::NotOurs)?;
    }
    Ok(Protocol(next))
}

/// In the word of a fragment header: a fragment offset.
pub(crate) const OFFSET_V6: u16 = 0xfff8_u16.to_be();

/// In the word of a fragment header: a fragment offset, or more fragments follow.
pub(crate) const PART: u16 = 0xfff9_u16.to_be();

#[inline(always)]
fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        extension::HOP_BY_HOP
            | extension::ROUTING
            | extension::FRAGMENT
            | extension::AUTHENTICATION
            | extension::DESTINATION
    )
}

/// Whether a service can have this protocol.
#[inline(always)]
fn is_served(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::TCP | Protocol::UDP)
}

/// Ports and signal do not stand side by side: the compiler would take them for one word, and the verifier go all
/// that a port decides once for each signal.
type Transport<'p> = (Ports, Option<Segment<'p>>, Signal);

/// What stands at the beginning of an IP packet's payload of `length` bytes, if it is whole.
#[inline(always)]
fn transport<'p>(
    cursor: &mut Cursor<'p>,
    protocol: Protocol,
    length: usize,
) -> Option<Transport<'p>> {
    match protocol {
        Protocol::TCP => tcp(cursor, length),
        Protocol::UDP => udp(cursor, length),
        _ => None,
    }
}

#[inline(always)]
fn tcp<'p>(cursor: &mut Cursor<'p>, length: usize) -> Option<Transport<'p>> {
    let tcp: &mut Tcp = cursor.take()?;
    let header = usize::from(tcp.data_offset >> 4) * 4;
    if header < size_of::<Tcp>() || header > length {
        return None;
    }
    let ports = Ports::of_word(load!(Tcp, tcp.ports as u32));
    let signal = signal(tcp.flags);
    let segment = Segment {
        header: tcp,
        length: length as u32,
    };
    Some((ports, Some(segment), signal))
}

#[inline(always)]
fn udp<'p>(cursor: &mut Cursor<'p>, length: usize) -> Option<Transport<'p>> {
    let udp: &mut Udp = cursor.take()?;
    let datagram = usize::from(u16::from_be(load!(Udp, udp.length as u16)));
    if datagram < size_of::<Udp>() || datagram > length {
        return None;
    }
    let ports = Ports::of_word(load!(Udp, udp.ports as u32));
    Some((ports, None, Signal::Data))
}

/// TCP flags (RFC 9293, 3.1).
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

#[inline(always)]
pub(crate) fn signal(flags: u8) -> Signal {
    // Most segments have none of these, so one look at them is enough.
    if flags & (FIN | SYN | RST) == 0 {
        Signal::Data
    } else if flags & RST != 0 {
        Signal::Reset
    } else if flags & FIN != 0 {
        Signal::Finish
    } else if flags & (SYN | ACK) == SYN {
        Signal::Open
    } else {
        Signal::Data
    }
}
