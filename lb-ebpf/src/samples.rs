//! Frames for tests.

extern crate std;

use std::{vec, vec::Vec};

/// TCP flags, as in the header's 14th byte.
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// A TCP segment from 192.0.2.1:1025 to 203.0.113.10:80 with these flags, IP options, TCP options
/// and payload.
pub(crate) fn frame(flags: u8, ip_options: usize, tcp_options: usize, payload: usize) -> Vec<u8> {
    assert!(ip_options.is_multiple_of(4) && tcp_options.is_multiple_of(4));
    let ip_header = 20 + ip_options;
    let tcp_header = 20 + tcp_options;
    let length = (ip_header + tcp_header + payload) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend([0x40 | (ip_header / 4) as u8, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
    frame.extend([192, 0, 2, 1, 203, 0, 113, 10]);
    frame.extend(vec![1; ip_options]);
    frame.extend([4, 1, 0, 80, 0, 0, 0, 5, 0, 0, 0, 6]);
    frame.extend([((tcp_header / 4) << 4) as u8, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend(vec![1; tcp_options]);
    frame.extend((0..payload).map(|i| i as u8));
    frame
}

/// The shortest SYN.
pub(crate) fn syn() -> Vec<u8> {
    frame(SYN, 0, 0, 0)
}

/// A valid frame of every shape, named.
pub(crate) fn valid() -> Vec<(&'static str, Vec<u8>)> {
    let mut padded = syn();
    padded.resize(60, 0);
    vec![
        ("SYN", syn()),
        ("SYN with TCP options", frame(SYN, 0, 20, 0)),
        ("SYN with all TCP options", frame(SYN, 0, 40, 0)),
        ("segment", frame(ACK, 0, 12, 100)),
        ("IP options", frame(ACK, 4, 0, 9)),
        ("all IP options", frame(ACK, 40, 0, 0)),
        ("all options", frame(ACK, 40, 40, 1)),
        ("padding", padded),
    ]
}
