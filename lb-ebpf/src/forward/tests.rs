extern crate std;

use std::{vec, vec::Vec};

use lb_common::{Address, Outer, Target};

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

/// A tunnel for packets of one family.
fn tunnel(v4: bool) -> Target {
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
        forward: ForwardMode::IPIP,
        mtu: 1460,
        address,
        outer,
        ..DSR
    }
}

/// Forwards a frame as the program does; what is refused must be as it was.
fn sent(frame: &[u8], target: &Target) -> Result<Vec<u8>, Verdict> {
    let mut frame = frame.to_vec();
    let before = frame.clone();
    let mut cursor = Cursor::from(&mut frame[..]);
    let family = parse::family(&mut Cursor::from(&mut before.clone()[..])).unwrap();
    let packet = parse::packet(&mut cursor, family).unwrap();
    let written = write(packet, &target.way(), || target.address);
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

/// Puts an envelope over the first bytes of a frame.
fn put(envelope: &Envelope, frame: &mut [u8], target: &Target) -> Option<()> {
    let tunnel = Tunnel {
        address: target.address,
        outer: target.outer,
    };
    envelope.write(&mut Cursor::from(frame), &target.way(), &tunnel)
}

/// The IP packet of a frame, one hop further.
fn one_hop_further(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    hop::take(&mut headers(&mut frame)).unwrap();
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

#[test]
fn ipip_puts_a_header_of_the_same_family_around_the_packet() {
    for sample in samples::valid() {
        for class in [0, 1, 0xb8, 0xff] {
            let mut frame = sample.frame.clone();
            let target = tunnel(sample.is_v4());
            let mut expected = [&DSR.next_hop[..], &DSR.source, &frame[12..14]].concat();
            if sample.is_v4() {
                frame[15] = class;
                let [high, low] = (sample.ip_length as u16 + 20).to_be_bytes();
                let mut outer = [
                    0x45, class, high, low, 0, 0, 0x40, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9,
                ];
                let sum = hop::tests::checksum(&outer);
                outer[10..12].copy_from_slice(&sum);
                expected.extend(outer);
            } else {
                frame[14] = 0x60 | class >> 4;
                frame[15] = class << 4 | 0xc;
                expected.extend(&frame[14..18]);
                expected.extend((sample.ip_length as u16).to_be_bytes());
                expected.extend([41, 64]);
                for last in [1, 9] {
                    expected.extend([0xfd; 15]);
                    expected.push(last);
                }
            }
            expected.extend(one_hop_further(&frame));
            let name = sample.name;
            assert_eq!(sent(&frame, &target), Ok(expected), "{name}, {class:#x}");
        }
    }
}

#[test]
fn the_outer_checksum_is_right_for_every_length() {
    for length in 28..=65_515_u16 {
        let tunnel = tunnel(true);
        let mut frame = samples::v4(17, 0, &samples::datagram(0));
        let frame = headers(&mut frame);
        let envelope = Envelope::around(&frame, length.into(), tunnel.address).unwrap();
        let mut grown = [0; 34];
        put(&envelope, &mut grown, &tunnel).unwrap();
        let mut header = grown[14..].to_vec();
        let stands = [header[10], header[11]];
        header[10..12].fill(0);
        assert_eq!(hop::tests::checksum(&header), stands, "{length}");
    }
}

#[test]
fn a_tunnel_of_the_other_family_is_no_way() {
    for sample in samples::valid() {
        let target = tunnel(!sample.is_v4());
        let refused = sent(&sample.frame, &target);
        assert_eq!(refused, Err(Verdict::NoTarget), "{}", sample.name);
    }
}

#[test]
fn the_mtu_is_the_largest_packet_that_is_sent() {
    for sample in samples::valid() {
        let length = sample.ip_length as u16;
        for target in [DSR, tunnel(sample.is_v4())] {
            let of = |mtu| sent(&sample.frame, &Target { mtu, ..target });
            assert!(of(length).is_ok(), "{}", sample.name);
            assert_eq!(of(length - 1), Err(Verdict::TooBig), "{}", sample.name);
        }
    }
}

#[test]
fn an_envelope_is_not_written_into_a_frame_that_is_shorter() {
    for sample in samples::valid() {
        let mut frame = sample.frame.clone();
        let mut cursor = Cursor::from(&mut frame[..]);
        let family = match sample.is_v4() {
            true => parse::Family::V4,
            false => parse::Family::V6,
        };
        let packet = parse::packet(&mut cursor, family).unwrap();
        let target = tunnel(sample.is_v4());
        let written = write(packet, &target.way(), || target.address);
        let envelope = written.unwrap();
        let mut grown = vec![0; 14 + envelope.growth()];
        for length in 0..grown.len() {
            let written = put(&envelope, &mut grown[..length], &target);
            assert_eq!(written, None, "{length}");
        }
        assert!(put(&envelope, &mut grown, &target).is_some());
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
        forward: ForwardMode(77),
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
fn a_packet_whose_time_to_live_ends_here_is_left_alone() {
    for sample in samples::valid() {
        for target in [DSR, tunnel(sample.is_v4())] {
            for ttl in [0, 1] {
                let mut frame = sample.frame.clone();
                frame[if sample.is_v4() { 22 } else { 21 }] = ttl;
                let refused = sent(&frame, &target);
                assert_eq!(refused, Err(Verdict::TtlExpired), "{}", sample.name);
            }
        }
    }
}
