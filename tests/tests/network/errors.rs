//! What a socket of a client is told of packets that did not arrive.

use std::{
    io::{self, IoSliceMut},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
};

use lb_tests::lab::{DEADLINE, Namespace, wait_until};
use nix::{
    errno::Errno,
    getsockopt_impl,
    libc::{self, sock_extended_err, sockaddr_in6},
    setsockopt_impl, sockopt_impl,
    sys::socket::{
        AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, connect,
        getsockopt, recvmsg, setsockopt, socket, sockopt,
    },
};

sockopt_impl!(
    DiscoverV4,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int
);
sockopt_impl!(
    DiscoverV6,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    libc::c_int
);
sockopt_impl!(
    MtuV6,
    GetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU,
    libc::c_int
);

/// An ICMP error about one of a socket's packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Told {
    /// What the kernel makes of it.
    pub(super) errno: Errno,
    /// Type and code.
    pub(super) kind: [u8; 2],
    /// Who has sent it.
    pub(super) by: IpAddr,
}

/// A socket of `client` that asks `target` for a connection, or has it as the receiver of its datagrams;
/// its packets have this many hops left. It does not block, and keeps the errors that it is told of.
pub(super) fn probe(
    client: &Namespace,
    kind: SockType,
    target: SocketAddr,
    hops: libc::c_int,
) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    client.enter(|| {
        let fd = if target.is_ipv4() {
            let fd = socket(AddressFamily::Inet, kind, flags, None)?;
            setsockopt(&fd, sockopt::Ipv4Ttl, &hops)?;
            setsockopt(&fd, sockopt::Ipv4RecvErr, &true)?;
            fd
        } else {
            let fd = socket(AddressFamily::Inet6, kind, flags, None)?;
            setsockopt(&fd, sockopt::Ipv6Ttl, &hops)?;
            setsockopt(&fd, sockopt::Ipv6RecvErr, &true)?;
            fd
        };
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(target)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(fd),
            Err(error) => Err(error),
        }
    })
}

/// Waits until the socket is told of an error.
#[track_caller]
pub(super) fn wait_told(socket: &OwnedFd) -> Told {
    let mut told = None;
    wait_until(DEADLINE, "an ICMP error", || {
        told = next_told(socket).expect("the queue of errors");
        told.is_some()
    });
    told.expect("it was waited for")
}

fn next_told(socket: &OwnedFd) -> io::Result<Option<Told>> {
    let mut packet = [0; 2048];
    let mut pieces = [IoSliceMut::new(&mut packet)];
    let mut control = nix::cmsg_space!(sock_extended_err, sockaddr_in6);
    let got = match recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut pieces,
        Some(&mut control),
        MsgFlags::MSG_ERRQUEUE,
    ) {
        Err(Errno::EAGAIN) => return Ok(None),
        got => got?,
    };
    let (error, by): (_, IpAddr) = got
        .cmsgs()?
        .find_map(|message| match message {
            ControlMessageOwned::Ipv4RecvErr(error, Some(by)) => Some((
                error,
                Ipv4Addr::from_bits(u32::from_be(by.sin_addr.s_addr)).into(),
            )),
            ControlMessageOwned::Ipv6RecvErr(error, Some(by)) => {
                Some((error, Ipv6Addr::from(by.sin6_addr.s6_addr).into()))
            }
            _ => None,
        })
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(Told {
        errno: Errno::from_raw(error.ee_errno as i32),
        kind: [error.ee_type, error.ee_code],
        by,
    }))
}

/// Lets no datagram of the socket be fragmented, on the way or before.
pub(super) fn never_fragment(socket: &impl AsFd, target: SocketAddr) -> nix::Result<()> {
    match target {
        SocketAddr::V4(_) => setsockopt(socket, DiscoverV4, &libc::IP_PMTUDISC_DO),
        SocketAddr::V6(_) => setsockopt(socket, DiscoverV6, &libc::IPV6_PMTUDISC_DO),
    }
}

/// Bytes of the largest packet that a connected socket sends.
pub(super) fn largest_packet(socket: &impl AsFd, target: SocketAddr) -> nix::Result<libc::c_int> {
    match target {
        SocketAddr::V4(_) => getsockopt(socket, sockopt::IpMtu),
        SocketAddr::V6(_) => getsockopt(socket, MtuV6),
    }
}
