use super::*;

/// What the kernel says of an Ethernet interface with this index, which its MAC address ends with.
pub(in super::super) fn ethernet(index: u32, name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.link_layer_type = LinkLayerType::Ether;
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Address(vec![2, 0, 0, 0, 0, index as u8]),
        LinkAttribute::Mtu(1500),
    ];
    message
}

/// The same of a VLAN on another one.
pub(in super::super) fn vlan(
    index: u32,
    parent: u32,
    protocol: VlanProtocol,
    id: u16,
) -> LinkMessage {
    let mut message = ethernet(index, &format!("vlan{id}"));
    let data = vec![InfoVlan::Protocol(protocol), InfoVlan::Id(id)];
    message.attributes.extend([
        LinkAttribute::Link(parent),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vlan),
            LinkInfo::Data(InfoData::Vlan(data)),
        ]),
    ]);
    message
}

fn port(index: u32, controller: u32, kind: InfoPortKind) -> LinkMessage {
    let mut message = ethernet(index, &format!("port{index}"));
    message.attributes.extend([
        LinkAttribute::Controller(controller),
        LinkAttribute::LinkInfo(vec![LinkInfo::PortKind(kind)]),
    ]);
    message
}

/// eth2, eth3, VLAN 100 on eth2, VLAN 200 within it, and a bond eth4 with a port 5.
fn links() -> Links {
    use VlanProtocol::{Ieee8021Ad, Ieee8021Q};
    let mut links = Links::default();
    for message in [
        ethernet(2, "eth2"),
        ethernet(3, "eth3"),
        ethernet(4, "eth4"),
        port(5, 4, InfoPortKind::Bond),
        port(6, 4, InfoPortKind::Bridge),
        vlan(7, 2, Ieee8021Ad, 100),
        vlan(8, 7, Ieee8021Q, 200),
        vlan(9, 8, Ieee8021Q, 300),
    ] {
        links.add(&message);
    }
    links
}

fn exit(out: u32, edge: &[&str]) -> Option<(u8, Exit)> {
    let edge: Vec<_> = edge.iter().map(|&name| name.to_owned()).collect();
    let (sender, exit) = links().exit(out, &edge)?;
    Some((sender.mac.0[5], exit))
}

#[test]
fn a_frame_leaves_by_an_interface_of_the_edge_or_a_vlan_on_one() {
    let provider = Tags::single(Tags::PROVIDER, 100);
    let both = Tags::single(Tags::CUSTOMER, 200).within(provider).unwrap();
    let by = |interface, tags| Exit { tags, interface };
    assert_eq!(exit(2, &["eth2"]), Some((2, Exit::SAME)));
    assert_eq!(exit(7, &["eth2"]), Some((7, by(0, provider))));
    assert_eq!(exit(8, &["eth2"]), Some((8, by(0, both))));
    assert_eq!(exit(9, &["eth2"]), None, "three tags");
    assert_eq!(exit(3, &["eth2"]), None);
    assert_eq!(exit(77, &["eth2"]), None);
    let several = &["eth2", "eth3"];
    assert_eq!(exit(3, several), Some((3, by(3, Tags::NONE))));
    assert_eq!(exit(2, several), Some((2, by(2, Tags::NONE))));
    assert_eq!(exit(8, several), Some((8, by(2, both))));
}

#[test]
fn an_interface_that_sees_but_a_part_is_refused_with_the_one_to_use() {
    let links = links();
    let refused = |name: &str| links.check(name).map_err(|refusal| refusal.to_string());
    for name in ["eth2", "eth4", "port6"] {
        assert_eq!(refused(name), Ok(()), "{name}");
    }
    for (name, code, mend) in [
        ("vlan100", "vlan-interface", "set `edge.interfaces` to eth2"),
        (
            "vlan200",
            "vlan-interface",
            "set `edge.interfaces` to vlan100",
        ),
        ("port5", "bonded-interface", "set `edge.interfaces` to eth4"),
        ("eth7", "no-interface", "eth2, eth3, eth4, port5"),
    ] {
        let found = links.check(name).unwrap_err();
        assert_eq!(found.code, code);
        assert!(found.to_string().contains(mend), "{found}");
    }
}
