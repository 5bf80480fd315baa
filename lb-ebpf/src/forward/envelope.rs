//! What is put around a packet that travels inside another one. That one's sender is this edge, and its
//! family is that of the backend's address. The backend takes the packet out, finds the service address on
//! itself, and answers the client directly.

use lb_common::{Address, Mac, Outer, Protocol, Target, Tuple, Way};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::{gue, l2_dsr};
use crate::{
    cursor::Cursor,
    header::{Ethernet, FrameV4, FrameV6},
    load,
    parse::{Family, Frame},
    store, word,
};

/// Where a tunnel leads, of which is read what is needed.
pub trait Tunnel {
    /// Word `index` of the backend's address.
    fn address_word(&self, index: usize) -> u32;

    /// Word `index` of the rest of the outer header, an [`Outer`].
    fn outer_word(&self, index: usize) -> u32;

    /// Port of the backend, if it has one for tunnels.
    fn port(&self) -> [u8; 2];
}

impl Tunnel for Target {
    fn address_word(&self, index: usize) -> u32 {
        self.address.words()[index]
    }

    fn outer_word(&self, index: usize) -> u32 {
        self.outer.words()[index]
    }

    fn port(&self) -> [u8; 2] {
        self.nat.port
    }
}

/// Puts words, in their order, into the header behind that of Ethernet.
macro_rules! put {
    ($frame:ident, $words:ident, $($i:literal)+) => {
        $( word::put_u32::<{ size_of::<Ethernet>() + 4 * $i }, _>($frame, $words[$i]); )+
    };
}

/// An Ethernet header and an IP header, and what [`gue`] puts behind them, if something is put around a
/// packet. It holds no more than the packet decides, since everything else can be read once the frame has
/// grown.
///
/// Each part always has a value: the compiler may take whatever a register holds for one that has
/// none, and the verifier refuses that if it is a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    outer: Option<Family>,
    inner: Family,
    /// Where the outer header is of IPv4, its type of service; of IPv6, its version, traffic class and
    /// flow label, as they stand in memory.
    first: u32,
    /// Bytes behind the outer IP header.
    length: u32,
    /// In the low half the source port of a datagram with [`gue`]; 0 if the packet stands behind the IP
    /// header itself. In the high half the last bits of the sender's address, where those are not set.
    numbers: u32,
}

/// What is set for all tunnels.
#[derive(Clone, Copy, Debug)]
pub struct Tunnels {
    /// Hops that a tunnel takes off the time to live of what is inside: one (RFC 2003, 3.1), or none.
    pub hops: u8,
    /// How many more addresses than that of the edge outer headers come from, less than 2^16: one less than
    /// a power of two, for IPv4 and for IPv6.
    pub more_sources: [u32; 2],
}

impl Envelope {
    /// A packet of this family goes as it is.
    #[inline(always)]
    pub const fn none(inner: Family) -> Self {
        Self {
            outer: None,
            inner,
            first: 0,
            length: 0,
            numbers: 0,
        }
    }

    /// For a packet of `length` bytes with this header, on its way to `backend` (`ipip`: RFC 2003, RFC 2473,
    /// RFC 4213).
    #[inline(always)]
    pub fn ipip(
        frame: &Frame<'_>,
        flow: &Tuple,
        length: u32,
        backend: Address,
        tunnels: &Tunnels,
    ) -> Self {
        let [more_v4, more_v6] = tunnels.more_sources;
        let (outer, first, more) = match backend.is_v4() {
            true => (Family::V4, class(frame), more_v4),
            false => (Family::V6, first_word(frame, flow), more_v6),
        };
        Self {
            outer: Some(outer),
            inner: frame.family(),
            first,
            length,
            numbers: match more {
                0 => 0,
                more => (flow.label() & more) << 16,
            },
        }
    }

    /// The same in a datagram.
    #[inline(always)]
    pub fn gue(
        frame: &Frame<'_>,
        flow: &Tuple,
        length: u32,
        backend: Address,
        tunnels: &Tunnels,
    ) -> Self {
        let packet = Self::ipip(frame, flow, length + gue::LENGTH as u32, backend, tunnels);
        Self {
            numbers: packet.numbers | gue::source_port(flow.label()),
            ..packet
        }
    }

    /// The source port of a datagram; 0 if it is none.
    #[inline(always)]
    fn port(&self) -> u16 {
        self.numbers as u16
    }

    /// The last bits of the sender's address.
    #[inline(always)]
    fn more(&self) -> u32 {
        self.numbers >> 16
    }

    /// Bytes that the frame grows by; 0 if nothing is put around it.
    #[inline(always)]
    pub fn growth(&self) -> usize {
        let header = match self.outer {
            None => return 0,
            Some(Family::V4) => Ipv4Hdr::LEN,
            Some(Family::V6) => Ipv6Hdr::LEN,
        };
        match self.port() {
            0 => header,
            _ => header + gue::LENGTH,
        }
    }

    /// Writes it over the first bytes of the frame, which has grown at its beginning; `None` if the
    /// frame is too short.
    #[inline(always)]
    pub fn write(
        &self,
        cursor: &mut Cursor<'_>,
        way: &Way<impl Fn(usize) -> u64>,
        tunnel: &impl Tunnel,
    ) -> Option<()> {
        let macs = [way.next_hop(), way.source()];
        match self.outer? {
            Family::V4 => {
                let frame: &mut FrameV4 = cursor.take()?;
                let words = self.v4(tunnel);
                put!(frame, words, 0 1 2 3 4);
                start(&mut frame.ethernet, macs, Ethernet::IPV4);
            }
            Family::V6 => {
                let frame: &mut FrameV6 = cursor.take()?;
                let words = self.v6(tunnel);
                put!(frame, words, 0 1 2 3 4 5 6 7 8 9);
                start(&mut frame.ethernet, macs, Ethernet::IPV6);
            }
        }
        match self.port() {
            0 => Some(()),
            source => gue::write(
                cursor,
                [source.into(), self.length],
                tunnel.port(),
                number(self.inner),
            ),
        }
    }

    #[inline(always)]
    fn v4(&self, tunnel: &impl Tunnel) -> [u32; 5] {
        let protocol = self.protocol();
        let length = self.length + Ipv4Hdr::LEN as u32;
        let (source, sum) = (tunnel.outer_word(0), tunnel.outer_word(1));
        let [high, low] = (length as u16).to_be_bytes();
        let sum = sum + self.more() + self.first + length + u32::from(protocol);
        let [a, b] = checksum(sum).to_be_bytes();
        [
            u32::from_ne_bytes([0x45, self.first as u8, high, low]),
            u32::from_ne_bytes([0, 0, 0x40, 0]),
            u32::from_ne_bytes([Outer::TTL, protocol, a, b]),
            source | self.more().to_be(),
            tunnel.address_word(3),
        ]
    }

    #[inline(always)]
    fn v6(&self, tunnel: &impl Tunnel) -> [u32; 10] {
        let [high, low] = (self.length as u16).to_be_bytes();
        [
            self.first,
            u32::from_ne_bytes([high, low, self.protocol(), Outer::TTL]),
            tunnel.outer_word(0),
            tunnel.outer_word(1),
            tunnel.outer_word(2),
            tunnel.outer_word(3) | self.more().to_be(),
            tunnel.address_word(0),
            tunnel.address_word(1),
            tunnel.address_word(2),
            tunnel.address_word(3),
        ]
    }

    /// Protocol number of what stands behind the outer IP header.
    #[inline(always)]
    fn protocol(&self) -> u8 {
        match self.port() {
            0 => number(self.inner),
            _ => Protocol::UDP.0,
        }
    }
}

/// The protocol number that announces a packet of a family.
#[inline(always)]
fn number(family: Family) -> u8 {
    match family {
        Family::V4 => 4,
        Family::V6 => 41,
    }
}

/// Type of service, or traffic class: DSCP and ECN, which go over to the outer header as they are (RFC
/// 2983, 4.1, uniform model; RFC 6040, normal mode).
#[inline(always)]
fn class(frame: &Frame<'_>) -> u32 {
    match frame {
        Frame::V4(frame) => frame.ip.tos.into(),
        Frame::V6(frame) => u32::from_be(load!(FrameV6, frame.ip.vcf as u32)) >> 20 & 0xff,
    }
}

/// What an outer header of IPv6 begins with. Its flow label is that of the packet, if it has one, which
/// costs nothing; else a hash of the flow: routers that spread flows by the label spread those in the
/// tunnel as well (RFC 6438).
#[inline(always)]
fn first_word(frame: &Frame<'_>, flow: &Tuple) -> u32 {
    match frame {
        Frame::V4(frame) => {
            let class = u32::from(frame.ip.tos) << 20;
            (0x6000_0000 | class | flow.label()).to_be()
        }
        Frame::V6(frame) => load!(FrameV6, frame.ip.vcf as u32),
    }
}

/// Writes the frame's own header.
#[inline(always)]
fn start(ethernet: &mut Ethernet, [next_hop, source]: [Mac; 2], ether_type: [u8; 2]) {
    l2_dsr::write(ethernet, next_hop, source);
    let ether_type = u16::from_ne_bytes(ether_type);
    store!(Ethernet, ethernet.ether_type as put_u16, ether_type);
}

/// The checksum for the sum of a header's other words, which is far below 2^32.
#[inline(always)]
fn checksum(sum: u32) -> u16 {
    // The first carries can make one more.
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}
