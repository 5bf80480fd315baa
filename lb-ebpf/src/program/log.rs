//! The packet log.

use core::net::{Ipv4Addr, Ipv6Addr};

use aya_ebpf::bindings::xdp_md;
use aya_log_ebpf::debug;
use lb_common::{Protocol, Verdict};
use lb_ebpf::parse::{self, Family};

use super::{outcome::Outcome, packet::Packet, settings::PACKET_LOG, tables};

/// In the place of a protocol: the packet is no whole one of TCP or UDP.
const NOTHING: Protocol = Protocol(0);

/// Whether it is on.
#[inline(always)]
pub(super) fn is_on() -> bool {
    PACKET_LOG.load() != 0
}

/// Keeps in memory what the log will name: a packet that is sent looks different then.
#[inline(always)]
pub(super) fn note(context: *mut xdp_md, family: Family) {
    let Some(line) = tables::log_line() else {
        return;
    };
    line.protocol = NOTHING;
    let mut packet = Packet::new(context);
    if let Ok(parsed) = parse::packet(&mut packet.cursor(), family) {
        *line = parsed.flow.tuple;
    }
}

/// Logs what became of the packet that was noted, if it is of a service. The verdict is told by its number:
/// the verifier goes all that is done with a name once more for every length.
#[inline(always)]
pub(super) fn write(outcome: Outcome) {
    let Some(tuple) = tables::log_line() else {
        return;
    };
    if outcome.verdict() == Verdict::NotOurs || tuple.protocol == NOTHING {
        return;
    }
    let target = outcome.target();
    let (client, service) = (tuple.client.octets(), tuple.service.octets());
    let ports = tuple.ports;
    macro_rules! write {
        ($format:literal, $client:expr, $service:expr) => {
            debug!(
                (), // a context that the macro does not use
                $format,
                outcome.number(),
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
