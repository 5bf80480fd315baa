//! Frames for tests.

extern crate std;

use std::{vec, vec::Vec};

/// TCP flags, as in the header's 14th byte.
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// Protocol numbers.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// The addresses of all frames, 2001:db8::1 and 2001:db8::a in IPv6.
pub(crate) const CLIENT_V4: [u8; 4] = [192, 0, 2, 1];
pub(crate) const SERVICE_V4: [u8; 4] = [203, 0, 113, 10];
pub(crate) const CLIENT_V6: [u8; 16] = v6(1);
pub(crate) const SERVICE_V6: [u8; 16] = v6(10);

const fn v6(last: u8) -> [u8; 16] {
    [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

/// A TCP segment from 192.0.2.1:1025 to 203.0.113.10:80 with these flags, IP options, TCP options
/// and payload.
pub(crate) fn frame(flags: u8, ip_options: usize, tcp_options: usize, payload: usize) -> Vec<u8> {
    v4(TCP, ip_options, &segment(flags, tcp_options, payload))
}

/// The shortest SYN.
pub(crate) fn syn() -> Vec<u8> {
    frame(SYN, 0, 0, 0)
}

/// An IPv4 packet to the service with bytes of options and this payload.
pub(crate) fn v4(protocol: u8, options: usize, payload: &[u8]) -> Vec<u8> {
    assert!(options.is_multiple_of(4));
    let header = 20 + options;
    let length = (header + payload.len()) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend([0x40 | (header / 4) as u8, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(CLIENT_V4);
    frame.extend(SERVICE_V4);
    frame.extend(vec![1; options]);
    frame.extend(payload);
    frame
}

/// An IPv6 packet to the service with these extension headers, of which the first has the type
/// `next`, and this payload.
pub(crate) fn v6_frame(next: u8, extensions: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = (extensions.len() + payload.len()) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
    frame.extend([0x6a, 0xbc, 0xde, 0xf0]);
    frame.extend(length.to_be_bytes());
    frame.extend([next, 64]);
    frame.extend(CLIENT_V6);
    frame.extend(SERVICE_V6);
    frame.extend(extensions);
    frame.extend(payload);
    frame
}

/// An extension header with a length field, its contents filled up to `bytes`.
pub(crate) fn extension(next: u8, length: u8, bytes: usize) -> Vec<u8> {
    let mut header = vec![next, length];
    header.resize(bytes, 0);
    header
}

/// A fragment header with this word of offset and flags.
pub(crate) fn fragment(next: u8, offset_and_flags: u16) -> Vec<u8> {
    let [high, low] = offset_and_flags.to_be_bytes();
    vec![next, 0, high, low, 0, 0, 0, 7]
}

/// A TCP segment from port 1025 to port 80.
pub(crate) fn segment(flags: u8, options: usize, payload: usize) -> Vec<u8> {
    assert!(options.is_multiple_of(4));
    let mut segment = vec![4, 1, 0, 80, 0, 0, 0, 5, 0, 0, 0, 6];
    let header = 20 + options;
    segment.extend([((header / 4) << 4) as u8, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(vec![1; options]);
    segment.extend((0..payload).map(|i| i as u8));
    segment
}

/// A datagram from port 1025 to port 80.
pub(crate) fn datagram(payload: usize) -> Vec<u8> {
    let mut datagram = vec![4, 1, 0, 80];
    datagram.extend(((8 + payload) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend((0..payload).map(|i| i as u8));
    datagram
}

/// A frame of a shape that has a flow.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) frame: Vec<u8>,
    pub(crate) protocol: u8,
    /// Bytes of the packet up to the end of its TCP or UDP header with options.
    pub(crate) headers: usize,
    /// Bytes of the packet.
    pub(crate) ip_length: usize,
}

impl Sample {
    pub(crate) fn is_v4(&self) -> bool {
        self.frame[14] >> 4 == 4
    }
}

/// A valid frame of every shape.
pub(crate) fn valid() -> Vec<Sample> {
    let sample = |name, frame: Vec<u8>, protocol, payload| {
        let ip_length = frame.len() - 14;
        let headers = ip_length - payload;
        Sample {
            name,
            frame,
            protocol,
            headers,
            ip_length,
        }
    };
    let mut padded = sample("padding", syn(), TCP, 0);
    padded.frame.resize(60, 0);
    let mut padded_v6 = sample("v6 padding", v6_frame(UDP, &[], &datagram(0)), UDP, 0);
    padded_v6.frame.resize(70, 0);
    let walked = [
        extension(60, 0, 8),
        extension(43, 1, 16),
        extension(51, 2, 24),
        extension(44, 4, 24),
        fragment(60, 0),
        extension(TCP, 0, 8),
    ]
    .concat();
    let data = &segment(ACK, 12, 100);
    vec![
        sample("SYN", syn(), TCP, 0),
        sample("SYN with TCP options", frame(SYN, 0, 20, 0), TCP, 0),
        sample("SYN with all TCP options", frame(SYN, 0, 40, 0), TCP, 0),
        sample("segment", frame(ACK, 0, 12, 100), TCP, 100),
        sample("IP options", frame(ACK, 4, 0, 9), TCP, 9),
        sample("all IP options", frame(ACK, 40, 0, 0), TCP, 0),
        sample("all options", frame(ACK, 40, 40, 1), TCP, 1),
        padded,
        sample("datagram", v4(UDP, 0, &datagram(9)), UDP, 9),
        sample("empty datagram", v4(UDP, 4, &datagram(0)), UDP, 0),
        sample("v6 SYN", v6_frame(TCP, &[], &segment(SYN, 20, 0)), TCP, 0),
        sample("v6 segment", v6_frame(TCP, &[], data), TCP, 100),
        sample("v6 datagram", v6_frame(UDP, &[], &datagram(9)), UDP, 9),
        padded_v6,
        sample(
            "v6 hop-by-hop options",
            v6_frame(0, &extension(UDP, 2, 24), &datagram(5)),
            UDP,
            5,
        ),
        sample("v6 every extension", v6_frame(0, &walked, data), TCP, 100),
        sample(
            "v6 atomic fragment",
            v6_frame(44, &fragment(TCP, 6), data),
            TCP,
            100,
        ),
    ]
}
