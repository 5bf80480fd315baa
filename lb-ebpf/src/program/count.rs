//! Counts packets and the bytes of their frames.

use lb_common::{FlowEvent, Verdict};

use super::{maps, tables};

/// Counts what became of a packet.
#[inline(always)]
pub(super) fn verdict(verdict: Verdict, bytes: u64) {
    tables::add(&maps::VERDICTS, verdict as u32, |it| it, bytes);
}

/// Counts what became of a look-up in the flow table.
#[inline(always)]
pub(super) fn event(event: FlowEvent, bytes: u64) {
    tables::add(&maps::FLOW_EVENTS, event as u32, |it| it, bytes);
}

/// Counts a packet of a known flow that was sent to a target, as most packets are. So it costs two
/// counters and not four: see [`lb_common::ServiceCounter`].
#[inline(always)]
pub(super) fn hit(service: u32, target: u16, bytes: u64) {
    tables::add(&maps::SERVICE_COUNTERS, service, |it| &mut it.hits, bytes);
    self::target(target, bytes);
}

/// Counts any other packet to a service, whatever becomes of it.
#[inline(always)]
pub(super) fn service(id: u32, bytes: u64) {
    tables::add(&maps::SERVICE_COUNTERS, id, |it| &mut it.others, bytes);
}

/// Counts a packet that is sent to a target.
#[inline(always)]
pub(super) fn target(target: u16, bytes: u64) {
    tables::add(&maps::TARGET_COUNTERS, target.into(), |it| it, bytes);
}
