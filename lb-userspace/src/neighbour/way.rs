use std::{collections::BTreeMap, fmt, net::IpAddr};

use rtnetlink::packet_route::neighbour::NeighbourState;

use super::interface::Interface;
use crate::model::Mac;

/// How packets reach a backend.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Way {
    /// By frames from `source` to `next_hop`.
    Open {
        /// MAC address of the backend.
        next_hop: Mac,
        /// MAC address of the edge's interface.
        source: Mac,
        /// Largest IP packet that fits, in bytes.
        mtu: u16,
    },
    /// Not at all as the network is set up, and why.
    Refused(String),
    /// Its MAC address is not known; the kernel is asking for it.
    Unresolved,
}

impl Way {
    /// The MAC address that it leads to, if it is open.
    pub(super) fn next_hop(&self) -> Option<Mac> {
        match self {
            Self::Open { next_hop, .. } => Some(*next_hop),
            Self::Refused(_) | Self::Unresolved => None,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { next_hop, mtu, .. } => write!(f, "by {next_hop}, MTU {mtu}"),
            Self::Refused(why) => f.write_str(why),
            Self::Unresolved => f.write_str("its MAC address is not known (no answer to ARP yet)"),
        }
    }
}

/// The interfaces of this host.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Their names, by index.
    pub names: BTreeMap<u32, String>,
    /// The one that packets arrive at, if it is there and speaks Ethernet.
    pub edge: Option<Interface>,
}

/// Where the kernel would send a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Route {
    /// To this host itself.
    Local,
    /// Nowhere, and why.
    Missing(String),
    /// To many hosts at once.
    NotOneHost,
    /// To another host.
    Out {
        interface: u32,
        gateway: Option<IpAddr>,
        mtu: Option<u32>,
    },
}

/// An entry of the kernel's neighbour table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Neighbour {
    pub state: NeighbourState,
    pub mac: Option<Mac>,
}

/// Everything that a [`Way`] depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// The backend.
    pub address: IpAddr,
    /// What the edge's interface is called.
    pub interface: &'a str,
    pub links: &'a Links,
    pub route: &'a Route,
    pub neighbour: Option<Neighbour>,
    /// The MAC address that was in use until now.
    pub known: Option<Mac>,
}

impl Facts<'_> {
    pub(super) fn way(&self) -> Way {
        self.reach().unwrap_or_else(Way::Refused)
    }

    fn reach(&self) -> Result<Way, String> {
        let Self {
            address,
            interface: name,
            links,
            ..
        } = *self;
        let Some(edge) = links.edge else {
            return Err(format!("there is no Ethernet interface {name}"));
        };
        let (out, gateway, mtu) = match self.route {
            Route::Local => return Err(format!("{address} is an address of this edge itself")),
            Route::Missing(why) => return Err(format!("no route to {address}: {why}")),
            Route::NotOneHost => return Err(format!("{address} is not the address of one host")),
            Route::Out {
                interface,
                gateway,
                mtu,
            } => (interface, gateway, mtu),
        };
        if *out != edge.index {
            let other = links.names.get(out).map_or("another", String::as_str);
            return Err(format!(
                "the route to {address} leaves by {other}, not by {name}"
            ));
        }
        if let Some(gateway) = gateway {
            return Err(format!(
                "{address} is behind the gateway {gateway}; l2-dsr needs it on the same link"
            ));
        }
        let smallest = mtu.map_or(edge.mtu, |mtu| {
            edge.mtu.min(u16::try_from(mtu).unwrap_or(u16::MAX))
        });
        Ok(self
            .next_hop()
            .map_or(Way::Unresolved, |next_hop| Way::Open {
                next_hop,
                source: edge.mac,
                mtu: smallest,
            }))
    }

    /// An entry that is gone, or is being resolved, says nothing against the address that was in
    /// use: packets go there until the kernel has asked in vain.
    fn next_hop(&self) -> Option<Mac> {
        use NeighbourState as S;
        match self.neighbour {
            None => self.known,
            Some(Neighbour { state, mac }) => match state {
                S::Delay | S::Noarp | S::Permanent | S::Probe | S::Reachable | S::Stale => mac,
                S::Incomplete | S::None => self.known,
                _ => None,
            },
        }
    }
}

/// What the kernel can be asked to do about a neighbour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Nudge {
    /// Ask the known MAC address whether it is still right.
    Confirm,
    /// Ask everybody for the MAC address.
    Resolve,
}

/// What would make an entry, or the lack of one, better known.
pub(super) fn nudge(neighbour: Option<Neighbour>) -> Option<Nudge> {
    match neighbour.map(|neighbour| neighbour.state) {
        None | Some(NeighbourState::Failed | NeighbourState::None) => Some(Nudge::Resolve),
        Some(NeighbourState::Stale) => Some(Nudge::Confirm),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
