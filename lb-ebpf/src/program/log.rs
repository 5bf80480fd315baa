//! The packet log.

use core::net::{Ipv4Addr, Ipv6Addr};

use aya_log_ebpf::debug;
use lb_common::{Tuple, Verdict};
use lb_ebpf::parse::Flow;

use super::settings::PACKET_LOG;

/// Keeps in memory what the log will name, if it is on. Were the flow itself handed to [`end`], it
/// would have to be kept for every packet.
#[inline(always)]
pub(super) fn begin(flow: &Flow) -> Option<Tuple> {
    (PACKET_LOG.load() != 0).then_some(flow.tuple)
}

/// Logs what became of a packet of a service, if the log is on. `target` is 0 if it was not sent.
#[inline(always)]
pub(super) fn end(line: &Option<Tuple>, verdict: Verdict, target: u16) {
    if PACKET_LOG.load() != 0 {
        write(line, verdict, target);
    }
}

/// On a stack frame of its own.
#[inline(never)]
fn write(line: &Option<Tuple>, verdict: Verdict, target: u16) {
    let Some(tuple) = line else {
        return;
    };
    let (client, service) = (tuple.client.octets(), tuple.service.octets());
    let ports = tuple.ports;
    macro_rules! write {
        ($client:expr, $service:expr) => {
            debug!(
                (), // a context that the macro does not use
                "{}: {:i} port {} -> {:i} port {}, target {}",
                verdict.label(),
                $client,
                ports.client(),
                $service,
                ports.service(),
                target
            )
        };
    }
    if tuple.client.is_v4() {
        let v4 = |[.., a, b, c, d]: [u8; 16]| Ipv4Addr::new(a, b, c, d);
        write!(v4(client), v4(service));
    } else {
        write!(Ipv6Addr::from(client), Ipv6Addr::from(service));
    }
}
