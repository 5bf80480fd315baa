//! Sends a packet on to its target. One file per mode.

pub mod hop;
pub mod ipip;
pub mod l2_dsr;

use lb_common::{Address, ForwardMode, Verdict, Way};

pub use self::ipip::{Envelope, Tunnel};
use crate::parse::Packet;

#[cfg(test)]
mod tests;

/// Rewrites a packet so that the interface sends it to the target that `way` leads to. What has to
/// be put around it is returned. `backend` is asked for the target's address.
///
/// # Errors
/// Why it can not be sent; the frame is as it was.
#[inline(always)]
pub fn write(
    packet: Packet<'_>,
    way: &Way<impl Fn(usize) -> u64>,
    backend: impl FnOnce() -> Address,
) -> Result<Envelope, Verdict> {
    let Packet {
        mut frame, flow, ..
    } = packet;
    let (next_hop, source) = (way.next_hop(), way.source());
    if !next_hop.is_known() || !source.is_known() {
        return Err(Verdict::NoNextHop);
    }
    // A promiscuous interface, a bridge's port or a switch that floods also shows frames for others,
    // who would serve the same packet. Packets leave by the interface that they arrive at.
    if frame.ethernet().destination.mac() != source {
        return Err(Verdict::NotOurs);
    }
    if flow.ip_length > way.mtu().into() {
        return Err(Verdict::TooBig);
    }
    match way.forward() {
        ForwardMode::L2_DSR => {
            hop::take(&mut frame).ok_or(Verdict::TtlExpired)?;
            l2_dsr::write(frame.ethernet(), next_hop, source);
            Ok(Envelope::NONE)
        }
        ForwardMode::IPIP => {
            let envelope = Envelope::around(&frame, flow.ip_length, backend());
            let envelope = envelope.ok_or(Verdict::NoTarget)?;
            hop::take(&mut frame).ok_or(Verdict::TtlExpired)?;
            Ok(envelope)
        }
        _ => Err(Verdict::NoTarget),
    }
}
