//! Counts packets and the bytes of their frames.

use lb_common::{
    Counter, Counters, Cpu, FlowEvent, NAMED_COUNT, SERVICE_COUNT, ServiceCounter, TARGET_COUNT,
    Verdict,
};
use lb_ebpf::word;

use super::tables;

/// Bits of the places that verdicts and flow events have.
const NAMED: u16 = NAMED_COUNT as u16 - 1;

/// Counts what became of a packet.
#[inline(always)]
pub(super) fn verdict(verdict: Verdict, bytes: u64) {
    if let Some(Cpu { counters, .. }) = tables::cpu() {
        let place = word::masked::<NAMED>(verdict as u64);
        add(&mut counters.verdicts[place], bytes);
    }
}

/// Counts what became of a look-up in the flow table.
#[inline(always)]
pub(super) fn event(event: FlowEvent, bytes: u64) {
    if let Some(Cpu { counters, .. }) = tables::cpu() {
        let place = word::masked::<NAMED>(event as u64);
        add(&mut counters.flow_events[place], bytes);
    }
}

/// Counts a packet of a known flow that was sent to a target, as most packets are. So it costs two
/// counters and not four: see [`lb_common::ServiceCounter`].
#[inline(always)]
pub(super) fn hit(service: u32, target: u16, bytes: u64) {
    if let Some(Cpu { counters, .. }) = tables::cpu() {
        hit_again(counters, service, target, bytes);
    }
}

/// The same where the counters of this CPU were found already.
#[inline(always)]
pub(super) fn hit_again(counters: &mut Counters, service: u32, target: u16, bytes: u64) {
    add(&mut of_service(counters, service).hits, bytes);
    add(of_target(counters, target), bytes);
}

/// Counts any other packet that is sent to a target.
#[inline(always)]
pub(super) fn sent(service: u32, target: u16, bytes: u64) {
    if let Some(Cpu { counters, .. }) = tables::cpu() {
        add(&mut of_service(counters, service).others, bytes);
        add(of_target(counters, target), bytes);
        add(&mut counters.verdicts[Verdict::Forwarded as usize], bytes);
    }
}

/// Counts a packet to a service that is not sent.
#[inline(always)]
pub(super) fn service(id: u32, bytes: u64) {
    if let Some(Cpu { counters, .. }) = tables::cpu() {
        add(&mut of_service(counters, id).others, bytes);
    }
}

#[inline(always)]
fn of_service(counters: &mut Counters, id: u32) -> &mut ServiceCounter {
    &mut counters.services[id as usize % SERVICE_COUNT]
}

#[inline(always)]
fn of_target(counters: &mut Counters, id: u16) -> &mut Counter {
    &mut counters.targets[usize::from(id) % TARGET_COUNT]
}

#[inline(always)]
fn add(counter: &mut Counter, bytes: u64) {
    counter.packets += 1;
    counter.bytes += bytes;
}
