use std::sync::Arc;

use lb_common::{Address, Descriptor, FormerRing, Port, Service, ServiceGroup, ServiceKey, Target};

use crate::table::ClassTable;

/// One step from what the maps hold to what they should hold. Changes are data: they say what to
/// do, and [`super::Tables::apply`] and [`super::Kernel::execute`] do it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Lets the targets of a further group serve a service.
    AllowGroup(ServiceGroup),
    /// Lets them no longer.
    ForbidGroup(ServiceGroup),
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
    /// Makes a service known, which is found once its port names it; or moves one to another row.
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
    /// Puts a buffer of client prefixes into use.
    SelectClients {
        /// 0 or 1.
        buffer: u32,
    },
    /// Says how many services an address has; 0 takes it out.
    SetAddress {
        /// The address.
        address: Address,
        /// The number of services.
        services: u32,
    },
    /// Says which ring a row showed before it changed.
    SetFormer {
        /// Index in RINGS.
        row: u32,
        /// The ring, and until when it counts; [`FormerRing::NONE`] for none.
        former: FormerRing,
    },
    /// Says which services use a port.
    SetPort {
        /// The port.
        port: u16,
        /// The first of each protocol, and whether there are more.
        services: Port,
    },
    /// Writes a target.
    SetTarget {
        /// Its id.
        id: u16,
        /// All of it.
        target: Target,
    },
    /// Writes the buffer of client prefixes that is not in use.
    WriteClients {
        /// 0 or 1.
        buffer: u32,
        /// All of it.
        table: Arc<ClassTable>,
    },
    /// Writes a ring into a part of the pool that no packet looks at.
    WriteSlots {
        /// First slot; a multiple of [`lb_common::CHUNK`].
        offset: u32,
        /// Target ids, filled up with 0 to a multiple of [`lb_common::CHUNK`].
        slots: Vec<u16>,
    },
}
