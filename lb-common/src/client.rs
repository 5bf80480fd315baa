use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::abi;

/// Buffers of client prefixes: one in use, one to be written.
pub const CLIENT_BUFFERS: u32 = 2;

/// Networks of 256 IPv4 addresses, per buffer, whose addresses are of more than one class.
pub const LONG_NETWORKS: u32 = 8192;

/// IPv6 prefixes per buffer.
pub const V6_PREFIXES: u32 = 65_536;

/// Most classes of clients: a [`Place`] has 15 bits for one.
pub const CLASSES: u32 = 1 << 15;

/// What the map CLIENTS_V4 says of a network of 256 addresses.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Place(pub u16);

impl Place {
    const LONG: u16 = 1 << 15;

    /// All its addresses are of this class, which is below [`CLASSES`].
    #[inline(always)]
    pub const fn class(class: u16) -> Self {
        Self(class & !Self::LONG)
    }

    /// Its addresses are told apart in this element of CLIENTS_V4_LONG, counted from the buffer's
    /// first.
    #[inline(always)]
    pub const fn long(index: u16) -> Self {
        Self(index | Self::LONG)
    }

    /// The class, or else the element.
    #[inline(always)]
    pub const fn resolve(self) -> Result<u16, u16> {
        if self.0 & Self::LONG == 0 {
            Ok(self.0)
        } else {
            Err(self.0 & !Self::LONG)
        }
    }
}

/// Element of the map CLIENTS_V4, one per buffer: by the first 24 bits of an address.
#[derive(FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(8))]
pub struct Networks(pub [Place; 1 << 24]);

/// Element of the map CLIENTS_V4_LONG: the classes of 256 addresses.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct LongNetwork(pub [u16; 256]);

abi! {
    Place = 2 align 2,
    LongNetwork = 512 align 8,
}
