//! The packet log.

use core::net::Ipv4Addr;

use aya_log_ebpf::debug;
use lb_common::{Address, Verdict};
use lb_ebpf::parse::Flow;

use super::settings::PACKET_LOG;

/// Logs what became of a packet of a service, if the log is on. `target` is 0 if it was not sent.
#[inline(always)]
pub(super) fn packet(flow: &Flow, verdict: Verdict, target: u16) {
    if PACKET_LOG.load() != 0 {
        let ports = [flow.tuple.client_port, flow.tuple.service_port].map(u16::from_be_bytes);
        let [client, service] = [flow.tuple.client, flow.tuple.service].map(v4);
        write(client, service, ports, (verdict, target));
    }
}

/// On a stack frame of its own, with no more arguments than the five registers that there are. It
/// takes no reference to the flow, or every packet's flow would be put into memory.
#[inline(never)]
fn write(
    client: Ipv4Addr,
    service: Ipv4Addr,
    [client_port, service_port]: [u16; 2],
    (verdict, target): (Verdict, u16),
) {
    debug!(
        (), // a context that the macro does not use
        "{}: {:i}:{} -> {:i}:{}, target {}",
        verdict.label(),
        client,
        client_port,
        service,
        service_port,
        target
    );
}

/// The last word of an address, which is all of an IPv4 address.
fn v4(address: Address) -> Ipv4Addr {
    let [.., last] = address.words();
    Ipv4Addr::from_bits(last)
}
