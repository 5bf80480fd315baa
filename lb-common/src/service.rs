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
    /// The fragment header of IPv6 (RFC 8200, 4.5).
    pub const FRAGMENT: Self = Self(44);
    /// ICMP (RFC 792).
    pub const ICMP: Self = Self(1);
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
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

/// Key of the map SERVICE_IDS: what a packet is addressed to.
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

/// Element of [`crate::Tables::services`], by service id.
///
/// The daemon writes it word by word. An id that was given up rests before it goes to another
/// service, so what changes under a packet is the group, or the row with its length.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct Service {
    /// The address that clients use; port and protocol are those of whatever named the id.
    pub address: Address,
    /// The group that serves whoever no rule matches: a hash of its name, the same on every host, never 0.
    /// A flow entry whose target is of a group that does not serve here is a miss; the map
    /// SERVICE_GROUPS has the groups besides this one.
    pub group: u32,
    /// Its own index, also in [`crate::Counters::services`].
    pub id: u32,
    /// Where its descriptors stand.
    pub row: Row,
}

/// The descriptors of a service in the map RINGS, one per client class. It is one word, so that one
/// store moves a service to other descriptors.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Row(u64);

impl Row {
    /// `classes` descriptors that begin at index `first`. With one, every client is of class 0 and
    /// nobody looks its class up.
    #[inline(always)]
    pub const fn new(first: u32, classes: u32) -> Self {
        Self((classes as u64) << 32 | first as u64)
    }

    /// Index of the descriptor of class 0.
    #[inline(always)]
    pub const fn first(self) -> u32 {
        self.0 as u32
    }

    /// Number of descriptors.
    #[inline(always)]
    pub const fn classes(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Element of [`crate::Tables::ports`], by destination port: which services use it. Most traffic that is not
/// ours ends at this look-up, and for a port with one service nothing has to be hashed.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Port(u64);

impl Port {
    const USED: u32 = 1 << 31;
    const MORE: u32 = 1 << 30;

    /// This port with a service for `protocol`; `more` says that others share port and protocol and
    /// are found in SERVICE_IDS. Protocols that no service can have are left out.
    #[inline(always)]
    pub const fn with(self, protocol: Protocol, id: u16, more: bool) -> Self {
        let more = if more { Self::MORE } else { 0 };
        let listener = (Self::USED | more | id as u32) as u64;
        match protocol {
            Protocol::TCP => Self(self.0 & !0xffff_ffff | listener),
            Protocol::UDP => Self(self.0 & 0xffff_ffff | listener << 32),
            _ => self,
        }
    }

    /// The first service of a protocol, with whether there are more; `None` if no service has it.
    #[inline(always)]
    pub const fn listener(self, protocol: Protocol) -> Option<(u16, bool)> {
        let listener = match protocol {
            Protocol::TCP => self.0 as u32,
            Protocol::UDP => (self.0 >> 32) as u32,
            _ => 0,
        };
        if listener & Self::USED == 0 {
            return None;
        }
        Some((listener as u16, listener & Self::MORE != 0))
    }
}

/// Key of the map SERVICE_GROUPS: a group, other than its own, whose targets may serve a service.
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
)]
#[repr(C)]
pub struct ServiceGroup {
    /// Id of the service.
    pub service: u32,
    /// The group.
    pub group: u32,
}

abi! {
    Protocol = 1 align 1,
    ServiceKey = 20 align 4,
    Service = 32 align 8,
    Row = 8 align 8,
    Port = 8 align 8,
    ServiceGroup = 8 align 4,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_names_the_first_service_of_each_protocol() {
        let tcp = Port::default().with(Protocol::TCP, u16::MAX, false);
        let both = tcp.with(Protocol::UDP, 0, true);
        assert_eq!(tcp.listener(Protocol::TCP), Some((u16::MAX, false)));
        assert_eq!(tcp.listener(Protocol::UDP), None);
        assert_eq!(both.listener(Protocol::TCP), Some((u16::MAX, false)));
        assert_eq!(both.listener(Protocol::UDP), Some((0, true)));
        let changed = both
            .with(Protocol::TCP, 7, true)
            .with(Protocol::UDP, 8, false);
        assert_eq!(changed.listener(Protocol::TCP), Some((7, true)));
        assert_eq!(changed.listener(Protocol::UDP), Some((8, false)));
        assert_eq!(both.with(Protocol(1), 3, true), both);
        assert_eq!(both.listener(Protocol(1)), None);
    }
}
