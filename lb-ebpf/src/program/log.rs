//! The packet log.

use core::{
    hint,
    net::{Ipv4Addr, Ipv6Addr},
};

use aya_ebpf::bindings::xdp_md;
use aya_log_ebpf::debug;
use lb_common::{Protocol, VERDICTS, Verdict};
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

/// Logs what became of the packet that was noted, if it is of a service.
#[inline(always)]
pub(super) fn write(outcome: Outcome) {
    let Some(tuple) = tables::log_line() else {
        return;
    };
    if outcome.verdict() == Verdict::NotOurs || tuple.protocol == NOTHING {
        return;
    }
    let (verdict, target) = (outcome.verdict(), outcome.target());
    let (client, service) = (tuple.client.octets(), tuple.service.octets());
    let ports = tuple.ports;
    let label = label(verdict);
    macro_rules! write {
        ($format:literal, $client:expr, $service:expr) => {
            debug!(
                (), // a context that the macro does not use
                $format,
                $client,
                ports.client(),
                $service,
                ports.service(),
                target,
                label
            )
        };
    }
    if tuple.client.is_v4() {
        let v4 = |[.., a, b, c, d]: [u8; 16]| Ipv4Addr::new(a, b, c, d);
        write!("{:i}:{} -> {:i}:{}, target {}: {}", v4(client), v4(service));
    } else {
        let [client, service] = [client, service].map(Ipv6Addr::from);
        write!("[{:i}]:{} -> [{:i}]:{}, target {}: {}", client, service);
    }
}

/// Bytes of a label, the longest one's.
const WIDTH: usize = {
    let mut longest = 0;
    let mut i = 0;
    while i < VERDICTS.len() {
        let length = VERDICTS[i].label().len();
        longest = if length > longest { length } else { longest };
        i += 1;
    }
    longest
};

/// The labels by number, all as long as the longest: whatever the verdict is, the verifier has one way
/// through what writes it.
static LABELS: [[u8; WIDTH]; VERDICTS.len()] = {
    let mut labels = [[b' '; WIDTH]; VERDICTS.len()];
    let mut i = 0;
    while i < VERDICTS.len() {
        let label = VERDICTS[i].label().as_bytes();
        labels[i].split_at_mut(label.len()).0.copy_from_slice(label);
        i += 1;
    }
    labels
};

/// The label of a verdict, with spaces behind it.
#[inline(always)]
fn label(verdict: Verdict) -> &'static str {
    let number = (hint::black_box(verdict as u32) as usize).min(VERDICTS.len() - 1);
    // SAFETY: a label is text, and spaces are.
    unsafe { str::from_utf8_unchecked(&LABELS[number]) }
}
