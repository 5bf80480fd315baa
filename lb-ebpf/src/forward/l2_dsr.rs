//! Direct return on one link: the frame goes to the backend's MAC address with the IP packet as it
//! came, but for the hop. The backend has the service address on its loopback.

use lb_common::Way;

use crate::header::Ethernet;

/// Addresses the frame to the target.
#[inline(always)]
pub fn write(ethernet: &mut Ethernet, way: &Way) {
    ethernet.destination.set(way.next_hop());
    ethernet.source.set(way.source());
}
