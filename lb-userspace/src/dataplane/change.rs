use lb_common::{Address, Descriptor, Service, ServiceKey, Target};

/// One step from what the maps hold to what they should hold. Changes are data: they say what to
/// do, and [`super::Tables::apply`] and [`super::Kernel::execute`] do it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Gives a target's id back and zeroes its counters.
    FreeTarget {
        /// The id.
        id: u16,
    },
    /// Points a row to a ring.
    PointRow {
        /// Index in RINGS.
        row: u32,
        /// Where the ring is; [`Descriptor::NO_ANSWER`] for an empty one.
        descriptor: Descriptor,
    },
    /// Publishes a service, or moves a published one to another row, in one step.
    PutService {
        /// Its key.
        key: ServiceKey,
        /// What stands behind it.
        service: Service,
    },
    /// Withdraws a service and zeroes its counters.
    RemoveService {
        /// Its key.
        key: ServiceKey,
    },
    /// Says how many services an address has; 0 takes it out.
    SetAddress {
        /// The address.
        address: Address,
        /// The number of services.
        services: u32,
    },
    /// Says which protocols some service uses with a port.
    SetPort {
        /// The port.
        port: u16,
        /// Bits as of [`lb_common::port_bit`].
        protocols: u64,
    },
    /// Writes a target.
    SetTarget {
        /// Its id.
        id: u16,
        /// All of it.
        target: Target,
    },
    /// Writes a ring into a part of the pool that no packet looks at.
    WriteSlots {
        /// First slot; a multiple of [`lb_common::CHUNK`].
        offset: u32,
        /// Target ids, filled up with 0 to a multiple of [`lb_common::CHUNK`].
        slots: Vec<u16>,
    },
}
