//! Which service a packet is addressed to.

use lb_common::{Service, Tuple, port_bit};

use super::tables;

/// The service of a packet, if it is ours. Most traffic that is not ends at its port.
#[inline(always)]
pub(super) fn find(tuple: &Tuple) -> Option<Service> {
    let port = u16::from_be_bytes(tuple.service_port);
    if tables::port_bits(port) & port_bit(tuple.protocol) == 0 {
        return None;
    }
    tables::service(tuple)
}
