use core::mem::offset_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{FLOW_PASSES, HashKey, IdleTicks, abi::abi};

/// What outlives both the daemon and the program.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Control {
    /// [`crate::ABI_VERSION`] of whoever made the maps.
    pub abi: u32,
    /// Which of the two buffers of client prefixes is in use, 0 or 1. One store swaps both families.
    pub clients: u32,
    /// CLOCK_MONOTONIC in nanoseconds of the daemon's last turn.
    pub heartbeat: u64,
    /// Raised after each change of what packets of known flows are looked up in: what a CPU keeps in mind of
    /// them then holds no longer.
    pub generation: u64,
    /// How long entries of the flow table may stay idle. Program and userspace both judge by this.
    pub idle: IdleTicks,
    /// Coefficients of the ring hash, derived from the configuration: the same on every edge that
    /// shares a service address.
    pub ring_key: HashKey,
    /// Coefficients of the flow table's hash: random, a secret of this host, drawn once.
    pub flow_keys: [HashKey; FLOW_PASSES],
}

/// Where in [`Control`] the generation stands, in bytes.
pub const GENERATION_OFFSET: usize = offset_of!(Control, generation);

/// Where in [`Control`] the heartbeat stands, in bytes.
pub const HEARTBEAT_OFFSET: usize = offset_of!(Control, heartbeat);

abi! { Control = 424 align 8 }
