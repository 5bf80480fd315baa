//! Headers as they stand on the wire.

use network_types::{ip::Ipv4Hdr, tcp::TcpHdr};

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
    pub destination: [u8; 6],
    /// MAC address of the sender.
    pub source: [u8; 6],
    /// What follows, network order.
    pub ether_type: [u8; 2],
}

impl Ethernet {
    /// EtherType of IPv4.
    pub const IPV4: [u8; 2] = [0x08, 0x00];

    /// Whether the frame is for many stations: multicast or broadcast.
    #[inline(always)]
    pub fn is_multicast(&self) -> bool {
        self.destination[0] & 1 != 0
    }
}

macro_rules! headers {
    ($($ty:ty = $size:literal),+ $(,)?) => { $(
        const _: () = assert!(size_of::<$ty>() == $size && align_of::<$ty>() == 1);
        // SAFETY: its fields are bytes and arrays of bytes, in `repr(C)`.
        unsafe impl Header for $ty {}
    )+ };
}

headers! { Ethernet = 14, Ipv4Hdr = 20, TcpHdr = 20 }
