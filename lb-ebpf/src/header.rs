//! Headers as they stand on the wire.

use lb_common::Mac;
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use crate::{load, store};

/// A header that can be read and written in place, wherever it begins in a packet.
///
/// # Safety
/// The type has alignment 1 and no padding, and every sequence of bytes is a value of it.
pub unsafe trait Header {}

/// An Ethernet header without tags. `network_types::eth::EthHdr` has alignment 2, which a packet
/// does not promise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Ethernet {
    /// MAC address of the receiver.
    pub destination: Station,
    /// MAC address of the sender.
    pub source: Station,
    /// What follows, network order.
    pub ether_type: [u8; 2],
}

/// How a frame with one VLAN tag begins.
pub type Tagged = Bytes<18>;

/// How a frame with two of them begins.
pub type TaggedTwice = Bytes<22>;

/// A MAC address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct Station {
    first: [u8; 4],
    last: [u8; 2],
}

/// A frame that begins with these headers: one look at its length is enough for both.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame<T> {
    /// The frame's own.
    pub ethernet: Ethernet,
    /// That of the packet inside.
    pub ip: T,
}

/// With a packet of IPv4.
pub type FrameV4 = Frame<Ipv4Hdr>;

/// With a packet of IPv6.
pub type FrameV6 = Frame<Ipv6Hdr>;

/// An IP header with what is right behind it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Before<T, U> {
    /// The IP header.
    pub ip: T,
    /// What it carries, or the beginning of that.
    pub payload: U,
}

/// A frame that is a TCP segment without data, over IPv4.
pub type ResetV4 = Frame<Before<Ipv4Hdr, Tcp>>;

/// The same over IPv6.
pub type ResetV6 = Frame<Before<Ipv6Hdr, Tcp>>;

/// A frame that begins an ICMP error.
pub type UnreachableV4 = Frame<Before<Ipv4Hdr, Icmp>>;

/// A frame that begins an ICMPv6 error.
pub type UnreachableV6 = Frame<Before<Ipv6Hdr, Icmp>>;

/// The TCP header without options (RFC 9293, 3.1).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tcp {
    /// Source and destination, network order.
    pub ports: [u8; 4],
    /// Sequence number, network order.
    pub sequence: [u8; 4],
    /// Acknowledgment number, network order.
    pub acknowledgment: [u8; 4],
    /// Length of the header in words of four bytes, in the high half.
    pub data_offset: u8,
    /// The flags, FIN in the lowest bit.
    pub flags: u8,
    /// How much the sender takes.
    pub window: [u8; 2],
    /// Over a pseudo-header, this and the data.
    pub checksum: [u8; 2],
    /// Where urgent data end.
    pub urgent: [u8; 2],
}

/// The UDP header (RFC 768).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Udp {
    /// Source and destination, network order.
    pub ports: [u8; 4],
    /// Bytes of header and data, network order.
    pub length: [u8; 2],
    /// The checksum; 0 for none.
    pub checksum: [u8; 2],
}

/// The header of an ICMP or ICMPv6 error (RFC 792; RFC 4443, 2.1).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Icmp {
    /// Type, code and checksum.
    pub what: [u8; 4],
    /// Depends on the type; of these errors nothing.
    pub unused: [u8; 4],
}

/// Bytes of whatever meaning.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Bytes<const N: usize> {
    /// All of them.
    pub all: [u8; N],
}

/// How every IPv6 extension header begins, the fragment header too (RFC 8200, 4).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extension {
    /// Protocol number of what follows.
    pub next: u8,
    /// Its length, in a unit and with an offset that depend on what it is.
    pub length: u8,
    /// In a fragment header: offset and flags, network order.
    pub fragment: [u8; 2],
    /// Whatever the header says; each has eight bytes at least.
    pub rest: [u8; 4],
}

impl Ethernet {
    /// EtherType of IPv4.
    pub const IPV4: [u8; 2] = [0x08, 0x00];
    /// EtherType of IPv6.
    pub const IPV6: [u8; 2] = [0x86, 0xdd];
}

impl Station {
    /// The address.
    #[inline(always)]
    pub fn mac(&self) -> Mac {
        Mac::of_words(
            load!(Self, self.first as u32),
            load!(Self, self.last as u16),
        )
    }

    /// Puts another address there.
    #[inline(always)]
    pub fn set(&mut self, mac: Mac) {
        let (first, last) = mac.words();
        store!(Self, self.first as put_u32, first);
        store!(Self, self.last as put_u16, last);
    }

    /// Whether it stands for many stations: multicast or broadcast.
    #[inline(always)]
    pub fn is_multicast(&self) -> bool {
        self.first[0] & 1 != 0
    }
}

impl From<[u8; 6]> for Station {
    fn from([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self {
            first: [a, b, c, d],
            last: [e, f],
        }
    }
}

macro_rules! headers {
    ($($ty:ty = $size:literal),+ $(,)?) => { $(
        const _: () = assert!(size_of::<$ty>() == $size && align_of::<$ty>() == 1);
        // SAFETY: its fields are bytes and arrays of bytes, in `repr(C)`.
        unsafe impl Header for $ty {}
    )+ };
}

headers! {
    Ethernet = 14,
    Ipv4Hdr = 20,
    Ipv6Hdr = 40,
    Extension = 8,
    Station = 6,
    Tcp = 20,
    Udp = 8,
    FrameV4 = 34,
    FrameV6 = 54,
    Icmp = 8,
    ResetV4 = 54,
    ResetV6 = 74,
    UnreachableV4 = 42,
    UnreachableV6 = 62,
    Bytes<1> = 1,
    Bytes<2> = 2,
    Bytes<4> = 4,
    Bytes<10> = 10,
    Bytes<12> = 12,
    Tagged = 18,
    TaggedTwice = 22,
    Bytes<64> = 64,
}
