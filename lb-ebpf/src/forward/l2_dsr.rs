//! Direct return on one link: the frame goes to the backend's MAC address with the IP packet as it
//! came, but for the hop. The backend has the service address on its loopback.

use lb_common::{Target, Verdict};

use super::hop;
use crate::{cursor::Cursor, header::Ethernet};

/// Addresses the frame `ethernet`, whose packet is at `cursor`, to the target.
///
/// # Errors
/// As for [`super::write`].
#[inline(always)]
pub fn write(
    ethernet: &mut Ethernet,
    cursor: &mut Cursor<'_>,
    target: &Target,
) -> Result<(), Verdict> {
    let ip = cursor.take().ok_or(Verdict::NotOurs)?;
    hop::take(ip).ok_or(Verdict::TtlExpired)?;
    ethernet.destination = target.next_hop;
    ethernet.source = target.source;
    Ok(())
}
