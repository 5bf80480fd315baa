use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{FlowIdle, Location, Name, Tunnels};

/// How the program is attached to the interfaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum XdpMode {
    /// Native, or generic with a warning where the driver has no native XDP.
    Auto,
    /// After the kernel made a socket buffer: works everywhere, slow.
    Generic,
    /// In the driver, before the kernel makes a socket buffer.
    Native,
}

/// Settings of this edge: where the program is attached, and how large its tables are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edge {
    /// Names the run directory, pins and lock, so that several edges can run on one host.
    pub name: Name,
    /// The interfaces that packets of clients and backends arrive at and leave by; at least one.
    pub interfaces: Vec<String>,
    /// How to attach.
    pub xdp_mode: XdpMode,
    /// Key of the ring hash; the same on every edge that shares a service address.
    pub ring_key: String,
    /// Whether the packet program logs; a program with this off does not hold the code for it.
    pub packet_log: bool,
    /// Directory on a BPF file system for this edge's pins.
    pub pin_dir: PathBuf,
    /// Directory for what outlives the daemon: admin state, health windows.
    pub state_dir: PathBuf,
    /// Path of the control socket.
    pub control: PathBuf,
    /// Where metrics and the status page are served over HTTP, if they are.
    pub metrics: Option<SocketAddr>,
    /// Where this host is.
    pub location: Option<Location>,
    /// How long after the start a service whose group is still undecided is published anyway.
    pub startup_grace: Duration,
    /// How long the ring before a change counts for packets of connections that no entry knows.
    pub ring_grace: Duration,
    /// Entries of the flow table; a power of two, at least 64.
    pub flow_entries: u32,
    /// How long flows are remembered.
    pub flow_idle: FlowIdle,
    /// Slots of the ring pool, over all groups.
    pub ring_slots: u32,
    /// Flow entries that one CPU may write per second.
    pub insert_limit: u32,
    /// Packets that one CPU may answer per second by a reset or an ICMP error.
    pub reply_limit: u32,
    /// Whether echo requests to the addresses of services are answered.
    pub answer_echo: bool,
    /// Client prefixes that can be pinned to a backend at a time, over all services.
    pub affinity_entries: u32,
    /// How packets to `full-nat` backends are translated.
    pub nat: Nat,
    /// What is set for all tunnels.
    pub tunnels: Tunnels,
}

/// How packets to `full-nat` backends are translated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Nat {
    /// Addresses that they come from, at most one of each family; without one, the address that the kernel
    /// would choose.
    pub sources: Vec<IpAddr>,
    /// Ports that they come from.
    pub ports: RangeInclusive<u16>,
    /// Flows that can be translated at a time.
    pub entries: u32,
}

impl Nat {
    /// Where packets to a backend come from, unless the kernel is to choose.
    pub fn source(&self, backend: IpAddr) -> Option<IpAddr> {
        let same = |source: &&IpAddr| source.is_ipv4() == backend.is_ipv4();
        self.sources.iter().find(same).copied()
    }
}

impl Edge {
    /// Where the pins of edge `name` stand, unless `pin_dir` says otherwise. A BPF file system takes
    /// no dots in names.
    pub fn default_pin_dir(name: &str) -> PathBuf {
        Path::new(Self::PIN_ROOT).join(name.replace('.', "_"))
    }

    /// Where an edge's pins stand, in a directory of its name, unless `pin_dir` says otherwise.
    pub const PIN_ROOT: &str = "/sys/fs/bpf/waggle";
    /// Where an edge's control socket stands, as NAME.sock, unless `control` says otherwise.
    pub const RUN_ROOT: &str = "/run/waggle";
    /// Where an edge's state stands, in a directory of its name, unless `state_dir` says otherwise.
    pub const STATE_ROOT: &str = "/var/lib/waggle";
}
