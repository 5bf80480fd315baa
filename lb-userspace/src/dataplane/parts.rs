//! The parts of the elements of TABLES and CPUS, which are too large to be read or written as one.

use std::{io, mem::offset_of};

use aya::maps::MapData;
use lb_common::{
    Control, Counter, Counters, Cpu, GENERATION_OFFSET, NAMED_COUNT, PORT_COUNT, Port,
    SERVICE_COUNT, Service, ServiceCounter, TARGET_COUNT, Tables, Target,
};

use super::mapped::Mapped;

/// The parts of the map TABLES, by which the packet program finds what a packet needs.
pub struct TableParts {
    /// What outlives both the daemon and the program: one element.
    pub control: Mapped<Control>,
    /// Which services use a destination port, by port.
    pub ports: Mapped<Port>,
    /// The services, by id.
    pub services: Mapped<Service>,
    /// The targets, by id.
    pub targets: Mapped<Target>,
}

impl TableParts {
    /// Maps the map.
    ///
    /// # Errors
    /// If it is another map, or the kernel does not map it.
    pub fn new(map: &MapData) -> io::Result<Self> {
        let whole = Mapped::<u64>::of_elements(map, size_of::<Tables>())?;
        Ok(Self {
            control: whole.part(offset_of!(Tables, control), 1),
            ports: whole.part(offset_of!(Tables, ports), PORT_COUNT),
            services: whole.part(offset_of!(Tables, services), SERVICE_COUNT),
            targets: whole.part(offset_of!(Tables, targets), TARGET_COUNT),
        })
    }

    /// Writes a target.
    pub fn put_target(&self, id: u16, target: &Target) {
        self.targets.store(id.into(), target);
        self.renew();
    }

    /// Writes a service, whose id says where.
    pub fn put_service(&self, service: &Service) {
        self.services.store(service.id, service);
        self.renew();
    }

    /// Says that what packets of known flows are looked up in has changed: what CPUs keep in mind of them holds
    /// no longer.
    pub fn renew(&self) {
        let generation = self.control.load(0).generation.wrapping_add(1);
        let word = GENERATION_OFFSET / size_of::<u64>();
        self.control.store_word(0, word, generation);
    }
}

/// The counters in an element of the map CPUS: what one CPU counts.
pub struct CounterParts {
    /// Packets by verdict.
    pub verdicts: Mapped<Counter>,
    /// Packets by flow event.
    pub flow_events: Mapped<Counter>,
    /// Packets by service id.
    pub services: Mapped<ServiceCounter>,
    /// Packets by target id.
    pub targets: Mapped<Counter>,
}

impl CounterParts {
    /// Maps the map: one of these for each CPU that the host can have.
    ///
    /// # Errors
    /// As for [`TableParts::new`].
    pub fn of_cpus(map: &MapData) -> io::Result<Vec<Self>> {
        const SIZE: usize = size_of::<Cpu>();
        let whole = Mapped::<u64>::of_elements(map, SIZE)?;
        let starts = (0..whole.len() as usize * size_of::<u64>()).step_by(SIZE);
        let counters = starts.map(|start| start + offset_of!(Cpu, counters));
        Ok(counters.map(|start| Self::of(&whole, start)).collect())
    }

    fn of(whole: &Mapped<u64>, start: usize) -> Self {
        Self {
            verdicts: whole.part(start + offset_of!(Counters, verdicts), NAMED_COUNT),
            flow_events: whole.part(start + offset_of!(Counters, flow_events), NAMED_COUNT),
            services: whole.part(start + offset_of!(Counters, services), SERVICE_COUNT),
            targets: whole.part(start + offset_of!(Counters, targets), TARGET_COUNT),
        }
    }
}
