extern crate std;

use std::vec::Vec;

use super::*;
use crate::samples::{self, ACK, FIN, RST, SYN};

const CLIENT: Address = Address::v4([192, 0, 2, 1]);
const SERVICE: Address = Address::v4([203, 0, 113, 10]);

/// What `flow` says of a frame, which it must not change.
fn parsed(frame: &[u8]) -> Result<Flow, Skip> {
    let mut copy = frame.to_vec();
    let flow = flow(&mut Cursor::from(&mut copy[..]));
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

fn ip_length(frame: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([frame[16], frame[17]]))
}

#[test]
fn a_valid_frame_has_its_flow() {
    for (name, frame) in samples::valid() {
        let flow = parsed(&frame).unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
        assert_eq!(
            flow.tuple,
            Tuple {
                client: CLIENT,
                service: SERVICE,
                client_port: [4, 1],
                service_port: [0, 80],
                protocol: Protocol::TCP,
            },
            "{name}"
        );
        assert_eq!(usize::from(flow.ip_length), ip_length(&frame), "{name}");
    }
}

#[test]
fn a_frame_cut_anywhere_inside_its_packet_is_not_ours() {
    for (name, frame) in samples::valid() {
        for length in 0..=frame.len() {
            let whole = length >= 14 + ip_length(&frame);
            let flow = parsed(&frame[..length]);
            assert_eq!(flow.is_ok(), whole, "{name} cut at {length}");
            if !whole {
                assert_eq!(flow, Err(Skip::NotOurs), "{name} cut at {length}");
            }
        }
    }
}

/// The IP header may claim no more than it has; a header may not end behind its packet.
#[test]
fn a_packet_cut_anywhere_inside_its_headers_is_not_ours() {
    for (name, frame) in samples::valid() {
        let ip_header = usize::from(frame[14] & 15) * 4;
        let headers = ip_header + usize::from(frame[14 + ip_header + 12] >> 4) * 4;
        for length in 0..=ip_length(&frame) {
            let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
            let flow = parsed(&with(frame.clone(), &[(16, high), (17, low)]));
            assert_eq!(flow.is_ok(), length >= headers, "{name} of {length}");
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
fn everything_else_is_not_ours() {
    let syn = samples::syn;
    for (name, frame) in [
        ("ARP", with(syn(), &[(13, 0x06)])),
        ("IPv6", with(syn(), &[(12, 0x86), (13, 0xdd)])),
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
        ("ICMP", with(syn(), &[(23, 1)])),
        ("UDP", with(syn(), &[(23, 17)])),
        ("fragment of UDP", with(syn(), &[(21, 1), (23, 17)])),
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

proptest::proptest! {
    #[test]
    fn no_frame_makes_it_panic(frame: Vec<u8>) {
        let _ = parsed(&frame);
    }

    #[test]
    fn no_change_of_a_valid_frame_makes_it_panic(
        sample in 0..8_usize,
        changes in proptest::collection::vec((0..54_usize, proptest::num::u8::ANY), 0..6),
    ) {
        let (_, frame) = samples::valid().swap_remove(sample);
        let _ = parsed(&with(frame, &changes));
    }
}
