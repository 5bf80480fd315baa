use std::{fmt, net::IpAddr};

use rtnetlink::packet_route::neighbour::NeighbourState;

use super::links::Links;
use crate::model::{Departure, Destination, Forward, Mac};

/// How packets reach a backend.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Way {
    /// By frames from `source` to `next_hop`.
    Open {
        /// MAC address of the backend, or of the gateway before it.
        next_hop: Mac,
        /// MAC address of the interface that they leave by.
        source: Mac,
        /// Source of the outer header, where there is one: an address of the edge.
        edge_address: Option<IpAddr>,
        /// Largest IP packet that fits, in bytes, the outer header included.
        mtu: u16,
        /// How the frames leave.
        departure: Departure,
    },
    /// Not at all as the network is set up, and why.
    Refused(String),
    /// The MAC address of this next hop, the backend or the gateway before it, is not known; the
    /// kernel is asking for it.
    Unresolved(IpAddr),
}

impl Way {
    /// The MAC address that it leads to, if it is open.
    pub(super) fn next_hop(&self) -> Option<Mac> {
        match self {
            Self::Open { next_hop, .. } => Some(*next_hop),
            Self::Refused(_) | Self::Unresolved(_) => None,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open {
                departure: Departure::Host,
                ..
            } => f.write_str("on this host itself"),
            Self::Open {
                next_hop,
                mtu,
                departure,
                ..
            } => write!(f, "by {next_hop}{departure}, MTU {mtu}"),
            Self::Refused(why) => f.write_str(why),
            Self::Unresolved(address) => {
                let asked = match address {
                    IpAddr::V4(_) => "ARP",
                    IpAddr::V6(_) => "neighbour discovery",
                };
                write!(
                    f,
                    "the MAC address of {address} is not known (no answer to {asked} yet)"
                )
            }
        }
    }
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
        /// The address of this host that such packets come from.
        source: Option<IpAddr>,
        mtu: Option<u32>,
    },
}

impl Route {
    /// By which interface a packet to `address` leaves, if it does, and whom it is handed to.
    pub(super) fn next_hop(&self, address: IpAddr) -> Option<(u32, IpAddr)> {
        match self {
            Self::Out {
                interface, gateway, ..
            } => Some((*interface, gateway.unwrap_or(address))),
            Self::Local | Self::Missing(_) | Self::NotOneHost => None,
        }
    }
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
    pub to: Destination,
    /// What the edge's interfaces are called.
    pub interfaces: &'a [String],
    pub links: &'a Links,
    pub route: &'a Route,
    /// What is known of the route's next hop.
    pub neighbour: Option<Neighbour>,
    /// The MAC address of that next hop that was in use until now.
    pub known: Option<Mac>,
}

impl Facts<'_> {
    pub(super) fn way(&self) -> Way {
        self.reach().unwrap_or_else(Way::Refused)
    }

    fn reach(&self) -> Result<Way, String> {
        let Destination { address, forward } = self.to;
        let names = self.interfaces.join(" or ");
        let Some(any) = self.links.any(self.interfaces) else {
            return Err(format!("there is no Ethernet interface {names}"));
        };
        let (out, gateway, source, mtu) = match self.route {
            Route::Local if forward == Forward::FullNat => {
                return Err(format!(
                    "{address} is an address of this edge itself, whose answers full-nat does not see"
                ));
            }
            Route::Local => {
                return Ok(Way::Open {
                    next_hop: any.mac,
                    source: any.mac,
                    edge_address: None,
                    mtu: u16::MAX,
                    departure: Departure::Host,
                });
            }
            Route::Missing(why) => return Err(format!("no route to {address}: {why}")),
            Route::NotOneHost => return Err(format!("{address} is not the address of one host")),
            Route::Out {
                interface,
                gateway,
                source,
                mtu,
            } => (interface, *gateway, *source, mtu),
        };
        let Some((sender, exit)) = self.links.exit(*out, self.interfaces) else {
            let other = self.links.name(*out);
            return Err(format!(
                "the route to {address} leaves by {other}, not by {names}"
            ));
        };
        let edge_address = match (forward.growth_from_edge(address), gateway) {
            (Some(_), _) => Some(edge_address(address, source, &names)?),
            (None, None) => None,
            (None, Some(gateway)) => {
                return Err(format!(
                    "{address} is behind the gateway {gateway}; {} needs it on the same link",
                    forward.as_str()
                ));
            }
        };
        let Some(next_hop) = self.next_hop() else {
            return Ok(Way::Unresolved(gateway.unwrap_or(address)));
        };
        Ok(Way::Open {
            next_hop,
            source: sender.mac,
            edge_address,
            mtu: mtu.map_or(sender.mtu, |mtu| {
                sender.mtu.min(u16::try_from(mtu).unwrap_or(u16::MAX))
            }),
            departure: Departure::Out(exit),
        })
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

/// The kernel's choice for packets to `address`, if others could answer to it.
fn edge_address(
    address: IpAddr,
    source: Option<IpAddr>,
    interface: &str,
) -> Result<IpAddr, String> {
    let seen_beyond_the_link = |source: &IpAddr| match source {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local() && !v6.is_unspecified(),
    };
    source.filter(seen_beyond_the_link).ok_or_else(|| {
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        format!("this edge has no {family} address to send to {address} from; give {interface} one")
    })
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
