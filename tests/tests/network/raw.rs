//! Packets that no client's kernel would send by itself.

use std::{net::SocketAddrV4, os::fd::AsRawFd as _};

use lb_tests::lab::Host;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};

/// Sends a SYN whose IP header has this fragment field. Its TCP checksum is wrong, so the host that
/// gets it says nothing: what is counted of it is one packet.
#[track_caller]
pub(super) fn send_syn(client: &Host, port: u16, to: SocketAddrV4, fragment: u16) {
    let packet = syn(SocketAddrV4::new(client.address(), port), to, fragment);
    let sent = client.enter(|| {
        let raw = socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Raw,
        )?;
        sendto(
            raw.as_raw_fd(),
            &packet,
            &SockaddrIn::from(to),
            MsgFlags::empty(),
        )
    });
    assert_eq!(sent, Ok(packet.len()));
}

/// The packet; the kernel fills in the checksum of the IP header.
fn syn(from: SocketAddrV4, to: SocketAddrV4, fragment: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0x12, 0x34];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, 6, 0, 0]);
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend([
        0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0xba, 0xd0, 0, 0,
    ]);
    packet
}
