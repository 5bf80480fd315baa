//! The packet travels inside another one of its own family, whose sender is this edge. The backend
//! takes it out, finds the service address on itself, and answers the client directly.

use lb_common::{Address, Mac, Outer, Way};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::l2_dsr;
use crate::{
    cursor::Cursor,
    header::{Ethernet, FrameV4, FrameV6},
    load,
    parse::{Family, Frame},
    store, word,
};

/// Where a tunnel leads.
#[derive(Clone, Copy, Debug)]
pub struct Tunnel {
    /// The backend.
    pub address: Address,
    /// The rest of the outer header.
    pub outer: Outer,
}

/// Puts words, in their order, into the header behind that of Ethernet.
macro_rules! put {
    ($frame:ident, $words:ident, $($i:literal)+) => {
        $( word::put_u32::<{ size_of::<Ethernet>() + 4 * $i }, _>($frame, $words[$i]); )+
    };
}

/// What is put around a packet, if something is: an Ethernet header and an IP header. It holds no
/// more than the packet decides, since everything else can be read once the frame has grown.
///
/// Each part always has a value: the compiler may take whatever a register holds for one that has
/// none, and the verifier refuses that if it is a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    family: Option<Family>,
    /// Of IPv4, type of service and ECN (RFC 2003, 3.1; RFC 6040, normal mode). Of IPv6, version,
    /// traffic class and flow label, as they stand in memory: with its label, routers that spread
    /// flows by it spread tunnelled ones as well (RFC 6438), and it costs nothing.
    inner: u32,
    /// Bytes of the inner packet.
    length: u32,
}

impl Envelope {
    /// The packet goes as it is.
    pub const NONE: Self = Self {
        family: None,
        inner: 0,
        length: 0,
    };

    /// For a packet of `length` bytes with this header, on its way to `backend`; `None` if that is of
    /// the other family.
    #[inline(always)]
    pub fn around(frame: &Frame<'_>, length: u32, backend: Address) -> Option<Self> {
        let (family, inner) = match frame {
            Frame::V4(frame) if backend.is_v4() => (Family::V4, frame.ip.tos.into()),
            Frame::V6(frame) if !backend.is_v4() => {
                (Family::V6, load!(FrameV6, frame.ip.vcf as u32))
            }
            _ => return None,
        };
        Some(Self {
            family: Some(family),
            inner,
            length,
        })
    }

    /// Bytes that the frame grows by; 0 if nothing is put around it.
    #[inline(always)]
    pub fn growth(&self) -> usize {
        match self.family {
            None => 0,
            Some(Family::V4) => Ipv4Hdr::LEN,
            Some(Family::V6) => Ipv6Hdr::LEN,
        }
    }

    /// Writes it over the first bytes of the frame, which has grown at its beginning; `None` if the
    /// frame is too short.
    #[inline(always)]
    pub fn write(
        &self,
        cursor: &mut Cursor<'_>,
        way: &Way<impl Fn(usize) -> u64>,
        tunnel: &Tunnel,
    ) -> Option<()> {
        let macs = [way.next_hop(), way.source()];
        match self.family? {
            Family::V4 => {
                let frame: &mut FrameV4 = cursor.take()?;
                let words = v4(self.inner, tunnel, self.length);
                put!(frame, words, 0 1 2 3 4);
                start(&mut frame.ethernet, macs, Ethernet::IPV4);
            }
            Family::V6 => {
                let frame: &mut FrameV6 = cursor.take()?;
                let words = v6(self.inner, tunnel, self.length);
                put!(frame, words, 0 1 2 3 4 5 6 7 8 9);
                start(&mut frame.ethernet, macs, Ethernet::IPV6);
            }
        }
        Some(())
    }
}

/// Writes the frame's own header.
#[inline(always)]
fn start(ethernet: &mut Ethernet, [next_hop, source]: [Mac; 2], ether_type: [u8; 2]) {
    l2_dsr::write(ethernet, next_hop, source);
    let ether_type = u16::from_ne_bytes(ether_type);
    store!(Ethernet, ethernet.ether_type as put_u16, ether_type);
}

#[inline(always)]
fn v4(tos: u32, tunnel: &Tunnel, length: u32) -> [u32; 5] {
    let length = length + Ipv4Hdr::LEN as u32;
    let (source, sum) = tunnel.outer.as_v4();
    let [high, low] = (length as u16).to_be_bytes();
    let [.., destination] = tunnel.address.words();
    let [a, b] = checksum(sum + tos + length).to_be_bytes();
    [
        u32::from_ne_bytes([0x45, tos as u8, high, low]),
        u32::from_ne_bytes([0, 0, 0x40, 0]),
        u32::from_ne_bytes([Outer::TTL, 4, a, b]),
        u32::from_ne_bytes(source),
        destination,
    ]
}

/// The checksum for the sum of a header's other words, which is far below 2^32.
#[inline(always)]
fn checksum(sum: u32) -> u16 {
    // The first carries can make one more.
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

#[inline(always)]
fn v6(first: u32, tunnel: &Tunnel, length: u32) -> [u32; 10] {
    let [high, low] = (length as u16).to_be_bytes();
    let [a, b, c, d] = tunnel.outer.as_v6();
    let [e, f, g, h] = tunnel.address.words();
    [
        first,
        u32::from_ne_bytes([high, low, 41, Outer::TTL]),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
    ]
}
