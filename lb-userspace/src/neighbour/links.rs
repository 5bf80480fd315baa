//! The interfaces of this host, and by which of the edge's a packet leaves.

use std::collections::BTreeMap;

use lb_common::{Exit, Tags};
use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoPortKind, InfoVlan, LinkAttribute, LinkInfo, LinkLayerType,
    LinkMessage, VlanProtocol,
};

use crate::{
    model::Mac,
    refusal::{
        Refusal,
        host::{bonded_interface, no_ethernet, no_interface, vlan_interface},
    },
};

/// An Ethernet interface as it is now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Interface {
    /// Its address.
    pub mac: Mac,
    /// Largest IP packet that it takes, in bytes.
    pub mtu: u16,
}

/// All interfaces, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(BTreeMap<u32, Link>);

#[derive(Clone, Debug)]
struct Link {
    name: String,
    /// What is known of it if it speaks Ethernet.
    ethernet: Option<Interface>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A VLAN on another interface, whose frames have this tag there.
    Vlan {
        parent: u32,
        tag: Tags,
    },
    /// A port of a bond or team.
    Port(u32),
    Other,
}

impl Links {
    /// Takes up what the kernel says of one.
    pub(super) fn add(&mut self, message: &LinkMessage) {
        let mut link = Link {
            name: String::new(),
            ethernet: None,
            kind: kind(message),
        };
        let (mut address, mut mtu) = (None, None);
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Address(bytes) => {
                    address = bytes.as_slice().try_into().ok().map(Mac);
                }
                LinkAttribute::Mtu(bytes) => mtu = Some(u16::try_from(*bytes).unwrap_or(u16::MAX)),
                _ => {}
            }
        }
        let index = message.header.index;
        if message.header.link_layer_type == LinkLayerType::Ether {
            let both = address.zip(mtu);
            link.ethernet = both.map(|(mac, mtu)| Interface { mac, mtu });
        }
        self.0.insert(index, link);
    }

    /// Whether the packet program can be on the interface called `name`.
    ///
    /// # Errors
    /// It can not, or not so that it sees all frames as they are on the wire: with the interface that it
    /// should be on.
    pub(super) fn check(&self, name: &str) -> Result<(), Refusal> {
        let Some((_, link)) = self.0.iter().find(|(_, link)| link.name == name) else {
            let names: Vec<_> = self.0.values().map(|link| link.name.as_str()).collect();
            return Err(no_interface(name, names.join(", ")));
        };
        match link.kind {
            Kind::Vlan { parent, .. } => Err(vlan_interface(name, self.name(parent))),
            Kind::Port(of) => Err(bonded_interface(name, self.name(of))),
            Kind::Other if link.ethernet.is_none() => Err(no_ethernet(name)),
            Kind::Other => Ok(()),
        }
    }

    /// What an interface is called.
    pub(super) fn name(&self, index: u32) -> &str {
        let link = self.0.get(&index);
        link.map_or("another interface", |link| link.name.as_str())
    }

    /// Some interface of the edge that speaks Ethernet, if there is one.
    pub(super) fn any(&self, edge: &[String]) -> Option<Interface> {
        let mut links = self.0.values().filter(|link| edge.contains(&link.name));
        links.find_map(|link| link.ethernet)
    }

    /// How a frame leaves that the kernel would send by the interface `out`: that one as the frame's sender,
    /// and the exit. `None` if it is neither one of the `edge` nor a VLAN on one.
    pub(super) fn exit(&self, out: u32, edge: &[String]) -> Option<(Interface, Exit)> {
        let sender = self.0.get(&out)?.ethernet?;
        let (mut at, mut tags) = (out, Tags::NONE);
        loop {
            let link = self.0.get(&at)?;
            if edge.contains(&link.name) {
                break;
            }
            let Kind::Vlan { parent, tag } = link.kind else {
                return None;
            };
            tags = tags.within(tag)?;
            at = parent;
        }
        let interface = match edge.len() {
            1 => Exit::SAME.interface,
            _ => at,
        };
        Some((sender, Exit { tags, interface }))
    }
}

fn kind(message: &LinkMessage) -> Kind {
    let (mut parent, mut controller) = (None, None);
    let mut infos = &[][..];
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::Link(index) => parent = Some(*index),
            LinkAttribute::Controller(index) => controller = Some(*index),
            LinkAttribute::LinkInfo(all) => infos = all,
            _ => {}
        }
    }
    let is_port = infos.iter().any(|info| {
        matches!(
            info,
            LinkInfo::PortKind(InfoPortKind::Bond | InfoPortKind::Team)
        )
    });
    match (parent, controller) {
        (_, Some(controller)) if is_port => Kind::Port(controller),
        (Some(parent), _) if infos.contains(&LinkInfo::Kind(InfoKind::Vlan)) => {
            tag(infos).map_or(Kind::Other, |tag| Kind::Vlan { parent, tag })
        }
        _ => Kind::Other,
    }
}

/// The tag of a VLAN's frames.
fn tag(infos: &[LinkInfo]) -> Option<Tags> {
    let data = infos.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::Vlan(data)) => Some(data),
        _ => None,
    })?;
    let vlan = data.iter().find_map(|info| match info {
        InfoVlan::Id(vlan) => Some(*vlan),
        _ => None,
    })?;
    let is_provider = data.contains(&InfoVlan::Protocol(VlanProtocol::Ieee8021Ad));
    let ether_type = if is_provider {
        Tags::PROVIDER
    } else {
        Tags::CUSTOMER
    };
    Some(Tags::single(ether_type, vlan))
}

#[cfg(test)]
pub(super) mod tests;
