//! The packet log.

use core::net::Ipv4Addr;

use aya_log_ebpf::debug;
use lb_common::{Address, Verdict};
use lb_ebpf::parse::Flow;

use super::{packet::Packet, settings::PACKET_LOG};

/// Logs what became of a packet of a service, if the log is on. `target` is 0 if it was not sent.
#[inline(always)]
pub(super) fn packet(packet: &Packet<'_>, flow: &Flow, verdict: Verdict, target: u16) {
    if PACKET_LOG.load() != 0 {
        write(packet, flow, verdict, target);
    }
}

/// On a stack frame of its own.
#[inline(never)]
fn write(packet: &Packet<'_>, flow: &Flow, verdict: Verdict, target: u16) {
    debug!(
        packet.context,
        "{}: {:i}:{} -> {:i}:{}, target {}",
        verdict.label(),
        v4(flow.tuple.client),
        u16::from_be_bytes(flow.tuple.client_port),
        v4(flow.tuple.service),
        u16::from_be_bytes(flow.tuple.service_port),
        target
    );
}

/// The last word of an address, which is all of an IPv4 address.
fn v4(address: Address) -> Ipv4Addr {
    let [.., last] = address.words();
    Ipv4Addr::from_bits(last)
}
