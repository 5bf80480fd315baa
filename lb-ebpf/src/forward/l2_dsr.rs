//! Direct return on one link: the frame goes to the backend's MAC address with the IP packet as it
//! came. The backend has the service address on its loopback.

use lb_common::Target;

use crate::{cursor::Cursor, header::Ethernet};

/// Addresses the frame to the target; `None` if there is no whole Ethernet header.
#[inline(always)]
pub fn write(cursor: &mut Cursor<'_>, target: &Target) -> Option<()> {
    let ethernet = cursor.take::<Ethernet>()?;
    ethernet.destination = target.next_hop;
    ethernet.source = target.source;
    Some(())
}
