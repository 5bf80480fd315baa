//! Which service a packet is addressed to.

use lb_common::Tuple;

use super::tables::{self, Service, Tables};

/// The service of a packet, if it is ours. Most traffic that is not ends at its port.
#[inline(always)]
pub(super) fn find(tuple: &Tuple) -> Option<Service> {
    let tables = Tables::open()?;
    let port = tables.port(tuple.ports.service());
    let (id, more) = port.listener(tuple.protocol)?;
    let service = tables.service(id.into());
    if service.address().is(tuple.service) {
        return Some(service);
    }
    if !more {
        return None;
    }
    let service = tables.service(tables::service_id(tuple)?);
    service.address().is(tuple.service).then_some(service)
}
