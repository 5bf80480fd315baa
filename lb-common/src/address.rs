use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::abi::abi;

/// An IP address of either family: 16 bytes in network order, IPv4 as IPv4-mapped IPv6 (RFC 4291,
/// 2.5.5.2).
#[derive(
    Clone,
    Copy,
    Debug,
    Eq,
    FromBytes,
    Hash,
    Immutable,
    IntoBytes,
    KnownLayout,
    Ord,
    PartialEq,
    PartialOrd,
    Unaligned,
)]
#[repr(transparent)]
pub struct Address([u8; 16]);

impl Address {
    /// `address` as an IPv4-mapped address.
    #[inline(always)]
    pub const fn v4(address: [u8; 4]) -> Self {
        let [a, b, c, d] = address;
        Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d])
    }

    /// The 16 bytes of an IPv6 address.
    #[inline(always)]
    pub const fn v6(address: [u8; 16]) -> Self {
        Self(address)
    }

    /// The address as four 32-bit words; only the last one differs between IPv4 addresses.
    #[inline(always)]
    pub const fn words(self) -> [u32; 4] {
        let b = self.0;
        [
            u32::from_be_bytes([b[0], b[1], b[2], b[3]]),
            u32::from_be_bytes([b[4], b[5], b[6], b[7]]),
            u32::from_be_bytes([b[8], b[9], b[10], b[11]]),
            u32::from_be_bytes([b[12], b[13], b[14], b[15]]),
        ]
    }

    /// Whether this is an IPv4-mapped address.
    #[inline(always)]
    pub const fn is_v4(self) -> bool {
        let [a, b, c, _] = self.words();
        a == 0 && b == 0 && c == 0xffff
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::v4(v4.octets()),
            IpAddr::V6(v6) => Self::v6(v6.octets()),
        }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        let v6 = Ipv6Addr::from(address.0);
        v6.to_ipv4_mapped().map_or(Self::V6(v6), Self::V4)
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        Self::v4(address.octets())
    }
}

abi! { Address = 16 align 1 }
