//! The packet log.

use core::net::{Ipv4Addr, Ipv6Addr};

use aya_ebpf::bindings::xdp_md;
use aya_log_ebpf::debug;
use lb_common::{Tuple, Verdict};
use lb_ebpf::parse::{self, Family};

use super::{outcome::Outcome, packet::Packet, settings::PACKET_LOG};

/// Keeps in memory what the log will name, if it is on: a packet that is sent looks different then.
#[inline(always)]
pub(super) fn begin(context: *mut xdp_md, family: Family) -> Option<Tuple> {
    if PACKET_LOG.load() == 0 {
        return None;
    }
    let mut packet = Packet::new(context);
    let parsed = parse::packet(&mut packet.cursor(), family).ok()?;
    Some(parsed.flow.tuple)
}

/// Logs what became of a packet of a service, if the log is on.
#[inline(always)]
pub(super) fn end(line: &Option<Tuple>, outcome: Outcome) {
    if PACKET_LOG.load() != 0 && outcome.verdict() != Verdict::NotOurs {
        write(line, outcome);
    }
}

/// On a stack frame of its own.
#[inline(never)]
fn write(line: &Option<Tuple>, outcome: Outcome) {
    let Some(tuple) = line else {
        return;
    };
    let (verdict, target) = (outcome.verdict(), outcome.target());
    let (client, service) = (tuple.client.octets(), tuple.service.octets());
    let ports = tuple.ports;
    macro_rules! write {
        ($format:literal, $client:expr, $service:expr) => {
            debug!(
                (), // a context that the macro does not use
                $format,
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
        write!("{}: {:i}:{} -> {:i}:{}, target {}", v4(client), v4(service));
    } else {
        let [client, service] = [client, service].map(Ipv6Addr::from);
        write!("{}: [{:i}]:{} -> [{:i}]:{}, target {}", client, service);
    }
}
