use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Address, abi::abi};

/// An IP protocol number, as in the IP header.
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
pub struct Protocol(pub u8);

impl Protocol {
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TCP => f.write_str("tcp"),
            Self::UDP => f.write_str("udp"),
            Self(other) => write!(f, "protocol {other}"),
        }
    }
}

/// Key of the map SERVICES: what a packet is addressed to.
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
#[repr(C)]
pub struct ServiceKey {
    /// The address that clients use.
    pub address: Address,
    /// The port that clients use, network order.
    pub port: [u8; 2],
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Always 0.
    pub reserved: u8,
}

impl ServiceKey {
    /// The key of a service.
    #[inline(always)]
    pub const fn new(address: Address, port: [u8; 2], protocol: Protocol) -> Self {
        Self {
            address,
            port,
            protocol,
            reserved: 0,
        }
    }
}

/// Value of the map SERVICES.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Service {
    /// The group whose members serve this: a hash of its name, the same on every host. A flow entry
    /// whose target is of another group is a miss.
    pub group: u32,
    /// Index of the service's first descriptor in the map RINGS; the client class is added to it.
    /// Class 0 is every client.
    pub row: u32,
    /// Index of the service in the map SERVICE_COUNTERS.
    pub id: u32,
}

/// The bit of a protocol in an element of the map PORTS, which says for every destination port
/// whether some service uses it: most traffic that is not ours ends at this look-up. 0 for
/// protocols that no service can have.
#[inline(always)]
pub const fn port_bit(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::TCP => 1,
        Protocol::UDP => 2,
        _ => 0,
    }
}

abi! {
    Protocol = 1 align 1,
    ServiceKey = 20 align 1,
    Service = 12 align 4,
}
