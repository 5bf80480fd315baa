//! The packet travels inside another one of its own family, whose sender is this edge. The backend
//! takes it out, finds the service address on itself, and answers the client directly.

use lb_common::{Address, Outer, Way};

use super::l2_dsr;
use crate::{
    cursor::Cursor,
    header::{Ethernet, OuterV4, OuterV6},
    parse::Ip,
    word,
};

/// Where a tunnel leads.
#[derive(Clone, Copy, Debug)]
pub struct Tunnel {
    /// The backend.
    pub address: Address,
    /// The rest of the outer header.
    pub outer: Outer,
}

/// What is put around a packet: an Ethernet header and an IP header. It holds no more than the packet
/// decides, since everything else can be read once the frame has grown.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    inner: Inner,
    /// Bytes of the inner packet.
    length: u32,
}

/// What the outer header takes over from the inner one.
#[derive(Clone, Copy, Debug)]
enum Inner {
    /// Type of service and ECN (RFC 2003, 3.1; RFC 6040, normal mode).
    V4(u8),
    /// Version, traffic class and flow label, as they stand in memory. With its label, routers that
    /// spread flows by it spread tunnelled ones as well (RFC 6438), and it costs nothing.
    V6(u32),
}

impl Envelope {
    /// For a packet of `length` bytes with this header, on its way to `backend`; `None` if that is of
    /// the other family.
    #[inline(always)]
    pub fn around(ip: &Ip<'_>, length: u32, backend: Address) -> Option<Self> {
        let inner = match ip {
            Ip::V4(ip) if backend.is_v4() => Inner::V4(ip.tos),
            Ip::V6(ip) if !backend.is_v4() => Inner::V6(word::u32(&ip.vcf)),
            _ => return None,
        };
        Some(Self { inner, length })
    }

    /// Bytes that the frame grows by.
    #[inline(always)]
    pub fn growth(&self) -> usize {
        match self.inner {
            Inner::V4(_) => size_of::<OuterV4>(),
            Inner::V6(_) => size_of::<OuterV6>(),
        }
    }

    /// Writes it over the first bytes of the frame, which has grown at its beginning; `None` if the
    /// frame is too short.
    #[inline(always)]
    pub fn write(&self, cursor: &mut Cursor<'_>, way: &Way, tunnel: &Tunnel) -> Option<()> {
        let ethernet: &mut Ethernet = cursor.take()?;
        let ether_type = match self.inner {
            Inner::V4(tos) => {
                put(
                    &mut cursor.take::<OuterV4>()?.0,
                    v4(tos, tunnel, self.length),
                );
                Ethernet::IPV4
            }
            Inner::V6(first) => {
                put(
                    &mut cursor.take::<OuterV6>()?.0,
                    v6(first, tunnel, self.length),
                );
                Ethernet::IPV6
            }
        };
        l2_dsr::write(ethernet, way);
        word::put_u16(&mut ethernet.ether_type, u16::from_ne_bytes(ether_type));
        Some(())
    }
}

#[inline(always)]
fn v4(tos: u8, tunnel: &Tunnel, length: u32) -> [u32; 5] {
    let length = length + size_of::<OuterV4>() as u32;
    let (source, sum) = tunnel.outer.as_v4();
    let [high, low] = (length as u16).to_be_bytes();
    let [.., destination] = tunnel.address.words();
    let [a, b] = checksum(sum + u32::from(tos) + length).to_be_bytes();
    [
        u32::from_ne_bytes([0x45, tos, high, low]),
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

#[inline(always)]
fn put<const N: usize>(header: &mut [[u8; 4]; N], words: [u32; N]) {
    for (bytes, word) in header.iter_mut().zip(words) {
        word::put_u32(bytes, word);
    }
}
