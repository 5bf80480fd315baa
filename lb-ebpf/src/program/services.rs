//! Which service a packet is addressed to.

use lb_common::{Service, Tuple};

use super::tables;

/// The service of a packet, if it is ours. Most traffic that is not ends at its port.
#[inline(always)]
pub(super) fn find(tuple: &Tuple) -> Option<Service> {
    let port = u16::from_be_bytes(tuple.service_port);
    let (id, more) = tables::port(port).listener(tuple.protocol)?;
    let service = tables::service(id.into())?;
    if service.address == tuple.service {
        return Some(service);
    }
    if !more {
        return None;
    }
    let service = tables::service(tables::service_id(tuple)?)?;
    (service.address == tuple.service).then_some(service)
}
