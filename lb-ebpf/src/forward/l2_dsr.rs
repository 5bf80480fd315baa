//! Direct return on one link: the frame goes to the backend's MAC address with the IP packet as it
//! came, but for the hop. The backend has the service address on its loopback.

use lb_common::Mac;

use crate::header::Ethernet;

/// Addresses the frame to the target.
#[inline(always)]
pub fn write(ethernet: &mut Ethernet, next_hop: Mac, source: Mac) {
    ethernet.destination.set(next_hop);
    ethernet.source.set(source);
}
