use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::abi;

/// Entries in a bucket.
pub const WAYS: usize = 8;

/// A tick is 2^26 ns of CLOCK_MONOTONIC, about 67 ms: 32 bits of ticks wrap after nine years of
/// uptime. Ages are signed, so an entry that nothing has touched for half of that looks as if it
/// came from the future, and is live again.
pub const TICK_SHIFT: u32 = 26;

/// The tick of a reading of CLOCK_MONOTONIC in nanoseconds.
#[inline(always)]
pub const fn tick(nanoseconds: u64) -> u32 {
    (nanoseconds >> TICK_SHIFT) as u32
}

/// How far a flow has come; it decides how long an entry may stay idle.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(transparent)]
pub struct FlowState(pub u8);

impl FlowState {
    /// Number of states.
    pub const COUNT: usize = 4;
    /// Only SYNs were seen, or a single packet: of TCP from the middle of a connection, or a datagram.
    pub const OPENING: Self = Self(0);
    /// TCP: the client has sent more than a SYN.
    pub const ESTABLISHED: Self = Self(1);
    /// TCP: a FIN or a reset was seen. Only a SYN ends this, since ACKs follow a FIN. A forged reset
    /// does no more than leave a connection the idle time of this state.
    pub const CLOSING: Self = Self(2);
    /// UDP: the client has sent more than one datagram.
    pub const DATAGRAM: Self = Self(3);

    /// Its name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OPENING => "opening",
            Self::ESTABLISHED => "established",
            Self::CLOSING => "closing",
            Self::DATAGRAM => "datagram",
            _ => "unknown",
        }
    }

    /// 1 if a second packet has proven the flow and it goes on, else 0. (A number, lest the packet program
    /// branches.)
    #[inline(always)]
    pub const fn proven(self) -> u64 {
        // The odd ones.
        (self.0 & 1) as u64
    }
}

/// Ticks that an entry may stay idle, by the number of its [`FlowState`].
pub type IdleTicks = [u32; FlowState::COUNT];

/// Ticks that a translated flow has its port to itself, by the number of its [`FlowState`]: idle for longer,
/// it gives way to a new flow that finds no other port. Established ones never do.
pub const NAT_HOLDS: IdleTicks = {
    // Whatever its idle time is.
    let mut ticks = [i32::MAX as u32; FlowState::COUNT];
    ticks[FlowState::OPENING.0 as usize] = seconds(10);
    ticks[FlowState::CLOSING.0 as usize] = seconds(2);
    ticks[FlowState::DATAGRAM.0 as usize] = seconds(10);
    ticks
};

const fn seconds(seconds: u64) -> u32 {
    tick(seconds * 1_000_000_000)
}

/// A flow: which target its packets go to. It holds no client, port or service, only a fingerprint.
///
/// `name` is the fingerprint (48 bits, high) and the target id (16 bits); 0 is no entry. `life` is
/// the tick when it was last seen (32 bits, high), its state (8 bits) and, from the low end, 24 bits
/// that are kept for the time from its SYN to its first ACK. The packet program alone writes it; an
/// entry whose state's idle time has passed since it was last seen is none.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct Entry {
    /// Fingerprint and target id.
    pub name: u64,
    /// Last seen, state.
    pub life: u64,
}

impl Entry {
    /// The `name` of a flow with these two hashes that goes to `target`.
    ///
    /// The bucket is chosen by the low bits of `first`, so the fingerprint takes its high half.
    #[inline(always)]
    pub const fn name(first: u32, second: u32, target: u16) -> u64 {
        ((first >> 16) as u64) << 48 | (second as u64) << 16 | target as u64
    }

    /// The `life` of an entry seen at `tick` in `state`.
    #[inline(always)]
    pub const fn life(tick: u32, state: FlowState) -> u64 {
        (tick as u64) << 32 | (state.0 as u64) << 24
    }

    /// The `life` of this entry, seen again at `tick`.
    #[inline(always)]
    pub const fn life_at(self, tick: u32) -> u64 {
        (tick as u64) << 32 | self.life & 0xffff_ffff
    }

    /// Whether two names carry the same fingerprint.
    #[inline(always)]
    pub const fn same_flow(name: u64, other: u64) -> bool {
        (name ^ other) >> 16 == 0
    }

    /// The target id.
    #[inline(always)]
    pub const fn target(self) -> u16 {
        self.name as u16
    }

    /// When it was last seen.
    #[inline(always)]
    pub const fn last_seen(self) -> u32 {
        (self.life >> 32) as u32
    }

    /// Ticks since it was last seen. Another CPU may have seen it at a tick that this one has not
    /// reached: that is 0, not four thousand million.
    #[inline(always)]
    pub fn age(self, now: u32) -> u32 {
        (now.wrapping_sub(self.last_seen()) as i32).max(0) as u32
    }

    /// Whether there is an entry that has not been idle for too long.
    #[inline(always)]
    pub fn is_live(self, now: u32, idle: &IdleTicks) -> bool {
        self.name != 0 && self.age(now) <= idle[self.state().0 as usize % FlowState::COUNT]
    }

    /// Its state.
    #[inline(always)]
    pub const fn state(self) -> FlowState {
        FlowState((self.life >> 24) as u8)
    }
}

/// Element of the map FLOWS: two cache lines.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Bucket(pub [Entry; WAYS]);

abi! {
    Entry = 16 align 8,
    Bucket = 128 align 8,
}
