//! A small UDP server that says who it is.
//!
//! It answers a datagram with its name, a blank and what it got, from the address that was asked.

use std::{
    io::{self, IoSlice, IoSliceMut},
    net::{Ipv6Addr, UdpSocket},
    os::fd::AsRawFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use nix::{
    libc::in6_pktinfo,
    sys::socket::{
        ControlMessage, ControlMessageOwned, MsgFlags, Shutdown, SockaddrIn6, recvmsg, sendmsg,
        setsockopt, shutdown, sockopt,
    },
};

use super::namespace::Namespace;

/// A server in this process. Dropping it closes its port.
#[derive(Debug)]
pub struct UdpServer {
    socket: Arc<UdpSocket>,
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    answers: AtomicU64,
}

impl UdpServer {
    /// Takes `port` of every address of `namespace`, of both families.
    #[track_caller]
    pub fn start(namespace: &Namespace, name: &str, port: u16) -> Self {
        namespace
            .enter(|| Self::listen(name, port))
            .unwrap_or_else(|error| panic!("port {port} is not to be had: {error}"))
    }

    /// Takes `port` of every address of the present namespace.
    pub fn listen(name: &str, port: u16) -> io::Result<Self> {
        // Linux lets IPv4 in there too.
        let socket = Arc::new(UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))?);
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        let shared = Arc::<Shared>::default();
        let worker = {
            let (socket, shared, name) =
                (Arc::clone(&socket), Arc::clone(&shared), name.to_owned());
            thread::spawn(move || {
                while !shared.ends.load(Ordering::Relaxed) {
                    // A client that goes away is no error of the server.
                    if answer(&socket, &name).is_ok() {
                        shared.answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        };
        Ok(Self {
            socket,
            shared,
            worker: Some(worker),
        })
    }

    /// How many datagrams it has answered.
    pub fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::Relaxed)
    }

    /// Serves until the process ends.
    pub fn serve(mut self) {
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl Drop for UdpServer {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // It says that there is no connection, but wakes the worker all the same.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Both);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Waits for a datagram and answers it.
fn answer(socket: &UdpSocket, name: &str) -> io::Result<()> {
    let mut buffer = [0; 8192];
    let mut control = nix::cmsg_space!(in6_pktinfo);
    let mut pieces = [IoSliceMut::new(&mut buffer)];
    let got = recvmsg::<SockaddrIn6>(
        socket.as_raw_fd(),
        &mut pieces,
        Some(&mut control),
        MsgFlags::empty(),
    )?;
    let (client, length) = (got.address, got.bytes);
    let asked = got.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv6PacketInfo(info) => Some(info.ipi6_addr),
        _ => None,
    });
    let (Some(client), Some(ipi6_addr)) = (client, asked) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // The answer may leave by another interface than the one that has the address.
    let source = in6_pktinfo {
        ipi6_addr,
        ipi6_ifindex: 0,
    };
    sendmsg(
        socket.as_raw_fd(),
        &[
            IoSlice::new(name.as_bytes()),
            IoSlice::new(b" "),
            IoSlice::new(&buffer[..length]),
        ],
        &[ControlMessage::Ipv6PacketInfo(&source)],
        MsgFlags::empty(),
        Some(&client),
    )?;
    Ok(())
}
