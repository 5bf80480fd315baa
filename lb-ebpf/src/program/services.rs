//! Which service a packet is addressed to.

use lb_common::Tuple;

use super::tables::{self, Service};

/// The service of a packet, if it is ours. Most traffic that is not ends at its port.
#[inline(always)]
pub(super) fn find(tuple: &Tuple) -> Option<Service> {
    let (id, more) = tables::port(tuple.ports.service()).listener(tuple.protocol)?;
    let service = Service::of(id.into())?;
    if service.address().is(tuple.service) {
        return Some(service);
    }
    if !more {
        return None;
    }
    let service = Service::of(tables::service_id(tuple)?)?;
    service.address().is(tuple.service).then_some(service)
}
