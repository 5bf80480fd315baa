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

/// The frame as it leaves for a target, one hop further.
pub fn forwarded(frame: &[u8], target: &Target) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    let is_v4 = packet[0] >> 4 == 4;
    if is_v4 {
        packet[8] -= 1;
        packet::set_ip_checksum(&mut packet);
    } else {
        packet[7] -= 1;
    }
    let outer = match target.forward {
        ForwardMode::IPIP if is_v4 => outer_v4(&packet),
        ForwardMode::IPIP => outer_v6(&packet),
        _ => Vec::new(),
    };
    let macs = [target.next_hop, target.source].concat();
    [&macs, &frame[12..14], &outer, &packet].concat()
}

/// RFC 2003: the header before a packet of IPv4.
fn outer_v4(packet: &[u8]) -> Vec<u8> {
    let inner = u16::from_be_bytes([packet[2], packet[3]]);
    let [high, low] = (inner + 20).to_be_bytes();
    let mut header = vec![0x45, packet[1], high, low, 0, 0, 0x40, 0, 64, 4, 0, 0];
    header.extend(ENDS_V4.as_flattened());
    packet::set_ip_checksum(&mut header);
    header
}

/// RFC 2473: the header before a packet of IPv6.
fn outer_v6(packet: &[u8]) -> Vec<u8> {
    let payload = u16::from_be_bytes([packet[4], packet[5]]);
    let mut header = packet[..4].to_vec();
    header.extend((payload + 40).to_be_bytes());
    header.extend([41, 64]);
    header.extend(ENDS_V6.as_flattened());
    header
}
