//! The packets that the program is asked about.

use lb_common::{Protocol, Tuple};

/// The shortest first packet of a flow, a SYN or an empty datagram, in a frame for `station`.
///
/// The packet program looks at no checksum of TCP or UDP, so there is none.
pub fn frame(station: [u8; 6], flow: &Tuple) -> Vec<u8> {
    /// Whoever sent it: a locally administered address.
    const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 1];
    let segment = segment(flow);
    let mut frame = [station, SENDER].concat();
    if flow.client.is_v4() && flow.service.is_v4() {
        frame.extend([8, 0]);
        frame.extend(header_v4(flow, segment.len() as u16));
    } else {
        frame.extend([0x86, 0xdd]);
        frame.extend(header_v6(flow, segment.len() as u16));
    }
    frame.extend(segment);
    frame
}

/// A header of IPv4 (RFC 791, 3.1) with its checksum.
fn header_v4(flow: &Tuple, length: u16) -> Vec<u8> {
    const LENGTH: u16 = 20;
    let [high, low] = (LENGTH + length).to_be_bytes();
    let mut header = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, flow.protocol.0, 0, 0];
    header.extend(&flow.client.octets()[12..]);
    header.extend(&flow.service.octets()[12..]);
    let (words, _) = header.as_chunks();
    let mut sum: u32 = words
        .iter()
        .map(|it| u32::from(u16::from_be_bytes(*it)))
        .sum();
    sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// A header of IPv6 (RFC 8200, 3).
fn header_v6(flow: &Tuple, length: u16) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    let mut header = vec![0x60, 0, 0, 0, high, low, flow.protocol.0, 64];
    header.extend(flow.client.octets());
    header.extend(flow.service.octets());
    header
}

/// What stands behind the IP header (RFC 9293, 3.1; RFC 768).
fn segment(flow: &Tuple) -> Vec<u8> {
    let ports = [flow.ports.client(), flow.ports.service()];
    let mut segment = ports.map(u16::to_be_bytes).concat();
    match flow.protocol {
        Protocol::UDP => segment.extend([0, 8, 0, 0]),
        // Numbers, five words, SYN, window, no checksum.
        _ => segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0]),
    }
    segment
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use lb_common::{Address, Ports};
    use lb_ebpf::{
        cursor::Cursor,
        parse::{self, Family},
    };

    use super::*;

    fn flow(client: &str, service: &str, protocol: Protocol) -> Tuple {
        let [client, service]: [IpAddr; 2] = [client, service].map(|it| it.parse().unwrap());
        Tuple {
            client: Address::from(client),
            service: Address::from(service),
            ports: Ports::new(1024, 443),
            protocol,
        }
    }

    #[test]
    fn the_program_reads_out_of_every_frame_the_flow_that_it_was_made_of() {
        for protocol in [Protocol::TCP, Protocol::UDP] {
            for (flow, family) in [
                (flow("192.0.2.1", "203.0.113.10", protocol), Family::V4),
                (flow("2001:db8::1", "2001:db8::10", protocol), Family::V6),
            ] {
                let mut bytes = frame([2, 0, 0, 0, 0, 9], &flow);
                let parsed = parse::packet(&mut Cursor::from(&mut bytes[..]), family);
                assert_eq!(parsed.ok().map(|it| it.flow.tuple), Some(flow));
            }
        }
    }

    #[test]
    fn the_checksum_of_ipv4_makes_the_sum_of_the_header_all_ones() {
        let header = header_v4(&flow("255.255.255.254", "203.0.113.10", Protocol::TCP), 20);
        let (words, _) = header.as_chunks();
        let sum: u32 = words
            .iter()
            .map(|it| u32::from(u16::from_be_bytes(*it)))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
