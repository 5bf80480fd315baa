//! Sends a packet on to its target. One file per mode.

pub mod envelope;
pub mod full_nat;
pub mod gue;
pub mod hop;
pub mod l2_dsr;

use lb_common::{Address, ForwardMode, Mac, Verdict, Way};

pub use self::envelope::{Envelope, Tunnel, Tunnels};
use crate::parse::Packet;

#[cfg(test)]
mod tests;

/// Why a packet was not rewritten.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unwritten {
    /// It can not be sent.
    Refused(Verdict),
    /// It can be, once it is known what it is to be translated to: see [`full_nat`].
    ToTranslate,
}

impl From<Verdict> for Unwritten {
    #[inline(always)]
    fn from(verdict: Verdict) -> Self {
        Self::Refused(verdict)
    }
}

/// Rewrites a packet so that the interface sends it to the target that `way` leads to. What has to
/// be put around it is returned. `backend` is asked for the target's address, `station` for that of the
/// interface that the packet came by, if it may be another than the one that it leaves by, and `tunnels` for what
/// is set for them.
///
/// # Errors
/// Why it is not rewritten; the frame is as it was.
#[inline(always)]
pub fn write(
    packet: Packet<'_>,
    way: &Way<impl Fn(usize) -> u64>,
    backend: impl FnOnce() -> Address,
    station: impl FnOnce() -> Mac,
    tunnels: impl Fn() -> Tunnels,
) -> Result<Envelope, Unwritten> {
    let Packet {
        mut frame, flow, ..
    } = packet;
    let (next_hop, source) = (way.next_hop(), way.source());
    if !next_hop.is_known() || !source.is_known() {
        return Err(Verdict::NoNextHop.into());
    }
    // A promiscuous interface, a bridge's port or a switch that floods also shows frames for others,
    // who would serve the same packet.
    let station = match way.forward().leaves_as_it_came() {
        true => source,
        false => station(),
    };
    if frame.ethernet().destination.mac() != station {
        return Err(Verdict::NotOurs.into());
    }
    if flow.ip_length > way.mtu().into() {
        return Err(Verdict::TooBig.into());
    }
    match way.forward().mode() {
        ForwardMode::L2_DSR => {
            hop::take(&mut frame, 1).ok_or(Verdict::TtlExpired)?;
            l2_dsr::write(frame.ethernet(), next_hop, source);
            Ok(Envelope::none(frame.family()))
        }
        ForwardMode::IPIP => {
            let (tuple, length, tunnels) = (&flow.tuple, flow.ip_length, tunnels());
            let envelope = Envelope::ipip(&frame, tuple, length, backend(), &tunnels);
            hop::take(&mut frame, tunnels.hops).ok_or(Verdict::TtlExpired)?;
            Ok(envelope)
        }
        ForwardMode::GUE => {
            let (tuple, length, tunnels) = (&flow.tuple, flow.ip_length, tunnels());
            let envelope = Envelope::gue(&frame, tuple, length, backend(), &tunnels);
            hop::take(&mut frame, tunnels.hops).ok_or(Verdict::TtlExpired)?;
            Ok(envelope)
        }
        ForwardMode::FULL_NAT if hop::ends(&frame, 1) => Err(Verdict::TtlExpired.into()),
        ForwardMode::FULL_NAT => Err(Unwritten::ToTranslate),
        ForwardMode::HOST => Ok(Envelope::none(frame.family())),
        _ => Err(Verdict::NoTarget.into()),
    }
}
