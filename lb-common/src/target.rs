use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, Exit, Nat, abi::abi};

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
    /// The packet travels inside another one, of the family of the backend's address (RFC 2003, RFC 2473,
    /// RFC 4213); the backend takes it out, and answers the client directly.
    pub const IPIP: Self = Self(2);
    /// The packet gets an address of the edge as its source and the backend's as its destination; what
    /// the backend answers comes back through the edge, and gets the service's address as its source.
    pub const FULL_NAT: Self = Self(3);
    /// As [`Self::IPIP`], with a header of UDP and one of Generic UDP Encapsulation in between
    /// (draft-ietf-intarea-gue).
    pub const GUE: Self = Self(4);
    /// The backend is the edge itself: packets go up to the host as they are. It stands beside
    /// [`Self::ELSEWHERE`].
    pub const HOST: Self = Self(5);
    /// Beside a mode: its packets leave otherwise than by the interface that they come by and without
    /// tags, as [`Target::exit`] says, or do not leave.
    pub const ELSEWHERE: u8 = 0x80;

    /// The mode, without what stands beside it.
    #[inline(always)]
    pub const fn mode(self) -> Self {
        Self(self.0 & !Self::ELSEWHERE)
    }

    /// The mode beside [`Self::ELSEWHERE`].
    #[must_use]
    pub const fn elsewhere(self) -> Self {
        Self(self.0 | Self::ELSEWHERE)
    }

    /// Whether its packets leave by the interface that they come by, and without tags.
    #[inline(always)]
    pub const fn leaves_as_it_came(self) -> bool {
        self.0 & Self::ELSEWHERE == 0
    }
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
    /// header that are the same for every packet: all but type of service, total length and protocol.
    pub fn v4(source: [u8; 4], destination: [u8; 4]) -> Self {
        let [a, b, c, d] = source;
        let [e, f, g, h] = destination;
        let words = [
            [0x45, 0],
            // Don't fragment, for the packet fits; so the identification may be 0 (RFC 6864, 4.1).
            [0x40, 0],
            [Self::TTL, 0],
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

    /// The words as they stand in memory: the IPv6 address in network order, or the IPv4 address and the sum.
    #[inline(always)]
    pub const fn words(self) -> [u32; 4] {
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
    /// Beside [`Self::DEAD`]: packets of its TCP flows are taken for those of new ones.
    pub const TCP_MOVES: u8 = 4;
    /// Beside [`Self::DEAD`]: packets of its TCP flows are answered by a reset.
    pub const TCP_ENDS: u8 = 8;
    /// Beside [`Self::DEAD`]: its UDP flows stay. Else they move, having no connection to lose.
    pub const UDP_STAYS: u8 = 16;

    /// Whether new flows may go there.
    #[inline(always)]
    pub const fn takes_new(self) -> bool {
        self.0 & Self::TAKES_NEW != 0
    }

    /// Whether nothing that can move should lead there.
    #[inline(always)]
    pub const fn dead(self) -> bool {
        self.0 & Self::DEAD != 0
    }

    /// Whether running TCP flows stay.
    #[inline(always)]
    pub const fn keeps_tcp(self) -> bool {
        self.0 & (Self::TCP_MOVES | Self::TCP_ENDS) == 0
    }

    /// Whether running TCP flows are reset.
    #[inline(always)]
    pub const fn ends_tcp(self) -> bool {
        self.0 & Self::TCP_ENDS != 0
    }

    /// Whether running UDP flows stay.
    #[inline(always)]
    pub const fn keeps_udp(self) -> bool {
        self.0 & (Self::DEAD | Self::UDP_STAYS) != Self::DEAD
    }
}

/// Element of [`crate::Tables::targets`], by target id: one membership, the pair of a group and a backend.
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
    /// MAC address of the interface that the packet leaves by; all zero while it is not known. If that is
    /// the one that it comes by, a frame for another address is another host's.
    pub source: [u8; 6],
    /// What it may be used for.
    pub state: TargetState,
    /// How packets reach it.
    pub forward: ForwardMode,
    /// The group, as in [`crate::Service::group`]; 0 while the id is free.
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
    /// What packets are translated to, if they are; of a tunnel of UDP the port alone.
    pub nat: Nat,
    /// How they leave, if it is [`ForwardMode::ELSEWHERE`].
    pub exit: Exit,
    /// How packets reach the backend from other hosts; with [`ForwardMode::HOST`] it is not `forward`.
    pub mode: ForwardMode,
    /// Always 0.
    pub reserved: [u8; 3],
}

/// A MAC address as a number: its bytes in the order in which they stand in memory, little-endian.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mac(u64);

impl Mac {
    const MASK: u64 = (1 << 48) - 1;

    /// The address whose first four and last two bytes stand in memory as these words.
    #[inline(always)]
    pub const fn of_words(first: u32, last: u16) -> Self {
        Self((u16::from_le(last) as u64) << 32 | u32::from_le(first) as u64)
    }

    /// The first four and the last two bytes, as they stand in memory.
    #[inline(always)]
    pub const fn words(self) -> (u32, u16) {
        ((self.0 as u32).to_le(), ((self.0 >> 32) as u16).to_le())
    }

    /// As a number that [`Self::of_number`] takes.
    #[inline(always)]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The address that [`Self::number`] gave.
    #[inline(always)]
    pub const fn of_number(number: u64) -> Self {
        Self(number & Self::MASK)
    }

    /// Whether it is known: all zero stands for none.
    #[inline(always)]
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Whether it stands for one station, and not for many.
    #[inline(always)]
    pub const fn is_unicast(self) -> bool {
        self.is_known() && self.0 & 1 == 0
    }
}

/// The first third of a [`Target`] as the packet program reads it: in whole words, each read and cut
/// up where a part of it is needed.
#[derive(Clone, Copy, Debug)]
pub struct Way<F>(F);

impl<F: Fn(usize) -> u64> Way<F> {
    /// `word` gives the words by index, as they stand in memory.
    #[inline(always)]
    pub const fn new(word: F) -> Self {
        Self(word)
    }

    /// [`Target::next_hop`].
    #[inline(always)]
    pub fn next_hop(&self) -> Mac {
        Mac(self.word(0) & Mac::MASK)
    }

    /// [`Target::mtu`].
    #[inline(always)]
    pub fn mtu(&self) -> u16 {
        u16::from_le((self.word(0) >> 48) as u16)
    }

    /// [`Target::source`].
    #[inline(always)]
    pub fn source(&self) -> Mac {
        Mac(self.word(1) & Mac::MASK)
    }

    /// [`Target::state`].
    #[inline(always)]
    pub fn state(&self) -> TargetState {
        TargetState((self.word(1) >> 48) as u8)
    }

    /// [`Target::forward`].
    #[inline(always)]
    pub fn forward(&self) -> ForwardMode {
        ForwardMode((self.word(1) >> 56) as u8)
    }

    /// [`Target::group`].
    #[inline(always)]
    pub fn group(&self) -> u32 {
        u32::from_le(self.word(2) as u32)
    }

    /// [`Target::epoch`].
    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        u32::from_le((self.word(2) >> 32) as u32)
    }

    /// Whether it is of a group, and no flows were flushed.
    #[inline(always)]
    pub fn is_unflushed_of(&self, group: u32) -> bool {
        self.word(2) == u64::from(group)
    }

    /// [`Target::identity`].
    #[inline(always)]
    pub fn identity(&self) -> u64 {
        self.word(3)
    }

    /// Whether the id is in use: a target's identity is never 0.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        self.identity() != 0
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        u64::from_le((self.0)(index))
    }
}

impl Target {
    /// How to get there.
    pub fn way(&self) -> Way<impl Fn(usize) -> u64 + use<>> {
        let words: [u64; 14] = zerocopy::transmute!(*self);
        Way::new(move |index| words[index])
    }

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
        nat: Nat::NONE,
        exit: Exit::SAME,
        mode: ForwardMode(0),
        reserved: [0; 3],
    };
}

abi! {
    ForwardMode = 1 align 1,
    TargetState = 1 align 1,
    Outer = 16 align 4,
    Target = 112 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_has_every_part_of_its_target() {
        let target = Target {
            next_hop: [1, 2, 3, 4, 5, 6],
            mtu: 0x1234,
            source: [7, 8, 9, 10, 11, 12],
            state: TargetState(0x56),
            forward: ForwardMode(0x78),
            group: 0x9abc_def0,
            epoch: 0x1357_9bdf,
            identity: 1 << 63,
            ..Target::FREE
        };
        let mac = |[a, b, c, d, e, f]: [u8; 6]| {
            Mac::of_words(u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]))
        };
        let way = target.way();
        assert_eq!(way.next_hop(), mac(target.next_hop));
        assert_eq!(way.mtu(), target.mtu);
        assert_eq!(way.source(), mac(target.source));
        assert_eq!(way.state(), target.state);
        assert_eq!(way.forward(), target.forward);
        assert_eq!(way.group(), target.group);
        assert_eq!(way.epoch(), target.epoch);
        assert_eq!(way.identity(), target.identity);
        assert!(way.is_used());
        assert!(!Target::FREE.way().is_used());
        assert!(!Target::FREE.way().source().is_known());
        let (first, last) = way.source().words();
        assert_eq!(
            (first.to_ne_bytes(), last.to_ne_bytes()),
            ([7, 8, 9, 10], [11, 12])
        );
    }
}
