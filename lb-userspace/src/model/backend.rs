use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use lb_common::{ForwardMode, Tags, Target};

use super::{Location, Name};
use crate::whereabouts::LatencyRegion;

/// How packets reach a backend.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Forward {
    /// With the edge's address in the place of the client's, there and back through the edge; it needs
    /// nothing for that.
    FullNat,
    /// As with [`Self::Ipip`], in a datagram to this port of it.
    Gue {
        /// The port.
        port: u16,
    },
    /// In a packet from the edge to it, of the family of its address, maybe through gateways; it unpacks
    /// it, has the service address and answers directly.
    Ipip,
    /// By its MAC address; it has the service address on its loopback and answers directly.
    L2Dsr,
}

impl Forward {
    /// The spelling in configuration and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullNat => "full-nat",
            Self::Gue { .. } => "gue",
            Self::Ipip => "ipip",
            Self::L2Dsr => "l2-dsr",
        }
    }

    /// The number that stands for it in the kernel's tables.
    pub fn mode(self) -> ForwardMode {
        match self {
            Self::FullNat => ForwardMode::FULL_NAT,
            Self::Gue { .. } => ForwardMode::GUE,
            Self::Ipip => ForwardMode::IPIP,
            Self::L2Dsr => ForwardMode::L2_DSR,
        }
    }

    /// The one that a number in the kernel's tables stands for, beside the backend's port there.
    fn of_mode(mode: ForwardMode, port: u16) -> Option<Self> {
        [Self::FullNat, Self::Gue { port }, Self::Ipip, Self::L2Dsr]
            .into_iter()
            .find(|it| it.mode() == mode)
    }

    /// The port that it leads to, of a tunnel that has one.
    pub fn tunnel_port(self) -> Option<u16> {
        match self {
            Self::Gue { port } => Some(port),
            Self::FullNat | Self::Ipip | Self::L2Dsr => None,
        }
    }

    /// Bytes that packets to `address` grow by, if they come from an address of the edge: those find
    /// their way through gateways.
    pub fn growth_from_edge(self, address: IpAddr) -> Option<u16> {
        let header = match address {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        };
        match self {
            Self::FullNat => Some(0),
            Self::Gue { .. } => Some(header + 12),
            Self::Ipip => Some(header),
            Self::L2Dsr => None,
        }
    }
}

/// A server that traffic can be sent to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Backend {
    /// What it is called.
    pub name: Name,
    /// Where it is.
    pub address: IpAddr,
    /// How packets reach it.
    pub forward: Forward,
    /// The port that packets are rewritten to, if another than the service's; only with `full-nat`.
    pub port: Option<u16>,
    /// The VLAN tags of frames to it, if they are not to be those of the kernel's route.
    pub vlan: Option<Tags>,
    /// Its place, by which clients near to it find it; none says nothing of that.
    pub location: Option<Location>,
    /// The region of latency tables that it stands in (S73).
    pub region: Option<LatencyRegion>,
    /// Where it is probed, if elsewhere.
    pub probe: ProbedAt,
}

/// Where a backend is probed instead of its address and its groups' port (D97, D106).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ProbedAt {
    /// Another address.
    pub address: Option<IpAddr>,
    /// Another port.
    pub port: Option<u16>,
}

impl Backend {
    /// What makes it the same backend under another name, in another file or on another host.
    pub fn identity(&self) -> Identity {
        Identity {
            address: self.address,
            forward: self.forward,
            port: self.port,
        }
    }

    /// Whether packets of IPv4, or else of IPv6, can reach it: a tunnel takes both.
    pub fn takes(&self, v4: bool) -> bool {
        match self.forward {
            Forward::Gue { .. } | Forward::Ipip => true,
            Forward::FullNat | Forward::L2Dsr => self.address.is_ipv4() == v4,
        }
    }

    /// Where the network has to take its packets.
    pub fn destination(&self) -> Destination {
        Destination {
            address: self.address,
            forward: self.forward,
        }
    }
}

/// What the way to a backend depends on: backends that agree in it share the way.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Destination {
    /// The backend's address.
    pub address: IpAddr,
    /// How packets reach it.
    pub forward: Forward,
}

/// What tells backends apart on every host alike: never the name, an id or the order in a file.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity {
    /// Its address.
    pub address: IpAddr,
    /// How packets reach it.
    pub forward: Forward,
    /// The port that packets are rewritten to, if they are.
    pub port: Option<u16>,
}

impl Identity {
    /// The backend that a target in the kernel's tables leads to; none if the id is free.
    pub fn of(target: &Target) -> Option<Self> {
        let port = u16::from_be_bytes(target.nat.port);
        let forward = Forward::of_mode(target.mode, port)?;
        Some(Self {
            address: target.address.into(),
            forward,
            port: (port != 0 && forward.tunnel_port().is_none()).then_some(port),
        })
    }

    /// Its address, with the port that packets get there, if that is told.
    pub fn place(&self) -> String {
        match self.port.or(self.forward.tunnel_port()) {
            Some(port) => SocketAddr::new(self.address, port).to_string(),
            None => self.address.to_string(),
        }
    }

    /// A canonical form for hashing: two identities have the same bytes only if they are equal.
    pub fn bytes(&self) -> [u8; 20] {
        let v6 = match self.address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&v6.octets());
        bytes[16] = self.forward.mode().0;
        let port = self.port.or(self.forward.tunnel_port());
        bytes[17] = u8::from(port.is_some());
        bytes[18..].copy_from_slice(&port.unwrap_or(0).to_be_bytes());
        bytes
    }
}

/// What the family of an address is called.
pub fn family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
