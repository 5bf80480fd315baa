use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::IpAddr,
};

use anyhow::bail;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, pin_mut, stream::BoxStream};
use rtnetlink::{
    Error, Handle, MulticastGroup, RouteMessageBuilder, new_connection, new_multicast_connection,
    packet_core::{NetlinkMessage, NetlinkPayload},
    packet_route::{
        RouteNetlinkMessage,
        neighbour::{
            NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
        },
        route::{RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteType, RouteVia},
    },
};
use tokio::task::JoinSet;

use super::{
    links::Links,
    way::{Neighbour, Nudge, Route},
};
use crate::model::Mac;

/// What makes a way other than it was: addresses, links, neighbours, routes and rules.
const GROUPS: &[MulticastGroup] = &[
    MulticastGroup::Link,
    MulticastGroup::Neigh,
    MulticastGroup::Ipv4Ifaddr,
    MulticastGroup::Ipv4Route,
    MulticastGroup::Ipv4Rule,
    MulticastGroup::Ipv6Ifaddr,
    MulticastGroup::Ipv6Route,
    MulticastGroup::Ipv6Rule,
];

/// The kernel's network configuration in one namespace.
pub(super) struct Kernel {
    requests: Handle,
    /// Held so that the connection ends with this.
    _connection: JoinSet<()>,
}

/// What changes in it.
///
/// It has a socket of its own: when more comes than that holds, the kernel drops some, and an
/// answer must not be among those.
pub(super) struct Events {
    messages: BoxStream<'static, NetlinkMessage<RouteNetlinkMessage>>,
    _connection: JoinSet<()>,
}

impl Events {
    /// Those of the present namespace.
    pub(super) fn subscribe() -> io::Result<Self> {
        let (connection, _, messages) = new_multicast_connection(GROUPS)?;
        Ok(Self {
            messages: messages.map(|(message, _)| message).boxed(),
            _connection: running(connection),
        })
    }

    /// Waits until something changes that may concern the ways over these next hops. Lost events
    /// may.
    pub(super) async fn next(&mut self, next_hops: &BTreeSet<IpAddr>) -> anyhow::Result<()> {
        while let Some(message) = self.messages.next().await {
            if concerns(&message, next_hops) {
                return Ok(());
            }
        }
        bail!("the kernel closed the netlink socket");
    }

    /// Those of `messages`.
    #[cfg(test)]
    pub(super) fn of(messages: BoxStream<'static, NetlinkMessage<RouteNetlinkMessage>>) -> Self {
        Self {
            messages,
            _connection: JoinSet::new(),
        }
    }

    /// Takes what waits to be read, since one look answers to all of it.
    pub(super) fn skip_waiting(&mut self) {
        while let Some(Some(_)) = self.messages.next().now_or_never() {}
    }
}

fn running(connection: impl Future<Output = ()> + Send + 'static) -> JoinSet<()> {
    let mut running = JoinSet::new();
    running.spawn(connection);
    running
}

impl Kernel {
    /// Connects to it in the present namespace.
    pub(super) fn open() -> io::Result<Self> {
        let (connection, requests, _) = new_connection()?;
        Ok(Self {
            requests,
            _connection: running(connection),
        })
    }

    /// All interfaces.
    pub(super) async fn links(&self) -> Result<Links, Error> {
        let mut links = Links::default();
        let messages = self.requests.link().get().execute();
        pin_mut!(messages);
        while let Some(message) = messages.try_next().await? {
            links.add(&message);
        }
        Ok(links)
    }

    /// The neighbours on some interfaces, by the index of these.
    pub(super) async fn neighbours(
        &self,
        on: impl Fn(u32) -> bool,
    ) -> Result<BTreeMap<(u32, IpAddr), Neighbour>, Error> {
        let mut neighbours = BTreeMap::new();
        let messages = self.requests.neighbours().get().execute();
        pin_mut!(messages);
        while let Some(message) = messages.try_next().await? {
            let interface = message.header.ifindex;
            if !on(interface) {
                continue;
            }
            if let Some(address) = neighbour_address(&message) {
                let state = message.header.state;
                let mac = message
                    .attributes
                    .iter()
                    .find_map(|attribute| match attribute {
                        NeighbourAttribute::LinkLayerAddress(bytes) => mac(bytes),
                        _ => None,
                    });
                neighbours.insert((interface, address), Neighbour { state, mac });
            }
        }
        Ok(neighbours)
    }

    /// Where a packet of this host's to `address` would go.
    pub(super) async fn route(&self, address: IpAddr) -> anyhow::Result<Route> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let message = RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(address, bits)?
            .build();
        let answers = self.requests.route().get(message).execute();
        pin_mut!(answers);
        match answers.try_next().await {
            Ok(Some(answer)) => Ok(route(&answer)),
            Ok(None) => bail!("the kernel does not say where {address} is"),
            // Thus it answers where routes end in `unreachable` and the like, too.
            Err(Error::NetlinkError(refusal)) => Ok(Route::Missing(refusal.to_io().to_string())),
            Err(other) => Err(other.into()),
        }
    }

    /// Asks the kernel to find out about a neighbour; the answer comes as an event.
    pub(super) async fn nudge(
        &self,
        interface: u32,
        address: IpAddr,
        nudge: Nudge,
    ) -> Result<(), Error> {
        let request = self.requests.neighbours().add(interface, address).replace();
        match nudge {
            Nudge::Confirm => request.state(NeighbourState::Probe),
            Nudge::Resolve => request
                .state(NeighbourState::None)
                .flags(NeighbourFlags::Use),
        }
        .execute()
        .await
    }
}

fn concerns(message: &NetlinkMessage<RouteNetlinkMessage>, next_hops: &BTreeSet<IpAddr>) -> bool {
    match &message.payload {
        NetlinkPayload::InnerMessage(
            RouteNetlinkMessage::NewNeighbour(neighbour)
            | RouteNetlinkMessage::DelNeighbour(neighbour),
        ) => neighbour_address(neighbour).is_some_and(|address| next_hops.contains(&address)),
        _ => true,
    }
}

fn neighbour_address(message: &NeighbourMessage) -> Option<IpAddr> {
    message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => Some(IpAddr::V4(*v4)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => Some(IpAddr::V6(*v6)),
            _ => None,
        })
}

fn route(message: &RouteMessage) -> Route {
    match message.header.kind {
        RouteType::Unicast => {}
        RouteType::Local => return Route::Local,
        _ => return Route::NotOneHost,
    }
    let mut out = None;
    let mut gateway = None;
    let mut source = None;
    let mut mtu = None;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => out = Some(*index),
            RouteAttribute::Gateway(RouteAddress::Inet(v4))
            | RouteAttribute::Via(RouteVia::Inet(v4)) => gateway = Some(IpAddr::V4(*v4)),
            RouteAttribute::Gateway(RouteAddress::Inet6(v6))
            | RouteAttribute::Via(RouteVia::Inet6(v6)) => gateway = Some(IpAddr::V6(*v6)),
            RouteAttribute::PrefSource(RouteAddress::Inet(v4)) => source = Some(IpAddr::V4(*v4)),
            RouteAttribute::PrefSource(RouteAddress::Inet6(v6)) => source = Some(IpAddr::V6(*v6)),
            RouteAttribute::Metrics(metrics) => {
                mtu = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(bytes) => Some(*bytes),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    out.map_or_else(
        || Route::Missing("it has no interface".to_owned()),
        |interface| Route::Out {
            interface,
            gateway,
            source,
            mtu,
        },
    )
}

fn mac(bytes: &[u8]) -> Option<Mac> {
    bytes.try_into().ok().map(Mac)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use rtnetlink::{packet_core::NetlinkHeader, packet_route::link::LinkMessage};

    use super::*;

    const BACKEND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 8));
    const GATEWAY: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));

    fn concerned(payload: NetlinkPayload<RouteNetlinkMessage>) -> bool {
        let message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        concerns(&message, &[BACKEND, GATEWAY].into())
    }

    #[test]
    fn other_hosts_neighbour_entries_wake_nobody() {
        for address in [BACKEND, OTHER, GATEWAY] {
            let mut entry = NeighbourMessage::default();
            let destination = NeighbourAttribute::Destination(address.into());
            entry.attributes.push(destination);
            for message in [
                RouteNetlinkMessage::NewNeighbour(entry.clone()),
                RouteNetlinkMessage::DelNeighbour(entry.clone()),
            ] {
                let payload = NetlinkPayload::InnerMessage(message);
                assert_eq!(concerned(payload), address != OTHER, "{address}");
            }
        }
    }

    #[test]
    fn lost_events_links_and_routes_concern_everybody() {
        assert!(concerned(NetlinkPayload::Overrun(Vec::new())));
        for message in [
            RouteNetlinkMessage::NewLink(LinkMessage::default()),
            RouteNetlinkMessage::DelRoute(RouteMessage::default()),
        ] {
            assert!(concerned(NetlinkPayload::InnerMessage(message)));
        }
    }
}
