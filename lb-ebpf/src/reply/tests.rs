extern crate std;

use std::{vec, vec::Vec};

use lb_common::Protocol;

use super::*;
use crate::{
    parse,
    samples::{
        ACK, CLIENT_V4, CLIENT_V6, FIN, RST, SERVICE_V4, SERVICE_V6, SYN, Sample, TCP, UDP,
        datagram, frame, segment, syn, v4, v6_frame, valid,
    },
};

fn reply(frame: &[u8], cause: Cause) -> Option<Reply> {
    let mut frame = frame.to_vec();
    let family = parse::family(&mut Cursor::from(&mut frame[..]))?;
    let mut cursor = Cursor::from(&mut frame[..]);
    Reply::of(&mut parse::packet(&mut cursor, family).ok()?, cause)
}

/// What goes back, in a frame that is cut to `length` bytes before it is written.
fn answered_in(frame: &[u8], reply: &Reply, length: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xee; reply.growth()];
    out.extend(frame);
    out.truncate(length);
    let quoted = reply.quoted(&mut Cursor::from(&mut out[..]))?;
    reply.write(&mut Cursor::from(&mut out[..]), quoted)?;
    Some(out)
}

fn told(frame: &[u8], cause: Cause) -> Option<Vec<u8>> {
    let reply = reply(frame, cause)?;
    answered_in(frame, &reply, reply.length() as usize)
}

/// What goes back if the packet is rejected.
fn answered(frame: &[u8]) -> Option<Vec<u8>> {
    told(frame, Cause::Rejected)
}

/// The checksum of bytes in which it is 0, by the text of RFC 1071.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum = 0_u64;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// The frame's header and IP header in front of `payload`, whose checksum at `check` is 0 yet and
/// covers a pseudo-header if it is to.
fn packet(v4: bool, tos: u8, protocol: u8, pseudo: bool, check: usize, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let ends = if v4 {
        [SERVICE_V4.as_slice(), &CLIENT_V4].concat()
    } else {
        [SERVICE_V6.as_slice(), &CLIENT_V6].concat()
    };
    let mut summed = Vec::new();
    if pseudo {
        summed.extend(&ends);
        summed.extend([0, protocol]);
        summed.extend(length.to_be_bytes());
    }
    summed.extend(payload);
    let mut payload = payload.to_vec();
    payload[check..check + 2].copy_from_slice(&checksum(&summed));
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if v4 {
        let [high, low] = (length + 20).to_be_bytes();
        let mut header = vec![0x45, tos, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0];
        header.extend(&ends);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum);
        frame.extend([0x08, 0x00]);
        frame.extend(header);
    } else {
        let [high, low] = length.to_be_bytes();
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, protocol, 64]);
        frame.extend(&ends);
    }
    frame.extend(payload);
    frame
}

fn reset(v4: bool, sequence: u32, acknowledgment: u32, flags: u8) -> Vec<u8> {
    let mut segment = vec![0, 80, 4, 1];
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledgment.to_be_bytes());
    segment.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
    packet(v4, 0, TCP, true, 16, &segment)
}

/// The ICMP error about a frame's packet of this length.
fn unreachable(v4: bool, frame: &[u8], length: usize) -> Vec<u8> {
    let what = if v4 { [3, 13] } else { [1, 1] };
    error(v4, what, 0, frame, length)
}

/// The same of this type and code, with a number behind the checksum.
fn error(v4: bool, what: [u8; 2], number: u32, frame: &[u8], length: usize) -> Vec<u8> {
    let most = if v4 { 548 } else { 1232 };
    let mut payload = what.to_vec();
    payload.extend([0; 2]);
    payload.extend(number.to_be_bytes());
    payload.extend(&frame[14..14 + length.min(most)]);
    let (tos, protocol) = if v4 { (0xc0, 1) } else { (0, 58) };
    packet(v4, tos, protocol, !v4, 2, &payload)
}

#[test]
fn a_packet_of_every_shape_is_answered() {
    for sample in valid() {
        let Sample { name, frame, .. } = &sample;
        let back = answered(frame);
        let expected = if sample.protocol == UDP {
            unreachable(sample.is_v4(), frame, sample.ip_length)
        } else if name.contains("SYN") || *name == "padding" {
            reset(sample.is_v4(), 0, 6, RST | ACK)
        } else {
            reset(sample.is_v4(), 6, 0, RST)
        };
        assert_eq!(back, Some(expected), "{name}");
    }
}

#[test]
fn whatever_is_too_big_or_has_no_hop_left_is_told_in_an_error() {
    for sample in valid() {
        let Sample { name, frame, .. } = &sample;
        let v4 = sample.is_v4();
        let types = if v4 {
            [[3, 4], [11, 0]]
        } else {
            [[2, 0], [3, 0]]
        };
        for (cause, what, number) in [
            (Cause::TooBig(1480), types[0], 1480),
            (Cause::TooBig(u16::MAX), types[0], 65_535),
            (Cause::Expired, types[1], 0),
        ] {
            let expected = error(v4, what, number, frame, sample.ip_length);
            assert_eq!(told(frame, cause), Some(expected), "{name}, {cause:?}");
        }
    }
    // A reset is told too: only in answer to a reset no other may go back.
    assert!(told(&frame(RST, 0, 0, 0), Cause::Expired).is_some());
}

#[test]
fn a_frame_of_any_other_length_is_left_alone_or_answered_within_it() {
    for Sample { name, frame, .. } in valid() {
        let reply = reply(&frame, Cause::Rejected).unwrap();
        let headers = match (reply.family, reply.reset) {
            (Family::V4, Some(_)) => 54,
            (Family::V6, Some(_)) => 74,
            (Family::V4, None) => 42,
            (Family::V6, None) => 62,
        };
        for length in 0..frame.len() + reply.growth() {
            let back = answered_in(&frame, &reply, length);
            assert_eq!(back.is_some(), length >= headers, "{name} in {length}");
        }
    }
}

#[test]
fn a_reset_takes_its_numbers_from_the_segment() {
    for (flags, payload, expected) in [
        (SYN, 0, reset(true, 0, 6, RST | ACK)),
        (SYN, 100, reset(true, 0, 106, RST | ACK)),
        (SYN | FIN, 100, reset(true, 0, 107, RST | ACK)),
        (FIN, 7, reset(true, 0, 13, RST | ACK)),
        (0, 0, reset(true, 0, 5, RST | ACK)),
        (ACK, 100, reset(true, 6, 0, RST)),
        (SYN | ACK, 0, reset(true, 6, 0, RST)),
        (FIN | ACK, 9, reset(true, 6, 0, RST)),
    ] {
        for options in [0, 12, 40] {
            let back = answered(&frame(flags, 0, options, payload));
            assert_eq!(back.as_ref(), Some(&expected), "{flags:#x}, {options}");
        }
    }
    let mut at_the_end = syn();
    at_the_end[38..42].fill(0xff);
    assert_eq!(answered(&at_the_end), Some(reset(true, 0, 0, RST | ACK)));
}

#[test]
fn a_reset_is_never_answered() {
    for flags in [RST, RST | ACK, RST | SYN, RST | FIN | ACK] {
        assert_eq!(answered(&frame(flags, 0, 0, 0)), None);
        let v6 = v6_frame(TCP, &[], &segment(flags, 0, 0));
        assert_eq!(answered(&v6), None);
    }
}

#[test]
fn an_error_quotes_as_much_as_fits() {
    for payload in (0..24).chain(500..530).chain(1150..1200).chain([1472]) {
        let packet = v4(UDP, 0, &datagram(payload));
        let length = packet.len() - 14;
        let expected = unreachable(true, &packet, length);
        assert!(expected.len() - 14 <= 576);
        assert_eq!(answered(&packet), Some(expected), "{payload}");
        let packet = v6_frame(UDP, &[], &datagram(payload));
        let length = packet.len() - 14;
        let expected = unreachable(false, &packet, length);
        assert!(expected.len() - 14 <= 1280);
        assert_eq!(answered(&packet), Some(expected), "{payload} over IPv6");
    }
}

#[test]
fn a_sender_that_is_not_one_host_is_told_nothing() {
    for (client, told) in [
        ([0, 0, 0, 0], false),
        ([0, 1, 2, 3], false),
        ([127, 0, 0, 1], false),
        ([223, 255, 255, 1], true),
        ([224, 0, 0, 1], false),
        ([240, 0, 0, 1], false),
        ([255; 4], false),
        ([10, 0, 0, 1], true),
    ] {
        for mut packet in [syn(), v4(UDP, 0, &datagram(4))] {
            packet[26..30].copy_from_slice(&client);
            assert_eq!(answered(&packet).is_some(), told, "{client:?}");
        }
    }
    let v6 = |first: [u8; 2], rest: [u8; 2], last: u8| {
        let mut address = [0; 16];
        address[..2].copy_from_slice(&first);
        address[10..12].copy_from_slice(&rest);
        address[15] = last;
        address
    };
    for (client, told) in [
        (v6([0, 0], [0, 0], 0), false),
        (v6([0, 0], [0, 0], 1), false),
        (v6([0xff, 2], [0, 0], 1), false),
        (v6([0, 0], [0xff, 0xff], 9), false),
        (v6([0xfe, 0x80], [0, 0], 1), true),
        (v6([0x20, 1], [0, 0], 0), true),
    ] {
        let mut packet = v6_frame(UDP, &[], &datagram(4));
        packet[22..38].copy_from_slice(&client);
        assert_eq!(answered(&packet).is_some(), told, "{client:x?}");
    }
}

#[test]
fn a_station_that_is_not_one_is_told_nothing() {
    for station in [[0; 6], [0xff; 6], [1, 0, 0x5e, 0, 0, 1]] {
        let mut packet = syn();
        packet[6..12].copy_from_slice(&station);
        assert_eq!(answered(&packet), None, "{station:x?}");
    }
}

#[test]
fn every_carry_of_a_sum_is_folded() {
    for words in [vec![], vec![u32::MAX; 400], vec![0xffff_0001, 0x0000_ffff]] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let expected = checksum(&bytes);
        assert_eq!(Sum::of(&words).checksum().to_ne_bytes(), expected);
    }
    assert_eq!(Protocol::TCP.0, TCP);
}
