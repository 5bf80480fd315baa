//! A network of hosts: one switch with a bridge, and every host one veth away from it.
//!
//! ```text
//!   client-1   edge-1   backend-1  backend-2    router     198.51.100.N  2001:db8:51::N, eth0
//!      |          |         |          |          |
//!   ===+==========+=========+==========+==========+===     bridge br0 in the switch's namespace
//!                                                 |
//!   ===+==================+=======================+===     bridge br1, only if one is far
//!      |                  |
//!   far-client-1    far-backend-1                          192.0.2.N     2001:db8:192::N, eth0
//! ```
//!
//! N is 1 for the first edge, 11 for the first client, 101 for the first backend and 254 for the
//! router. Clients send packets for the service addresses ([`SERVICE`], [`SERVICE_V6`]) to the
//! first edge, far ones by way of the router; backends have them on their loopback and answer
//! directly. Nobody else answers ARP or neighbour discovery for them.
//!
//! Far clients are those whose prefix differs; a far backend can be reached by tunnel only, and
//! that ends there with [`Host::decapsulate`]. Over TCP one asks with [`client::Connection`], over
//! UDP with [`client::UdpFlow`], and all the time with [`Traffic`]; servers are [`WebServer`],
//! [`Nginx`] and [`UdpServer`].

mod bpffs;
pub mod client;
mod daemon;
mod decapsulate;
mod host;
pub mod http;
mod iperf;
mod namespace;
mod network;
mod nginx;
mod pass;
mod process;
mod scratch;
pub mod traffic;
mod trunk;
pub mod udp;
mod wait;
mod wrk;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
};

use self::network::Network;
pub use self::{
    bpffs::BpfFs,
    daemon::{Daemon, Settings, program},
    decapsulate::TunnelEnd,
    host::{Host, INTERFACE},
    http::{ServerProcess, WebServer},
    iperf::{IperfServer, Transfer},
    namespace::Namespace,
    nginx::Nginx,
    process::{Outcome, Process},
    scratch::Scratch,
    traffic::Traffic,
    trunk::Trunk,
    udp::UdpServer,
    wait::{DEADLINE, now, wait_until},
    wrk::{Load, Wrk},
};

/// The service address: clients reach it through the first edge, and every backend has it on its
/// loopback.
pub const SERVICE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);

/// The same for IPv6: 2001:db8:203::10.
pub const SERVICE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x203, 0, 0, 0, 0, 0x10);

/// Both: IPv4, IPv6.
pub const SERVICES: [IpAddr; 2] = [IpAddr::V4(SERVICE), IpAddr::V6(SERVICE_V6)];

/// How many hosts of each kind a lab has.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// At most 50.
    pub clients: u8,
    /// At most 9.
    pub edges: u8,
    /// At most 100.
    pub backends: u8,
    /// Clients behind the router; at most 50.
    pub far_clients: u8,
    /// Backends behind the router; at most 100.
    pub far_backends: u8,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            clients: 1,
            edges: 1,
            backends: 2,
            far_clients: 0,
            far_backends: 0,
        }
    }
}

impl Topology {
    fn fits(self) -> bool {
        let clients = self.clients.max(self.far_clients);
        let backends = self.backends.max(self.far_backends);
        clients <= 50 && self.edges <= 9 && backends <= 100
    }

    fn has_far(self) -> bool {
        self.far_clients + self.far_backends > 0
    }
}

/// A network of hosts. It is gone when this is dropped, after a panic too.
pub struct Lab {
    /// Those who use the service.
    pub clients: Vec<Host>,
    /// Where Waggle runs.
    pub edges: Vec<Host>,
    /// Those who serve.
    pub backends: Vec<Host>,
    /// Those who use the service from another network.
    pub far_clients: Vec<Host>,
    /// Those who serve in another network.
    pub far_backends: Vec<Host>,
    /// Between the two networks; there is one if a host is far.
    pub router: Option<Host>,
    /// The bridge `br0`, and `br1` if a host is far; their ports are called like the hosts behind them.
    pub switch: Namespace,
    /// Held so that the edges' peers go on to have their program.
    pass: Vec<OwnedFd>,
}

impl Lab {
    /// Makes the hosts and connects them.
    pub fn new(topology: Topology) -> Self {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| {
            namespace::sweep();
            scratch::sweep();
        });
        assert!(topology.fits(), "{topology:?}");

        let lab = unique();
        let switch = Namespace::new(&format!("{lab}-sw"));
        // It only passes frames on.
        switch.sysctl(&[("ipv6/conf/default/disable_ipv6", "1")]);
        switch.ip(&[
            "link add br0 type bridge mcast_snooping 0",
            "link set br0 up",
        ]);
        let hosts = |kind: &str, network, count: u8, first: u8| -> Vec<Host> {
            (0..count)
                .map(|i| {
                    let name = format!("{kind}-{}", i + 1);
                    Host::new(&lab, &name, network, first + i, &switch)
                })
                .collect()
        };
        let edges = hosts("edge", Network::Near, topology.edges, 1);
        let clients = hosts("client", Network::Near, topology.clients, 11);
        let backends = hosts("backend", Network::Near, topology.backends, 101);
        let router = topology.has_far().then(|| router(&lab, &switch));
        let far_clients = hosts("far-client", Network::Far, topology.far_clients, 11);
        let far_backends = hosts("far-backend", Network::Far, topology.far_backends, 101);
        if let Some(edge) = edges.first() {
            for host in clients.iter().chain(&router) {
                host.use_service_through(edge);
            }
        }
        if let Some(router) = &router {
            for host in edges.iter().chain(&clients).chain(&backends) {
                host.reach_far_through(router);
            }
            for host in far_clients.iter().chain(&far_backends) {
                host.leave_far_through(router);
            }
        }
        for backend in backends.iter().chain(&far_backends) {
            backend.serve();
        }
        let pass = edges
            .iter()
            .map(|edge| switch.enter(|| pass::attach(edge.name())))
            .collect();
        Self {
            clients,
            edges,
            backends,
            far_clients,
            far_backends,
            router,
            switch,
            pass,
        }
    }

    /// The first client.
    pub fn client(&self) -> &Host {
        &self.clients[0]
    }

    /// The first edge.
    pub fn edge(&self) -> &Host {
        &self.edges[0]
    }
}

/// The router, and the far network.
fn router(lab: &str, switch: &Namespace) -> Host {
    switch.ip(&[
        "link add br1 type bridge mcast_snooping 0",
        "link set br1 up",
    ]);
    let router = Host::new(lab, "router", Network::Near, 254, switch);
    router.route_to_far(switch);
    router
}

/// Begins the names of all that belongs to one lab: `wgl-<pid>-<n>`.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{n}", std::process::id())
}

const PREFIX: &str = "wgl-";

/// Whether `name` is one of ours and the process that made it is gone.
fn left_over(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok())
        .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    /// Above the largest process id that Linux gives.
    const NOBODY: u32 = (1 << 22) + 1;

    #[test]
    fn only_what_a_gone_process_made_is_left_over() {
        assert!(left_over(&format!("wgl-{NOBODY}-0-sw")));
        assert!(left_over(&format!("wgl-{NOBODY}-0-x7Yz")));
        assert!(!left_over(&format!("{}-sw", unique())));
        for other in ["", "wgl-", "wgl-x-0", "wgl--1", "lab-4194305-0", "4194305"] {
            assert!(!left_over(other), "{other:?}");
        }
    }

    #[test]
    fn leftovers_are_swept_with_what_runs_in_them() {
        let name = format!("wgl-{NOBODY}-{}-sw", std::process::id());
        let gone = Namespace::new(&name);
        let mut process = Process::spawn(gone.command("sleep").arg("600"));
        let path = gone.path();
        std::mem::forget(gone);
        let ours = Namespace::new(&format!("{}-sw", unique()));
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(directory.join("state")).unwrap();
        wait_until(DEADLINE, "a process in the namespace", || {
            let pids = Command::new("ip").args(["netns", "pids", &name]).output();
            !pids.unwrap().stdout.is_empty()
        });

        namespace::sweep();
        scratch::sweep();

        assert_eq!(process.wait().code(), None, "it was killed");
        assert!(!fs::exists(path).unwrap());
        assert!(!fs::exists(directory).unwrap());
        assert!(fs::exists(ours.path()).unwrap());
    }
}
