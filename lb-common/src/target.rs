use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, abi::abi};

/// How a packet reaches a backend.
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
#[repr(transparent)]
pub struct ForwardMode(pub u8);

impl ForwardMode {
    /// The frame is sent on with the backend's MAC address; the backend has the service address on
    /// its loopback and answers the client directly.
    pub const L2_DSR: Self = Self(1);
    /// The packet travels inside another one of its own family (RFC 2003, RFC 2473); the backend
    /// takes it out, and answers the client directly.
    pub const IPIP: Self = Self(2);
}

/// What the outer header of a tunnel has beside the target's address.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Outer([u32; 4]);

impl Outer {
    /// Time to live, or hop limit, of outer headers.
    pub const TTL: u8 = 64;

    /// From an IPv4 address of this edge to one of a backend, with the sum of all words of the
    /// header that are the same for every packet: all but type of service and total length.
    pub fn v4(source: [u8; 4], destination: [u8; 4]) -> Self {
        let [a, b, c, d] = source;
        let [e, f, g, h] = destination;
        let words = [
            [0x45, 0],
            // Don't fragment, for the packet fits; so the identification may be 0 (RFC 6864, 4.1).
            [0x40, 0],
            [Self::TTL, 4],
            [a, b],
            [c, d],
            [e, f],
            [g, h],
        ];
        let sum = words.map(u16::from_be_bytes).map(u32::from).iter().sum();
        Self([u32::from_ne_bytes(source), sum, 0, 0])
    }

    /// From an IPv6 address of this edge.
    pub fn v6(source: [u8; 16]) -> Self {
        Self(zerocopy::transmute!(source))
    }

    /// The IPv4 address in network order, and the sum.
    #[inline(always)]
    pub const fn as_v4(self) -> ([u8; 4], u32) {
        (self.0[0].to_ne_bytes(), self.0[1])
    }

    /// The IPv6 address in network order, as words.
    #[inline(always)]
    pub const fn as_v6(self) -> [u32; 4] {
        self.0
    }
}

/// Bits that say what a target may be used for.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct TargetState(pub u8);

impl TargetState {
    /// It stands in some ring now, be it under an all-down rule.
    pub const TAKES_NEW: u8 = 1;
    /// Unhealthy and not in use as a best effort, disabled, or removed.
    pub const DEAD: u8 = 2;

    /// Whether new flows may go there.
    #[inline(always)]
    pub const fn takes_new(self) -> bool {
        self.0 & Self::TAKES_NEW != 0
    }

    /// Whether flows that can move should leave.
    #[inline(always)]
    pub const fn dead(self) -> bool {
        self.0 & Self::DEAD != 0
    }
}

/// Element of the map TARGETS, by target id: one membership, the pair of a group and a backend.
/// Id 0 is no target.
///
/// The daemon writes it word by word, so a packet may meet the old next hop beside the new state,
/// but never half a MAC address.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct Target {
    /// MAC address of the next hop; all zero while it is not known.
    pub next_hop: [u8; 6],
    /// Largest IP packet that can be sent, in bytes, before anything is put around it.
    pub mtu: u16,
    /// MAC address of the interface that the packet leaves by, which is the one that it arrives at:
    /// a frame for another address is another host's. All zero while it is not known.
    pub source: [u8; 6],
    /// What it may be used for.
    pub state: TargetState,
    /// How packets reach it.
    pub forward: ForwardMode,
    /// The group, as in [`crate::Service::group`].
    pub group: u32,
    /// Flow entries last seen before this tick are misses: the daemon sets it to the present to
    /// flush the target's flows. 0 flushes nothing.
    pub epoch: u32,
    /// Hash of group name and backend identity: how the daemon finds its own targets again after
    /// a restart. 0 while the id is free.
    pub identity: u64,
    /// The backend.
    pub address: Address,
    /// What is put around packets, if something is.
    pub outer: Outer,
}

impl Target {
    /// What stands in a free element.
    pub const FREE: Self = Self {
        next_hop: [0; 6],
        mtu: 0,
        source: [0; 6],
        state: TargetState(0),
        forward: ForwardMode(0),
        group: 0,
        epoch: 0,
        identity: 0,
        address: Address::v6([0; 16]),
        outer: Outer([0; 4]),
    };
}

abi! {
    ForwardMode = 1 align 1,
    TargetState = 1 align 1,
    Outer = 16 align 4,
    Target = 64 align 8,
}
