//! How a packet would fare as the first of its flow, for `waggle explain`. It leaves no trace: no
//! flow is looked up or remembered, nothing is counted.

use lb_common::{Proof, Verdict};
use lb_ebpf::{forward, parse};

use super::{packet::Packet, rings::Row, services, tables};

/// Forwards the packet as a new flow's, and puts the way to its target in front of it.
#[inline(always)]
pub(super) fn prove(packet: &mut Packet<'_>) -> Verdict {
    let mut proof = Proof::of(Verdict::NotOurs);
    let verdict = decide(packet, &mut proof).unwrap_or_else(|verdict| verdict);
    proof.verdict = verdict as u16;
    packet.put_proof(&proof);
    verdict
}

#[inline(always)]
fn decide(packet: &mut Packet<'_>, proof: &mut Proof) -> Result<Verdict, Verdict> {
    let flow = parse::flow(&mut packet.cursor()).map_err(|_| Verdict::NotOurs)?;
    let service = services::find(&flow.tuple).ok_or(Verdict::NotOurs)?;
    let keys = tables::keys().ok_or(Verdict::NoTarget)?;
    let row = Row::of(&flow.tuple, &service)?;
    proof.class = row.class;
    proof.ring = row.ring;
    let (id, target) = row.choose(&flow.tuple, &service, keys.ring)?;
    proof.target = id;
    forward::write(&mut packet.cursor(), flow.ip_length, &target)?;
    Ok(Verdict::Forwarded)
}
