use core::{
    cmp::Ordering,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, transmute};

use crate::abi::abi;

/// An IP address of either family: 16 bytes in network order, IPv4 as IPv4-mapped IPv6 (RFC 4291,
/// 2.5.5.2). They are held as words because the packet program can only read those in one go.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Hash, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(transparent)]
pub struct Address([u32; 4]);

impl Address {
    /// Third word of an IPv4-mapped address.
    const MAPPED: u32 = 0xffff_u32.to_be();

    /// `address` as an IPv4-mapped address.
    #[inline(always)]
    pub const fn v4(address: [u8; 4]) -> Self {
        Self::of_v4_word(u32::from_ne_bytes(address))
    }

    /// The 16 bytes of an IPv6 address.
    #[inline(always)]
    pub const fn v6(address: [u8; 16]) -> Self {
        Self(transmute!(address))
    }

    /// The IPv4 address whose four bytes stand in memory as this word.
    #[inline(always)]
    pub const fn of_v4_word(word: u32) -> Self {
        Self([0, 0, Self::MAPPED, word])
    }

    /// The address whose bytes stand in memory as these words.
    #[inline(always)]
    pub const fn of_words(words: [u32; 4]) -> Self {
        Self(words)
    }

    /// The words as which its bytes stand in memory; only the last one differs between IPv4
    /// addresses.
    #[inline(always)]
    pub const fn words(self) -> [u32; 4] {
        self.0
    }

    /// The 16 bytes.
    #[inline(always)]
    pub const fn octets(self) -> [u8; 16] {
        transmute!(self.0)
    }

    /// Whether they are equal. The packet program asks by this, word for word: for `==` the compiler
    /// puts arrays together to numbers of 128 bits.
    #[inline(always)]
    pub const fn is(self, other: Self) -> bool {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        d == h && c == g && b == f && a == e
    }

    /// Whether this is an IPv4-mapped address.
    #[inline(always)]
    pub const fn is_v4(self) -> bool {
        matches!(self.0, [0, 0, Self::MAPPED, _])
    }
}

/// As numbers are ordered, so that networks stay together.
impl Ord for Address {
    fn cmp(&self, other: &Self) -> Ordering {
        self.octets().cmp(&other.octets())
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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
        let v6 = Ipv6Addr::from(address.octets());
        v6.to_ipv4_mapped().map_or(Self::V6(v6), Self::V4)
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        Self::v4(address.octets())
    }
}

abi! { Address = 16 align 4 }
