use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Control, Port, Service, Target};

/// Destination ports.
pub const PORT_COUNT: usize = 1 << 16;

/// Services that an edge has place for.
pub const SERVICE_COUNT: usize = 1024;

/// Target ids; a power of two. The first is never used.
pub const TARGET_COUNT: usize = 4096;

/// The one element of the map TABLES: what a packet of a known flow is looked up in, but for its entry. In
/// one element, the program finds all of it by one look-up and an addition for each part.
#[derive(FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Tables {
    /// What outlives both the daemon and the program.
    pub control: Control,
    /// Which services use a destination port, by port.
    pub ports: [Port; PORT_COUNT],
    /// The services, by id.
    pub services: [Service; SERVICE_COUNT],
    /// The targets, by id.
    pub targets: [Target; TARGET_COUNT],
}

const _: () = assert!(TARGET_COUNT.is_power_of_two() && SERVICE_COUNT.is_power_of_two());

const _: () = assert!(size_of::<Tables>() == 1_016_232 && align_of::<Tables>() == 8);
