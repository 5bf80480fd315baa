//! Targets, and the frames that they should get.

use lb_common::{Address, ForwardMode, Nat, Outer, Target, TargetState};

use super::GROUP;
use crate::datapath::packet;

/// A target of [`GROUP`] that takes new flows; its last MAC byte is `backend`.
pub fn target(backend: u8) -> Target {
    Target {
        next_hop: [2, 0, 0, 0, 1, backend],
        mtu: 1500,
        source: [2, 0, 0, 0, 0, 1],
        state: TargetState(TargetState::TAKES_NEW),
        forward: ForwardMode::L2_DSR,
        group: GROUP,
        identity: u64::from(backend) + 1000,
        ..Target::FREE
    }
}

/// The address of this edge, and the backend's, on the outside of tunnels of IPv4.
pub const ENDS_V4: [[u8; 4]; 2] = [[10, 1, 0, 1], [10, 1, 0, 9]];

/// The same for IPv6.
pub const ENDS_V6: [[u8; 16]; 2] = [
    [0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1],
    [
        0xfd, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0xff, 0xfe, 0xfd, 0xfc, 9,
    ],
];

/// How a target is reached.
pub type Through = fn(Target) -> Target;

/// All the ways, by name.
pub const THROUGH: [(&str, Through); 5] = [
    ("l2-dsr", |target| target),
    ("ipip over v4", through_v4),
    ("ipip over v6", through_v6),
    ("gue over v4", gue_v4),
    ("gue over v6", gue_v6),
];

/// The target as one that is reached through a tunnel of IPv4.
pub fn through_v4(target: Target) -> Target {
    let [edge, backend] = ENDS_V4;
    Target {
        forward: ForwardMode::IPIP,
        mtu: 1480,
        address: Address::v4(backend),
        outer: Outer::v4(edge, backend),
        ..target
    }
}

/// The target as one that is reached through a tunnel of IPv6.
pub fn through_v6(target: Target) -> Target {
    let [edge, backend] = ENDS_V6;
    Target {
        forward: ForwardMode::IPIP,
        mtu: 1460,
        address: Address::v6(backend),
        outer: Outer::v6(edge),
        ..target
    }
}

/// The target as one whose packets get other addresses of IPv4.
pub fn translated_v4(target: Target) -> Target {
    translated(target, ENDS_V4.map(Address::v4))
}

/// The same for IPv6.
pub fn translated_v6(target: Target) -> Target {
    translated(target, ENDS_V6.map(Address::v6))
}

fn translated(target: Target, [source, address]: [Address; 2]) -> Target {
    Target {
        forward: ForwardMode::FULL_NAT,
        address,
        nat: Nat {
            source,
            ..Nat::NONE
        },
        ..target
    }
}

/// The target as one that is reached by datagrams over IPv4.
pub fn gue_v4(target: Target) -> Target {
    gue(through_v4(target))
}

/// The target as one that is reached by datagrams over IPv6.
pub fn gue_v6(target: Target) -> Target {
    gue(through_v6(target))
}

/// The port of the backend that datagrams go to.
pub const GUE_PORT: u16 = 6080;

fn gue(tunnel: Target) -> Target {
    Target {
        forward: ForwardMode::GUE,
        mtu: tunnel.mtu - 12,
        nat: Nat {
            port: GUE_PORT.to_be_bytes(),
            ..Nat::NONE
        },
        ..tunnel
    }
}

/// The frame as it leaves for a target, one hop further.
pub fn forwarded(frame: &[u8], target: &Target) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    if packet[0] >> 4 == 4 {
        packet[8] -= 1;
        packet::set_ip_checksum(&mut packet);
    } else {
        packet[7] -= 1;
    }
    let datagram = match target.forward {
        ForwardMode::GUE => gue_headers(&packet),
        _ => Vec::new(),
    };
    let (ether_type, mut outer) = match target.forward {
        ForwardMode::IPIP | ForwardMode::GUE if target.address.is_v4() => {
            ([0x08, 0x00], outer_v4(&packet, datagram.len()))
        }
        ForwardMode::IPIP | ForwardMode::GUE => ([0x86, 0xdd], outer_v6(&packet, datagram.len())),
        _ => ([frame[12], frame[13]], Vec::new()),
    };
    outer.extend(datagram);
    let macs = [target.next_hop, target.source].concat();
    [&macs, &ether_type[..], &outer, &packet].concat()
}

/// What an outer header takes from the packet: protocol number, class, and bytes.
fn within(packet: &[u8]) -> (u8, u8, u16) {
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    match packet[0] >> 4 {
        4 => (4, packet[1], word(2)),
        _ => (41, (word(0) >> 4) as u8, 40 + word(4)),
    }
}

/// RFC 2003 and RFC 4213: the header of IPv4 before a packet.
fn outer_v4(packet: &[u8], datagram: usize) -> Vec<u8> {
    let (inner, class, length) = within(packet);
    let protocol = if datagram > 0 { 17 } else { inner };
    let [high, low] = (length + datagram as u16 + 20).to_be_bytes();
    let mut header = vec![0x45, class, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    header.extend(ENDS_V4.as_flattened());
    packet::set_ip_checksum(&mut header);
    header
}

/// RFC 2473: the header of IPv6 before a packet.
fn outer_v6(packet: &[u8], datagram: usize) -> Vec<u8> {
    let (inner, class, length) = within(packet);
    let protocol = if datagram > 0 { 17 } else { inner };
    let label = match inner {
        4 => label(packet),
        _ => u32::from_be_bytes([0, packet[1] & 0xf, packet[2], packet[3]]),
    };
    let first = 6 << 28 | u32::from(class) << 20 | label;
    let mut header = first.to_be_bytes().to_vec();
    header.extend((length + datagram as u16).to_be_bytes());
    header.extend([protocol, 64]);
    header.extend(ENDS_V6.as_flattened());
    header
}

/// The headers of UDP and GUE before a packet (draft-ietf-intarea-gue-09, 3).
fn gue_headers(packet: &[u8]) -> Vec<u8> {
    let (inner, _, length) = within(packet);
    let source = 0xc000 | label(packet) as u16 & 0x3fff;
    let mut headers = [source, GUE_PORT, length + 12, 0]
        .map(u16::to_be_bytes)
        .concat();
    headers.extend([0, inner, 0, 0]);
    headers
}

/// A number of 20 bits for the flow of a packet: the highest ones of a product. An error counts as a packet of
/// the flow that it is about, a fragment as one without ports.
fn label(packet: &[u8]) -> u32 {
    let (client, ports) = match packet[0] >> 4 {
        4 => ends_v4(packet),
        _ => ends_v6(packet),
    };
    let [a, b, c, d] = client;
    let number = u64::from(a ^ c ^ ports) << 32 | u64::from(b ^ d);
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as u32
}

fn word(packet: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*packet[at..].first_chunk().expect("a word"))
}

/// The client's address and the ports, as the words of a packet from there.
fn ends_v4(packet: &[u8]) -> ([u32; 4], u32) {
    let options = usize::from(packet[0] & 0xf) * 4 - 20;
    let is_fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
    let (client, ports) = match packet[9] {
        // What is quoted goes to the client, so its ports are the other way round.
        1 => (options + 44, word(packet, options + 48).rotate_left(16)),
        _ if is_fragment => (12, 0),
        _ => (12, word(packet, options + 20)),
    };
    ([0, 0, 0xffff_0000, word(packet, client)], ports)
}

/// The same of IPv6, with no more than one extension header.
fn ends_v6(packet: &[u8]) -> ([u32; 4], u32) {
    let (client, ports) = match packet[6] {
        58 => (72, word(packet, 88).rotate_left(16)),
        44 => (8, 0),
        6 | 17 => (8, word(packet, 40)),
        _ => (8, word(packet, 48)),
    };
    ([0, 4, 8, 12].map(|at| word(packet, client + at)), ports)
}
