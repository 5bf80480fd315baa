extern crate std;

use std::vec::Vec;

use lb_common::{Address, Mac, Ports, Tuple};

use super::*;
use crate::{
    cursor::Cursor,
    parse,
    samples::{self, CLIENT_V4, CLIENT_V6, SERVICE_V4, SERVICE_V6, UDP},
};

/// The flow of the samples, and one of another backend.
fn tuples(is_v4: bool, protocol: u8, port: u16) -> [Tuple; 2] {
    let [client, service] = match is_v4 {
        true => [CLIENT_V4, SERVICE_V4].map(Address::v4),
        false => [CLIENT_V6, SERVICE_V6].map(Address::v6),
    };
    let [edge, backend] = match is_v4 {
        true => [[10, 255, 0, 1], [10, 0, 255, 9]].map(Address::v4),
        false => [[0xfd; 16], [0xfc; 16]].map(Address::v6),
    };
    let tuple = |client, service, ports| Tuple {
        client,
        service,
        ports,
        protocol: Protocol(protocol),
    };
    [
        tuple(client, service, Ports::new(1025, 80)),
        tuple(edge, backend, Ports::new(port, 8080)),
    ]
}

fn macs() -> [Mac; 2] {
    [1, 2].map(|last| {
        Mac::of_words(
            u32::from_le_bytes([2, 0, 0, 0]),
            u16::from_le_bytes([0, last]),
        )
    })
}

fn parsed<T>(frame: &[u8], of: impl Fn(&Packet<'_>) -> T) -> T {
    let mut frame = frame.to_vec();
    let family = parse::family(&mut Cursor::from(&mut frame[..])).unwrap();
    let mut cursor = Cursor::from(&mut frame[..]);
    of(&parse::packet(&mut cursor, family).unwrap())
}

fn place(frame: &[u8]) -> Place {
    parsed(frame, |packet| Place::of(packet, true).unwrap())
}

fn translated(frame: &[u8], place: Place, tuples: [&Tuple; 2]) -> Option<Vec<u8>> {
    let mut frame = frame.to_vec();
    write(&mut Cursor::from(&mut frame[..]), place, tuples, macs()).map(|()| frame)
}

#[test]
fn what_went_there_and_comes_back_is_as_it_was_but_for_two_hops_and_the_stations() {
    for sample in samples::valid() {
        let [ours, theirs] = tuples(sample.is_v4(), sample.protocol, 61_000);
        let place = place(&sample.frame);
        let there = translated(&sample.frame, place, [&ours, &theirs]).unwrap();
        assert_ne!(there[14..], sample.frame[14..], "{}", sample.name);
        let mut back = translated(&there, place, [&theirs, &ours]).unwrap();
        if sample.is_v4() {
            assert_eq!(back[22], sample.frame[22] - 2, "{}", sample.name);
            back[22..26].copy_from_slice(&sample.frame[22..26]);
        } else {
            assert_eq!(back[21], sample.frame[21] - 2, "{}", sample.name);
            back[21] = sample.frame[21];
        }
        assert_eq!(back[14..], sample.frame[14..], "{}", sample.name);
    }
}

#[test]
fn a_frame_that_lacks_a_byte_of_the_headers_is_not_translated() {
    for sample in samples::valid() {
        let [ours, theirs] = tuples(sample.is_v4(), sample.protocol, 61_000);
        let place = place(&sample.frame);
        // Options of TCP are none of the headers that change.
        let header = if sample.protocol == UDP { 8 } else { 20 };
        let fixed = usize::from(parsed(&sample.frame, |packet| packet.payload)) + header;
        for length in 0..fixed {
            let cut = &sample.frame[..length];
            assert_eq!(translated(cut, place, [&ours, &theirs]), None, "{length}");
        }
        assert!(translated(&sample.frame[..fixed], place, [&ours, &theirs]).is_some());
    }
}

#[test]
fn no_datagram_s_sum_becomes_0_unless_it_was() {
    let mut frame = samples::v4(UDP, 0, &samples::datagram(0));
    let place = place(&frame);
    let mut all_ones = 0;
    for sum in [0, 0x1234_u16] {
        frame[40..42].copy_from_slice(&sum.to_be_bytes());
        for port in 0..=u16::MAX {
            let [ours, theirs] = tuples(true, UDP, port);
            let there = translated(&frame, place, [&ours, &theirs]).unwrap();
            assert_eq!(there[40..42] == [0, 0], sum == 0, "port {port}");
            all_ones += u32::from(there[40..42] == [0xff, 0xff]);
        }
    }
    assert_eq!(all_ones, 1);
}
