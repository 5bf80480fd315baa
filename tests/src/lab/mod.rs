//! A network of hosts: one switch with a bridge, and every host one veth away from it.
//!
//! ```text
//!   client-1   edge-1   backend-1  backend-2      198.51.100.0/24, eth0 of each
//!      |          |         |          |
//!   ===+==========+=========+==========+===  bridge br0 in the namespace of the switch
//! ```
//!
//! Clients send packets for the service address to the first edge; backends have it on their
//! loopback and answer directly. Nobody else answers ARP for it.

mod bpffs;
pub mod client;
mod daemon;
mod host;
pub mod http;
mod namespace;
mod nginx;
mod pass;
mod process;
mod scratch;
mod wait;
mod wrk;

use std::{
    net::Ipv4Addr,
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
};

pub use self::{
    bpffs::BpfFs,
    daemon::{Daemon, Settings, program},
    host::{Host, INTERFACE},
    http::{ServerProcess, WebServer},
    namespace::Namespace,
    nginx::Nginx,
    process::{Outcome, Process},
    scratch::Scratch,
    wait::{DEADLINE, wait_until},
    wrk::{Load, Wrk},
};

/// The service address: clients reach it through the first edge, and every backend has it on its
/// loopback.
pub const SERVICE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);

/// How many hosts of each kind a lab has.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// At most 50.
    pub clients: u8,
    /// At most 9.
    pub edges: u8,
    /// At most 100.
    pub backends: u8,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            clients: 1,
            edges: 1,
            backends: 2,
        }
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
    /// The bridge `br0`; its ports are called like the hosts behind them.
    pub switch: Namespace,
    /// Held so that the edges' peers go on to have their program.
    _pass: Vec<OwnedFd>,
}

impl Lab {
    /// Makes the hosts and connects them.
    pub fn new(topology: Topology) -> Self {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| {
            namespace::sweep();
            scratch::sweep();
        });
        let Topology {
            clients,
            edges,
            backends,
        } = topology;
        assert!(
            clients <= 50 && edges <= 9 && backends <= 100,
            "{topology:?}"
        );

        let lab = unique();
        let switch = Namespace::new(&format!("{lab}-sw"));
        switch.ip(&[
            "link add br0 type bridge mcast_snooping 0",
            "link set br0 up",
        ]);
        let hosts = |kind: &str, count: u8, first: u8| -> Vec<Host> {
            (0..count)
                .map(|i| Host::new(&lab, &format!("{kind}-{}", i + 1), first + i, &switch))
                .collect()
        };
        let edges = hosts("edge", edges, 1);
        let clients = hosts("client", clients, 11);
        let backends = hosts("backend", backends, 101);

        if let Some(edge) = edges.first() {
            for client in &clients {
                client.ip(&[&format!("route add 203.0.113.0/24 via {}", edge.address())]);
            }
        }
        for backend in &backends {
            backend.serve(SERVICE);
        }
        let pass = edges
            .iter()
            .map(|edge| switch.enter(|| pass::attach(edge.name())))
            .collect();
        Self {
            clients,
            edges,
            backends,
            switch,
            _pass: pass,
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
