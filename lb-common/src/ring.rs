use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::abi;

/// Slots in one element of the map SLOTS.
pub const CHUNK: usize = 64;

/// Element of the map SLOTS: 64 consecutive slots of the ring pool, each a target id.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct Chunk(pub [u16; CHUNK]);

/// Element of the map RINGS: where in the pool the ring of one (service, class) stands.
///
/// It is one word, so that one store points a service to its new ring. One of length 0 is no ring
/// but says what becomes of the packet.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Descriptor(u64);

impl Descriptor {
    /// No backend may be used.
    pub const NO_ANSWER: Self = Self(0);
    /// A rule of the service says that the packet is dropped.
    pub const DROP: Self = Self::new(1, 0);
    /// A rule of the service says that the packet goes on to the host.
    pub const PASS: Self = Self::new(2, 0);

    /// A ring of `length` slots that begins at slot `offset` of the pool.
    #[inline(always)]
    pub const fn new(offset: u32, length: u32) -> Self {
        Self((offset as u64) << 32 | length as u64)
    }

    /// First slot in the pool.
    #[inline(always)]
    pub const fn offset(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Number of slots.
    #[inline(always)]
    pub const fn length(self) -> u32 {
        self.0 as u32
    }

    /// The slot in the pool for a hash: the high bits choose, without a division.
    #[inline(always)]
    pub const fn slot(self, hash: u32) -> u32 {
        self.offset() + ((hash as u64 * self.length() as u64) >> 32) as u32
    }
}

abi! {
    Chunk = 128 align 8,
    Descriptor = 8 align 8,
}
