extern crate std;

use std::vec::Vec;

use super::*;
use crate::samples::{self, ACK, FIN, RST, SYN, Sample, UDP};

const SERVICE: Address = Address::v4(samples::SERVICE_V4);
const SERVICE_V6: Address = Address::v6(samples::SERVICE_V6);

/// What is said of a frame, which must not be changed by it.
fn parsed(frame: &[u8]) -> Result<Flow, Skip> {
    let mut copy = frame.to_vec();
    let family = family(&mut Cursor::from(&mut copy[..])).ok_or(Skip::NotOurs);
    let packet = family.and_then(|family| packet(&mut Cursor::from(&mut copy[..]), family));
    let flow = packet.map(|packet| packet.flow);
    assert_eq!(copy, frame);
    flow
}

/// The frame with some bytes changed.
fn with(mut frame: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        frame[*at] = *byte;
    }
    frame
}

/// The frame with another length in its IP header.
fn with_ip_length(sample: &Sample, length: usize) -> Vec<u8> {
    let (at, length) = match sample.is_v4() {
        true => (16, length),
        false => (18, length - 40),
    };
    let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
    with(sample.frame.clone(), &[(at, high), (at + 1, low)])
}

#[test]
fn a_valid_frame_has_its_flow() {
    for sample in samples::valid() {
        let name = sample.name;
        let flow = parsed(&sample.frame).unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
        let (client, service) = match sample.is_v4() {
            true => (Address::v4(samples::CLIENT_V4), SERVICE),
            false => (Address::v6(samples::CLIENT_V6), SERVICE_V6),
        };
        let tuple = Tuple {
            client,
            service,
            ports: Ports::new(1025, 80),
            protocol: Protocol(sample.protocol),
        };
        assert_eq!(flow.tuple, tuple, "{name}");
        assert_eq!(flow.ip_length as usize, sample.ip_length, "{name}");
    }
}

#[test]
fn a_plain_packet_is_what_it_is_otherwise_and_most_are_plain() {
    let mut frames: Vec<_> = samples::valid().into_iter().map(|it| it.frame).collect();
    for frame in frames.clone() {
        for at in 14..frame.len().min(60) {
            frames.extend([0, 1, 0x10, 0x45, 0xff].map(|byte| with(frame.clone(), &[(at, byte)])));
        }
        frames.extend((0..frame.len()).map(|length| frame[..length].to_vec()));
    }
    let mut plain_ones = 0;
    for frame in frames {
        let mut copy = frame.clone();
        if family(&mut Cursor::from(&mut copy[..])) != Some(Family::V4) {
            continue;
        }
        let found = packet(&mut Cursor::from(&mut copy[..]), Family::V4);
        let found = found.ok().map(|it| (it.flow, it.payload));
        let found_plain = plain(&mut Cursor::from(&mut copy[..]));
        let found_plain = found_plain.map(|it| (it.flow, it.payload));
        let is_plain =
            |(flow, payload): &(Flow, u16)| flow.signal == Signal::Data && *payload == 34;
        assert_eq!(found_plain, found.filter(is_plain), "{frame:?}");
        assert_eq!(copy, frame);
        plain_ones += usize::from(found_plain.is_some());
    }
    assert!(plain_ones > 100, "{plain_ones}");
}

#[test]
fn a_frame_cut_anywhere_inside_its_packet_is_not_ours() {
    for sample in samples::valid() {
        for length in 0..=sample.frame.len() {
            let whole = length >= 14 + sample.ip_length;
            let flow = parsed(&sample.frame[..length]);
            let name = sample.name;
            assert_eq!(flow.is_ok(), whole, "{name} cut at {length}");
            if !whole {
                assert_eq!(flow, Err(Skip::NotOurs), "{name} cut at {length}");
            }
        }
    }
}

/// The IP header may claim no more than it has; a header may not end behind its packet. A datagram's
/// length may not either, so it must be whole.
#[test]
fn a_packet_cut_anywhere_inside_its_headers_is_not_ours() {
    for sample in samples::valid() {
        let least = match sample.protocol {
            UDP => sample.ip_length,
            _ => sample.headers,
        };
        let shortest = if sample.is_v4() { 0 } else { 40 };
        for length in shortest..=sample.ip_length {
            let flow = parsed(&with_ip_length(&sample, length));
            assert_eq!(flow.is_ok(), length >= least, "{} of {length}", sample.name);
        }
    }
}

#[test]
fn a_datagram_that_ends_outside_of_its_packet_is_not_ours() {
    for (length, whole) in [(0, false), (7, false), (8, true), (17, true), (18, false)] {
        for (at, frame) in [
            (38, samples::v4(UDP, 0, &samples::datagram(9))),
            (58, samples::v6_frame(UDP, &[], &samples::datagram(9))),
        ] {
            let frame = with(frame, &[(at, 0), (at + 1, length)]);
            assert_eq!(parsed(&frame).is_ok(), whole, "{length}");
        }
    }
}

#[test]
fn padding_behind_the_packet_is_not_counted() {
    for padding in 0..100 {
        let mut frame = samples::frame(ACK, 0, 0, 3);
        frame.resize(frame.len() + padding, 0xee);
        assert_eq!(parsed(&frame).unwrap().ip_length, 43);
    }
}

#[test]
fn flags_say_what_the_segment_does() {
    for (flags, signal) in [
        (SYN, Signal::Open),
        (SYN | 0xc0, Signal::Open),
        (SYN | ACK, Signal::Data),
        (ACK, Signal::Data),
        (0, Signal::Data),
        (FIN, Signal::Finish),
        (FIN | ACK, Signal::Finish),
        (SYN | FIN, Signal::Finish),
        (RST, Signal::Reset),
        (RST | ACK, Signal::Reset),
        (0xff, Signal::Reset),
    ] {
        let frame = samples::frame(flags, 0, 0, 0);
        assert_eq!(parsed(&frame).unwrap().signal, signal, "{flags:#x}");
    }
}

#[test]
fn a_fragment_is_told_apart_with_its_destination() {
    let fragment = Err(Skip::Fragment {
        destination: SERVICE,
    });
    for (name, high, low, expected) in [
        ("first", 0x20, 0, fragment),
        ("middle", 0x20, 185, fragment),
        ("last", 0x00, 185, fragment),
        ("last, offset in the high byte", 0x1f, 0, fragment),
    ] {
        for frame in [samples::syn(), samples::frame(ACK, 40, 40, 8)] {
            let frame = with(frame, &[(20, high), (21, low)]);
            assert_eq!(parsed(&frame), expected, "{name}");
        }
    }
    for (high, low) in [(0x40, 0), (0x80, 0)] {
        let frame = with(samples::syn(), &[(20, high), (21, low)]);
        assert!(parsed(&frame).is_ok(), "{high:#x}");
    }
}

#[test]
fn a_fragment_without_a_whole_tcp_header_is_still_one() {
    let mut frame = with(samples::syn(), &[(17, 28), (21, 5)]);
    frame.truncate(14 + 28);
    let destination = SERVICE;
    assert_eq!(parsed(&frame), Err(Skip::Fragment { destination }));
}

#[test]
fn a_fragment_that_is_shorter_than_its_header_is_no_packet() {
    for length in [0, 19] {
        let frame = with(samples::syn(), &[(17, length), (20, 0x20)]);
        assert_eq!(parsed(&frame), Err(Skip::NotOurs), "{length}");
    }
}

#[test]
fn icmp_is_told_with_where_it_goes_whatever_it_says() {
    let syn = samples::syn;
    for (frame, destination) in [
        (with(syn(), &[(23, 1)]), SERVICE),
        (with(syn(), &[(21, 1), (23, 1)]), SERVICE),
        (v6(58, &[]), SERVICE_V6),
        (v6(0, &samples::extension(58, 0, 8)), SERVICE_V6),
    ] {
        assert_eq!(parsed(&frame), Err(Skip::Control { destination }));
    }
}

#[test]
fn everything_else_is_not_ours() {
    let syn = samples::syn;
    for (name, frame) in [
        ("ARP", with(syn(), &[(13, 0x06)])),
        (
            "IPv4 under IPv6's EtherType",
            with(syn(), &[(12, 0x86), (13, 0xdd)]),
        ),
        ("VLAN", with(syn(), &[(12, 0x81)])),
        ("IEEE 802.3 length", with(syn(), &[(12, 0), (13, 46)])),
        ("broadcast", with(syn(), &[(0, 0xff)])),
        ("multicast", with(syn(), &[(0, 0x01)])),
        (
            "IP version 6 under IPv4's EtherType",
            with(syn(), &[(14, 0x65)]),
        ),
        ("IP header of 16 bytes", with(syn(), &[(14, 0x44)])),
        ("IP header of 0 bytes", with(syn(), &[(14, 0x40)])),
        (
            "IP header longer than the packet",
            with(syn(), &[(14, 0x4f)]),
        ),
        ("IP length behind the frame", with(syn(), &[(17, 41)])),
        ("TCP header of 16 bytes", with(syn(), &[(46, 0x40)])),
        (
            "TCP header longer than the packet",
            with(syn(), &[(46, 0xf0)]),
        ),
        ("zeros", [0; 64].to_vec()),
        ("ones", [0xff; 64].to_vec()),
    ] {
        assert_eq!(parsed(&frame), Err(Skip::NotOurs), "{name}");
    }
}

fn v6(next: u8, extensions: &[u8]) -> Vec<u8> {
    samples::v6_frame(next, extensions, &samples::segment(ACK, 0, 8))
}

#[test]
fn an_ipv6_fragment_is_told_apart_with_its_destination() {
    let destination = SERVICE_V6;
    let fragment = Err(Skip::Fragment { destination });
    for (name, next, word, expected) in [
        ("first", samples::TCP, 1, fragment),
        ("middle", samples::TCP, 185 << 3 | 1, fragment),
        ("last", UDP, 185 << 3, fragment),
        ("offset in the high byte", UDP, 0x8000, fragment),
        ("of what an extension hides", 60, 1, fragment),
        ("of ICMPv6", 58, 1, Err(Skip::NotOurs)),
        ("of nothing", 59, 8, Err(Skip::NotOurs)),
    ] {
        let header = samples::fragment(next, word);
        assert_eq!(parsed(&v6(44, &header)), expected, "{name}");
        let behind = [samples::extension(44, 0, 8), header].concat();
        assert_eq!(parsed(&v6(0, &behind)), expected, "{name}, behind options");
    }
}

#[test]
fn extension_headers_are_walked_up_to_a_number() {
    for (count, walked) in [(1, true), (8, true), (9, false), (30, false)] {
        let mut extensions = samples::extension(60, 0, 8).repeat(count);
        let last = extensions.len() - 8;
        extensions[last] = samples::TCP;
        assert_eq!(parsed(&v6(60, &extensions)).is_ok(), walked, "{count}");
    }
}

#[test]
fn what_is_neither_tcp_nor_udp_behind_ipv6_headers_is_not_ours() {
    for (name, frame) in [
        ("no next header", v6(59, &[])),
        ("ESP", v6(50, &[])),
        ("mobility", v6(135, &samples::extension(samples::TCP, 0, 8))),
        (
            "an extension longer than the packet",
            v6(60, &samples::extension(6, 255, 8)),
        ),
        (
            "an extension up to the end",
            v6(60, &samples::extension(6, 3, 8)),
        ),
        ("IP version 4", with(v6(6, &[]), &[(14, 0x4a)])),
        (
            "multicast",
            with(
                samples::v6_frame(UDP, &[], &samples::datagram(0)),
                &[(0, 0x33)],
            ),
        ),
        (
            "a jumbogram",
            with(v6(0, &samples::extension(6, 0, 8)), &[(18, 0), (19, 0)]),
        ),
    ] {
        assert_eq!(parsed(&frame), Err(Skip::NotOurs), "{name}");
    }
}

#[test]
fn an_extension_that_ends_behind_the_packet_is_not_ours_though_the_frame_is_longer() {
    let mut frame = v6(60, &samples::extension(6, 3, 8));
    frame.resize(frame.len() + 100, 0x50);
    assert_eq!(parsed(&frame), Err(Skip::NotOurs));
}

proptest::proptest! {
    #[test]
    fn no_frame_makes_it_panic(frame: Vec<u8>) {
        let _ = parsed(&frame);
    }

    #[test]
    fn no_change_of_a_valid_frame_makes_it_panic(
        sample: proptest::sample::Index,
        changes in proptest::collection::vec((0..46_usize, proptest::num::u8::ANY), 0..6),
    ) {
        let mut samples = samples::valid();
        let sample = samples.swap_remove(sample.index(samples.len()));
        let _ = parsed(&with(sample.frame, &changes));
    }
}
