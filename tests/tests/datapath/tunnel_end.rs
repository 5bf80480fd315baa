//! The lab's end of a tunnel, by the frames that the edge sends into it.

use lb_tests::{
    datapath::{
        edge::{
            ENDS_V4, ENDS_V6, Ran, Through, XDP_PASS, forwarded, gue_v4, gue_v6, target,
            through_v4, through_v6,
        },
        packet::{Packet, data, set_ip_checksum, syn_v6},
    },
    lab::TunnelEnd,
};

/// The outer header begins behind the Ethernet header.
const OUTER: usize = 14;

fn end() -> TunnelEnd {
    TunnelEnd::load(ENDS_V4[1].into(), ENDS_V6[1].into())
}

/// The packet as it leaves the edge in a tunnel, and as it is in there.
fn tunnelled(packet: &Packet, through: Through) -> (Vec<u8>, Vec<u8>) {
    let frame = packet.clone().payload(100).bytes();
    let direct = target(1);
    let tunnelled = forwarded(&frame, &through(direct));
    (tunnelled, forwarded(&frame, &direct))
}

/// What is changed in a frame.
type Change = (&'static str, fn(&mut Vec<u8>));

/// Runs each and shows that it passes as it is.
fn all_pass_untouched(end: &TunnelEnd, frame: &[u8], changes: &[Change]) {
    for (name, change) in changes {
        let mut frame = frame.to_vec();
        change(&mut frame);
        let ran = Ran::of(end.program(), &frame);
        let action = XDP_PASS;
        assert_eq!(ran, Ran { action, frame }, "{name}");
    }
}

/// Changes bytes of the outer IPv4 header, and makes its checksum right again.
fn mended(frame: &mut [u8], change: impl FnOnce(&mut [u8])) {
    let packet = &mut frame[OUTER..];
    change(packet);
    set_ip_checksum(packet);
}

#[test]
fn what_the_edge_sends_is_taken_apart() {
    let end = end();
    for through in [through_v4 as Through, through_v6, gue_v4, gue_v6] {
        for packet in [data(), syn_v6()] {
            let (outer, frame) = tunnelled(&packet, through);
            let ran = Ran::of(end.program(), &outer);
            let action = XDP_PASS;
            assert_eq!(ran, Ran { action, frame });
        }
    }
    assert_eq!(end.packets(), [[1, 1], [1, 1]]);
    assert_eq!(end.datagrams(), [[1, 1], [1, 1]]);
}

#[test]
fn a_tunnel_of_ipv4_with_any_fault_passes_untouched() {
    let end = end();
    let (frame, _) = tunnelled(&data(), through_v4);
    all_pass_untouched(
        &end,
        &frame,
        &[
            ("a wrong checksum", |frame| frame[OUTER + 10] ^= 1),
            ("a byte more than it says", |frame| frame.push(0)),
            ("a byte less than it says", |frame| {
                frame.pop();
            }),
            ("more fragments follow", |frame| {
                mended(frame, |ip| ip[6] |= 0x20);
            }),
            ("a later fragment", |frame| mended(frame, |ip| ip[7] = 1)),
            ("options", |frame| mended(frame, |ip| ip[0] = 0x46)),
            ("another version", |frame| mended(frame, |ip| ip[0] = 0x65)),
            ("another protocol", |frame| mended(frame, |ip| ip[9] = 47)),
            ("another end", |frame| mended(frame, |ip| ip[19] ^= 1)),
            ("IPv6 within", |frame| frame[OUTER + 20] = 0x65),
            ("another EtherType", |frame| frame[12] = 0x81),
            ("half a header within", |frame| {
                frame.truncate(OUTER + 30);
                mended(frame, |ip| ip[2..4].copy_from_slice(&[0, 30]));
            }),
            ("no whole header", |frame| frame.truncate(OUTER + 19)),
        ],
    );
    assert_eq!(end.packets(), [[0, 0], [0, 0]]);
}

#[test]
fn a_tunnel_of_ipv6_with_any_fault_passes_untouched() {
    let end = end();
    let (frame, _) = tunnelled(&syn_v6(), through_v6);
    all_pass_untouched(
        &end,
        &frame,
        &[
            ("a byte more than it says", |frame| frame.push(0)),
            ("a byte less than it says", |frame| {
                frame.pop();
            }),
            ("a fragment", |frame| frame[OUTER + 6] = 44),
            ("another version", |frame| frame[OUTER] = 0x45),
            ("another end", |frame| frame[OUTER + 39] ^= 1),
            ("IPv4 within", |frame| frame[OUTER + 40] = 0x45),
            ("another EtherType", |frame| frame[12] = 0x81),
            ("half a header within", |frame| {
                frame.truncate(OUTER + 60);
                frame[OUTER + 4..OUTER + 6].copy_from_slice(&[0, 20]);
            }),
            ("no whole header", |frame| frame.truncate(OUTER + 39)),
        ],
    );
    assert_eq!(end.packets(), [[0, 0], [0, 0]]);
}

#[test]
fn a_datagram_with_any_fault_passes_untouched() {
    const UDP: usize = OUTER + 20;
    let end = end();
    let (frame, _) = tunnelled(&data(), gue_v4);
    all_pass_untouched(
        &end,
        &frame,
        &[
            ("a port for others", |frame| frame[UDP] = 0x7f),
            ("another port", |frame| frame[UDP + 3] ^= 1),
            ("a byte more than it says", |frame| frame[UDP + 5] -= 1),
            ("a byte less than it says", |frame| frame[UDP + 5] += 1),
            ("a checksum", |frame| frame[UDP + 7] = 1),
            ("another variant", |frame| frame[UDP + 8] = 0x40),
            ("a control message", |frame| frame[UDP + 8] = 0x20),
            ("options", |frame| frame[UDP + 8] = 1),
            ("another protocol", |frame| frame[UDP + 9] = 47),
            ("flags", |frame| frame[UDP + 11] = 1),
            ("IPv6 within", |frame| frame[UDP + 12] = 0x65),
        ],
    );
    assert_eq!(end.datagrams(), [[0, 0], [0, 0]]);
}
