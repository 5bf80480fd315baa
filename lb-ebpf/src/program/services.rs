//! Which service a packet is addressed to.

use lb_common::Tuple;

use super::tables::{self, Service, Tables};

/// The service of a packet, if it is ours. Most traffic that is not ends at its port.
#[inline(always)]
pub(super) fn find(tuple: &Tuple) -> Option<Service> {
    Listening::at(tuple)?.find(tuple)
}

/// The services that use the port that a packet is addressed to.
pub(super) struct Listening {
    /// What they were found in.
    pub(super) tables: Tables,
    first: u16,
    more: bool,
}

impl Listening {
    /// `None` if there is no such service.
    #[inline(always)]
    pub(super) fn at(tuple: &Tuple) -> Option<Self> {
        let tables = Tables::open()?;
        let port = tables.port(tuple.ports.service());
        let (first, more) = port.listener(tuple.protocol)?;
        Some(Self {
            tables,
            first,
            more,
        })
    }

    /// Whether one of them may have the packet's address, too.
    #[inline(always)]
    pub(super) fn may_have(&self, tuple: &Tuple) -> bool {
        let first = self.tables.service(self.first.into());
        self.more || first.address().is(tuple.service)
    }

    /// The one that has the packet's address, too.
    #[inline(always)]
    pub(super) fn find(&self, tuple: &Tuple) -> Option<Service> {
        let service = self.tables.service(self.first.into());
        if service.address().is(tuple.service) {
            return Some(service);
        }
        if !self.more {
            return None;
        }
        let service = self.tables.service(tables::service_id(tuple)?);
        service.address().is(tuple.service).then_some(service)
    }
}
