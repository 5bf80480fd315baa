//! How a packet would fare as the first of its flow, for `waggle explain`. It leaves no trace: no
//! flow is looked up or remembered, nothing is counted, and nobody is told that a packet is rejected.

use aya_ebpf::bindings::xdp_md;
use lb_common::{Proof, Verdict};
use lb_ebpf::{
    forward::Unwritten,
    parse::{self, Family},
};

use super::{packet::Packet, rings::Row, services, write};

/// Forwards the packet as a new flow's, and puts the way to its target in front of it.
#[inline(never)]
pub(super) fn prove(context: *mut xdp_md, family: Family) -> Verdict {
    let mut packet = Packet::new(context);
    let mut proof = Proof::of(Verdict::NotOurs);
    let verdict = decide(&mut packet, family, &mut proof).unwrap_or_else(|verdict| verdict);
    proof.verdict = verdict as u16;
    packet.put_proof(&proof);
    verdict
}

#[inline(always)]
fn decide(packet: &mut Packet, family: Family, proof: &mut Proof) -> Result<Verdict, Verdict> {
    let mut parsed =
        parse::packet(&mut packet.cursor(), family).map_err(|_skip| Verdict::NotOurs)?;
    let tuple = parsed.flow.tuple;
    let service = services::find(&tuple).ok_or(Verdict::NotOurs)?;
    let keys = service.tables.keys();
    let row = Row::of(&tuple, &service)?;
    proof.class = row.class;
    proof.ring = row.ring;
    let target = row.choose(&tuple, &service, keys.ring)?;
    proof.target = target.id;
    // Whichever interface it would come by.
    parsed
        .frame
        .ethernet()
        .destination
        .set(target.way().source());
    let station = || target.way().source();
    match write(parsed, &target, station) {
        Ok(envelope) => packet.enclose(&envelope, &target)?,
        Err(Unwritten::ToTranslate) => {}
        Err(Unwritten::Refused(verdict)) => return Err(verdict),
    }
    Ok(Verdict::Forwarded)
}
