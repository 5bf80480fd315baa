use core::mem::offset_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{FLOW_PASSES, HashKey, IdleTicks, abi::abi};

/// The one element of the map CONTROL: what outlives both the daemon and the program.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Control {
    /// [`crate::ABI_VERSION`] of whoever made the maps.
    pub abi: u32,
    /// Which of the two buffers of client prefixes is in use, 0 or 1. One store swaps both families.
    pub clients: u32,
    /// CLOCK_MONOTONIC in nanoseconds of the daemon's last turn.
    pub heartbeat: u64,
    /// MAC address of the interface; all zero while it is not known. A frame for another one is
    /// another host's.
    pub station: [u8; 6],
    /// Always 0.
    pub reserved: [u8; 2],
    /// How long entries of the flow table may stay idle. Program and userspace both judge by this.
    pub idle: IdleTicks,
    /// Coefficients of the ring hash, derived from the configuration: the same on every edge that
    /// shares a service address.
    pub ring_key: HashKey,
    /// Coefficients of the flow table's hash: random, a secret of this host, drawn once.
    pub flow_keys: [HashKey; FLOW_PASSES],
}

/// Where in [`Control`] the heartbeat stands, in bytes.
pub const HEARTBEAT_OFFSET: usize = offset_of!(Control, heartbeat);

/// Where in [`Control`] the station stands, in bytes.
pub const STATION_OFFSET: usize = offset_of!(Control, station);

abi! { Control = 424 align 8 }
