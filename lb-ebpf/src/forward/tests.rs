extern crate std;

use std::{vec, vec::Vec};

use lb_common::{Address, Nat, Outer, Target};

use super::*;
use crate::{
    cursor::Cursor,
    parse,
    samples::{self, Sample},
};

const DSR: Target = Target {
    next_hop: [2, 0, 0, 0, 0, 9],
    mtu: 1500,
    source: [2, 0, 0, 0, 0, 1],
    forward: ForwardMode::L2_DSR,
    identity: 1,
    ..Target::FREE
};

/// As they are unless it is set otherwise.
const TUNNELS: Tunnels = Tunnels {
    hops: 1,
    more_sources: [0; 2],
};

/// A tunnel whose outer header is of one family.
fn tunnel(forward: ForwardMode, v4: bool) -> Target {
    let (address, outer) = if v4 {
        let (edge, backend) = ([10, 0, 0, 1], [10, 0, 0, 9]);
        (Address::v4(backend), Outer::v4(edge, backend))
    } else {
        let [edge, backend] = [1, 9].map(|last| {
            let mut address = [0xfd; 16];
            address[15] = last;
            address
        });
        (Address::v6(backend), Outer::v6(edge))
    };
    Target {
        forward,
        mtu: 1448,
        address,
        outer,
        nat: Nat {
            port: 6081_u16.to_be_bytes(),
            ..Nat::NONE
        },
        ..DSR
    }
}

/// One of each kind.
fn tunnels() -> impl Iterator<Item = Target> {
    [ForwardMode::IPIP, ForwardMode::GUE]
        .into_iter()
        .flat_map(|forward| [true, false].map(|v4| tunnel(forward, v4)))
}

/// Forwards a frame as the program does; what is refused must be as it was.
fn sent(frame: &[u8], target: &Target) -> Result<Vec<u8>, Verdict> {
    let mut frame = frame.to_vec();
    let before = frame.clone();
    let written = written(&mut frame, target);
    match written {
        Ok(envelope) if envelope.growth() == 0 => Ok(frame),
        Ok(envelope) => {
            // Whatever stood in front of the frame.
            let mut grown = vec![0xa5; envelope.growth()];
            grown.extend(frame);
            put(&envelope, &mut grown, target).unwrap();
            Ok(grown)
        }
        Err(unwritten) => {
            assert_eq!(frame, before);
            match unwritten {
                Unwritten::Refused(verdict) => Err(verdict),
                Unwritten::ToTranslate => unreachable!("no target here is of full-nat"),
            }
        }
    }
}

/// Rewrites a frame that came by the interface of [`DSR`].
fn written(frame: &mut [u8], target: &Target) -> Result<Envelope, Unwritten> {
    let station = || DSR.way().source();
    write(
        packet(frame),
        &target.way(),
        || target.address,
        station,
        || TUNNELS,
    )
}

/// The packet in a frame.
fn packet(frame: &mut [u8]) -> Packet<'_> {
    let family = parse::family(&mut Cursor::from(&mut *frame)).unwrap();
    parse::packet(&mut Cursor::from(frame), family).unwrap()
}

/// Puts an envelope over the first bytes of a frame.
fn put(envelope: &Envelope, frame: &mut [u8], target: &Target) -> Option<()> {
    envelope.write(&mut Cursor::from(frame), &target.way(), target)
}

/// The IP packet of a frame, one hop further.
fn one_hop_further(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    hop::take(&mut headers(&mut frame), 1).unwrap();
    frame.split_off(14)
}

fn headers(frame: &mut [u8]) -> parse::Frame<'_> {
    let is_v4 = frame[14] >> 4 == 4;
    let mut cursor = Cursor::from(frame);
    match is_v4 {
        true => parse::Frame::V4(cursor.take().unwrap()),
        false => parse::Frame::V6(cursor.take().unwrap()),
    }
}

#[test]
fn l2_dsr_changes_the_mac_addresses_and_the_hop_and_nothing_else() {
    for Sample { name, frame, .. } in samples::valid() {
        let expected = [
            &DSR.next_hop[..],
            &DSR.source,
            &frame[12..14],
            &one_hop_further(&frame),
        ]
        .concat();
        assert_eq!(sent(&frame, &DSR), Ok(expected), "{name}");
    }
}

/// The header that a tunnel puts in front of so many bytes: of IPv4 (RFC 2003; RFC 4213) or of IPv6 (RFC 2473).
fn outer(v4: bool, protocol: u8, class: u8, label: u32, length: usize) -> Vec<u8> {
    let length = length as u16;
    if !v4 {
        let first = 6 << 28 | u32::from(class) << 20 | label;
        let mut outer = first.to_be_bytes().to_vec();
        outer.extend(length.to_be_bytes());
        outer.extend([protocol, 64]);
        for last in [1, 9] {
            outer.extend([0xfd; 15]);
            outer.push(last);
        }
        return outer;
    }
    let [high, low] = (length + 20).to_be_bytes();
    let mut outer = vec![0x45, class, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    outer.extend([10, 0, 0, 1, 10, 0, 0, 9]);
    let sum = hop::tests::checksum(&outer);
    outer[10..12].copy_from_slice(&sum);
    outer
}

/// The flow label that an outer header of the frame has.
fn label_of(frame: &[u8]) -> u32 {
    u32::from_be_bytes([0, frame[15], frame[16], frame[17]]) & 0xf_ffff
}

/// The headers that a tunnel puts around a packet.
fn envelope(target: &Target, inner: u8, class: u8, label: u32, sample: &Sample) -> Vec<u8> {
    let v4 = target.address.is_v4();
    let length = sample.ip_length;
    let mut headers = [&DSR.next_hop[..], &DSR.source].concat();
    headers.extend(if v4 { [0x08, 0x00] } else { [0x86, 0xdd] });
    if target.forward == ForwardMode::IPIP {
        headers.extend(outer(v4, inner, class, label, length));
        return headers;
    }
    headers.extend(outer(v4, 17, class, label, length + 12));
    // From the client's ports and address: 192.0.2.1:1025, or 2001:db8::1, to port 80.
    headers.extend(if inner == 4 { SOURCE_V4 } else { SOURCE_V6 });
    headers.extend(6081_u16.to_be_bytes());
    headers.extend((length as u16 + 12).to_be_bytes());
    headers.extend([0, 0, 0, inner, 0, 0]);
    headers
}

/// What the flows of the samples begin GUE's headers with.
const SOURCE_V4: [u8; 2] = [0xe1, 0xe9];
const SOURCE_V6: [u8; 2] = [0xd0, 0x9b];

#[test]
fn a_tunnel_puts_headers_of_the_backend_s_family_around_the_packet() {
    for (sample, target) in samples::valid()
        .iter()
        .flat_map(|it| tunnels().map(move |target| (it, target)))
    {
        for class in [0, 1, 0xb8, 0xff] {
            let mut frame = sample.frame.clone();
            let (inner, label) = match sample.is_v4() {
                true => {
                    frame[15] = class;
                    (4, 0x9_21e9)
                }
                false => {
                    frame[14] = 0x60 | class >> 4;
                    frame[15] = class << 4 | 0xc;
                    (41, 0xc_def0)
                }
            };
            let mut expected = envelope(&target, inner, class, label, sample);
            expected.extend(one_hop_further(&frame));
            let sent = sent(&frame, &target);
            assert_eq!(
                sent,
                Ok(expected),
                "{}, {target:?}, {class:#x}",
                sample.name
            );
        }
    }
}

#[test]
fn flows_of_ipv4_have_labels_that_spread_them_and_stay() {
    let label = |client: [u8; 4], port: u16| {
        let mut frame = samples::frame(samples::ACK, 0, 0, 0);
        frame[26..30].copy_from_slice(&client);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        label_of(&sent(&frame, &tunnel(ForwardMode::IPIP, false)).unwrap())
    };
    let by_port = (0..4096).map(|port| label([192, 0, 2, 1], 32_768 + port));
    let by_client = (0..4096_u16).map(|i| label([192, 0, (i >> 8) as u8, i as u8], 1025));
    for labels in [by_port.collect::<Vec<_>>(), by_client.collect()] {
        for shift in [0, 8, 16] {
            let mut parts = [0; 16];
            for label in &labels {
                parts[(label >> shift & 15) as usize] += 1;
            }
            assert!(parts.iter().all(|it| (150..370).contains(it)), "{parts:?}");
        }
    }
    assert_eq!(label([192, 0, 2, 1], 7), label([192, 0, 2, 1], 7));
}

#[test]
fn the_outer_checksum_is_right_for_every_length() {
    let datagram = samples::datagram(0);
    for mut frame in [
        samples::v4(17, 0, &datagram),
        samples::v6_frame(17, &[], &datagram),
    ] {
        let tunnel = tunnel(ForwardMode::IPIP, true);
        let Packet { frame, flow, .. } = packet(&mut frame);
        for (length, is_gue) in (28..=65_503).flat_map(|it| [(it, false), (it, true)]) {
            let envelope = match is_gue {
                true => Envelope::gue(&frame, &flow.tuple, length, tunnel.address, &TUNNELS),
                false => Envelope::ipip(&frame, &flow.tuple, length, tunnel.address, &TUNNELS),
            };
            let mut grown = [0; 46];
            put(&envelope, &mut grown, &tunnel).unwrap();
            let mut header = grown[14..34].to_vec();
            let stands = [header[10], header[11]];
            header[10..12].fill(0);
            assert_eq!(hop::tests::checksum(&header), stands, "{length}");
        }
    }
}

#[test]
fn the_mtu_is_the_largest_packet_that_is_sent() {
    for sample in samples::valid() {
        let length = sample.ip_length as u16;
        for target in [DSR].into_iter().chain(tunnels()) {
            let of = |mtu| sent(&sample.frame, &Target { mtu, ..target });
            assert!(of(length).is_ok(), "{}", sample.name);
            assert_eq!(of(length - 1), Err(Verdict::TooBig), "{}", sample.name);
        }
    }
}

#[test]
fn an_envelope_is_not_written_into_a_frame_that_is_shorter() {
    for sample in samples::valid() {
        for target in tunnels() {
            let mut frame = sample.frame.clone();
            let envelope = written(&mut frame, &target).unwrap();
            let mut grown = vec![0; 14 + envelope.growth()];
            for length in 0..grown.len() {
                let written = put(&envelope, &mut grown[..length], &target);
                assert_eq!(written, None, "{length}");
            }
            assert!(put(&envelope, &mut grown, &target).is_some());
        }
    }
}

#[test]
fn a_refused_frame_is_left_alone_under_its_own_verdict() {
    let unresolved = Target {
        next_hop: [0; 6],
        ..DSR
    };
    let no_source = Target {
        source: [0; 6],
        ..DSR
    };
    let unknown_mode = Target {
        forward: ForwardMode(7),
        ..DSR
    };
    let small = Target { mtu: 20, ..DSR };
    for Sample { name, frame, .. } in samples::valid() {
        for (target, verdict) in [
            (unresolved, Verdict::NoNextHop),
            (
                Target {
                    mtu: 0,
                    ..unresolved
                },
                Verdict::NoNextHop,
            ),
            (no_source, Verdict::NoNextHop),
            (small, Verdict::TooBig),
            (unknown_mode, Verdict::NoTarget),
            (Target::FREE, Verdict::NoNextHop),
        ] {
            assert_eq!(sent(&frame, &target), Err(verdict), "{name}");
        }
    }
}

#[test]
fn a_frame_for_another_station_is_not_ours_whatever_its_packet_is() {
    for Sample { name, frame, .. } in samples::valid() {
        for byte in 0..6 {
            for mtu in [1500, 20] {
                let mut frame = frame.clone();
                frame[byte] ^= 4;
                let refused = sent(&frame, &Target { mtu, ..DSR });
                assert_eq!(refused, Err(Verdict::NotOurs), "{name}, byte {byte}");
            }
        }
    }
}

#[test]
fn a_frame_that_leaves_elsewhere_is_for_the_station_that_it_came_by() {
    let by_another = |forward: ForwardMode| Target {
        source: [2, 0, 0, 0, 0, 7],
        forward: forward.elsewhere(),
        ..DSR
    };
    for Sample { name, frame, .. } in samples::valid() {
        let found = sent(&frame, &by_another(ForwardMode::L2_DSR)).unwrap();
        assert_eq!(found[6..12], [2, 0, 0, 0, 0, 7], "{name}");
        let mut to_that = frame.clone();
        to_that[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        let refused = sent(&to_that, &by_another(ForwardMode::L2_DSR));
        assert_eq!(refused, Err(Verdict::NotOurs), "{name}");
    }
}

#[test]
fn a_packet_for_the_edge_itself_is_left_as_it_is() {
    for Sample { name, frame, .. } in samples::valid() {
        let target = Target {
            forward: ForwardMode::HOST.elsewhere(),
            ..DSR
        };
        let mut to_another = frame.clone();
        to_another[5] ^= 4;
        assert_eq!(sent(&frame, &target), Ok(frame.clone()), "{name}");
        assert_eq!(sent(&to_another, &target), Err(Verdict::NotOurs), "{name}");
    }
}

#[test]
fn a_packet_whose_time_to_live_ends_here_is_left_alone() {
    for sample in samples::valid() {
        for target in [DSR].into_iter().chain(tunnels()) {
            for ttl in [0, 1] {
                let mut frame = sample.frame.clone();
                frame[if sample.is_v4() { 22 } else { 21 }] = ttl;
                let refused = sent(&frame, &target);
                assert_eq!(refused, Err(Verdict::TtlExpired), "{}", sample.name);
            }
        }
    }
}
