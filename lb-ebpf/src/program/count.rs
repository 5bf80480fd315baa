//! Counts packets and the bytes of their frames.

use lb_common::{FlowEvent, Verdict};

use super::{maps, tables};

/// Counts what became of a packet.
#[inline(always)]
pub(super) fn verdict(verdict: Verdict, bytes: u64) {
    tables::add(&maps::VERDICTS, verdict as u32, bytes);
}

/// Counts what became of a look-up in the flow table.
#[inline(always)]
pub(super) fn event(event: FlowEvent, bytes: u64) {
    tables::add(&maps::FLOW_EVENTS, event as u32, bytes);
}

/// Counts a packet of a known flow that was sent to a target, as most packets are. So it costs three
/// counters and not four: whoever reads adds the hits to the others that were forwarded.
#[inline(always)]
pub(super) fn sent(service: u32, target: u16, bytes: u64) {
    event(FlowEvent::Hit, bytes);
    self::service(service, bytes);
    self::target(target, bytes);
}

/// Counts a packet to a service, whatever becomes of it.
#[inline(always)]
pub(super) fn service(id: u32, bytes: u64) {
    tables::add(&maps::SERVICE_COUNTERS, id, bytes);
}

/// Counts a packet that is sent to a target.
#[inline(always)]
pub(super) fn target(target: u16, bytes: u64) {
    tables::add(&maps::TARGET_COUNTERS, target.into(), bytes);
}
