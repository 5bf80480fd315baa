use std::net::{Ipv4Addr, Ipv6Addr};

use lb_common::{Exit, Tags};
use rtnetlink::packet_route::link::VlanProtocol;

use super::{
    super::links::tests::{ethernet, vlan},
    *,
};
use crate::model::Forward;

const BACKEND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const BACKEND6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));
const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);
const THEIRS: Mac = Mac([2, 0, 0, 0, 0, 9]);
const BEFORE: Mac = Mac([2, 0, 0, 0, 0, 8]);

const STATES: [NeighbourState; 10] = [
    NeighbourState::Delay,
    NeighbourState::Failed,
    NeighbourState::Incomplete,
    NeighbourState::Noarp,
    NeighbourState::None,
    NeighbourState::Other(0x1000),
    NeighbourState::Permanent,
    NeighbourState::Probe,
    NeighbourState::Reachable,
    NeighbourState::Stale,
];

fn links() -> Links {
    let mut links = Links::default();
    links.add(&ethernet(1, "eth0"));
    links.add(&ethernet(3, "eth1"));
    links
}

fn direct() -> Route {
    Route::Out {
        interface: 1,
        gateway: None,
        source: None,
        mtu: None,
    }
}

fn to(address: IpAddr, forward: Forward) -> Destination {
    Destination { address, forward }
}

/// The way to a backend whose entry is good.
fn by(links: &Links, route: &Route) -> Way {
    Facts {
        to: to(BACKEND, Forward::L2Dsr),
        interfaces: &["eth0".to_owned()],
        links,
        route,
        neighbour: entry(NeighbourState::Reachable),
        known: None,
    }
    .way()
}

/// The way over a good route.
fn with(neighbour: Option<Neighbour>, known: Option<Mac>) -> Way {
    Facts {
        to: to(BACKEND, Forward::L2Dsr),
        interfaces: &["eth0".to_owned()],
        links: &links(),
        route: &direct(),
        neighbour,
        known,
    }
    .way()
}

fn entry(state: NeighbourState) -> Option<Neighbour> {
    Some(Neighbour {
        state,
        mac: Some(THEIRS),
    })
}

fn open(next_hop: Mac) -> Way {
    Way::Open {
        next_hop,
        source: OURS,
        edge_address: None,
        mtu: 1500,
        departure: Departure::AS_IT_CAME,
    }
}

fn refused(why: &str) -> Way {
    Way::Refused(why.to_owned())
}

#[test]
fn an_entry_that_the_kernel_would_use_opens_the_way() {
    use NeighbourState as S;
    let usable = [
        S::Delay,
        S::Noarp,
        S::Permanent,
        S::Probe,
        S::Reachable,
        S::Stale,
    ];
    for state in STATES {
        let expected = if usable.contains(&state) {
            open(THEIRS)
        } else {
            Way::Unresolved(BACKEND)
        };
        assert_eq!(with(entry(state), None), expected, "{state}");
    }
    assert_eq!(with(None, None), Way::Unresolved(BACKEND));
}

#[test]
fn a_lost_entry_is_no_reason_to_leave_a_known_address() {
    use NeighbourState as S;
    assert_eq!(with(None, Some(BEFORE)), open(BEFORE));
    for state in [S::Incomplete, S::None] {
        assert_eq!(with(entry(state), Some(BEFORE)), open(BEFORE), "{state}");
    }
}

#[test]
fn a_failed_resolution_closes_the_way() {
    let failed = entry(NeighbourState::Failed);
    assert_eq!(with(failed, Some(BEFORE)), Way::Unresolved(BACKEND));
}

#[test]
fn the_kernel_s_address_wins_over_the_known_one() {
    assert_eq!(
        with(entry(NeighbourState::Stale), Some(BEFORE)),
        open(THEIRS)
    );
}

#[test]
fn an_entry_without_a_mac_address_opens_nothing() {
    for state in STATES {
        let without = Some(Neighbour { state, mac: None });
        assert_eq!(with(without, None), Way::Unresolved(BACKEND), "{state}");
    }
}

#[test]
fn the_mtu_is_the_smaller_one_of_interface_and_route() {
    for (route, expected) in [
        (None, 1500),
        (Some(1400), 1400),
        (Some(9000), 1500),
        (Some(1 << 16), 1500),
    ] {
        let way = by(
            &links(),
            &Route::Out {
                interface: 1,
                gateway: None,
                source: None,
                mtu: route,
            },
        );
        assert!(
            matches!(way, Way::Open { mtu, .. } if mtu == expected),
            "{way:?}"
        );
    }
}

#[test]
fn what_is_not_on_the_edge_s_link_is_refused_with_the_reason() {
    let out = |interface, gateway| Route::Out {
        interface,
        gateway,
        source: None,
        mtu: None,
    };
    let cases = [
        (
            Route::Missing("Network is unreachable".to_owned()),
            "no route to 10.0.0.9: Network is unreachable",
        ),
        (Route::NotOneHost, "10.0.0.9 is not the address of one host"),
        (
            out(3, None),
            "the route to 10.0.0.9 leaves by eth1, not by eth0",
        ),
        (
            out(4, None),
            "the route to 10.0.0.9 leaves by another interface, not by eth0",
        ),
        (
            out(3, Some(GATEWAY)),
            "the route to 10.0.0.9 leaves by eth1, not by eth0",
        ),
        (
            out(1, Some(GATEWAY)),
            "10.0.0.9 is behind the gateway 10.0.0.1; l2-dsr needs it on the same link",
        ),
    ];
    for (route, why) in cases {
        assert_eq!(by(&links(), &route), refused(why));
    }
}

#[test]
fn a_backend_on_the_edge_itself_gets_packets_as_they_come_but_not_translated() {
    let way = |forward| {
        Facts {
            to: to(BACKEND, forward),
            interfaces: &["eth0".to_owned()],
            links: &links(),
            route: &Route::Local,
            neighbour: None,
            known: None,
        }
        .way()
    };
    for forward in [Forward::L2Dsr, Forward::Ipip, Forward::Gue { port: 6080 }] {
        let found = way(forward);
        let here = matches!(
            found,
            Way::Open {
                departure: Departure::Host,
                ..
            }
        );
        assert!(here, "{found:?}");
        assert_eq!(found.to_string(), "on this host itself");
    }
    let why = "10.0.0.9 is an address of this edge itself, whose answers full-nat does not see";
    assert_eq!(way(Forward::FullNat), refused(why));
}

#[test]
fn a_backend_in_a_vlan_or_behind_another_interface_is_reached_by_that() {
    let mut links = links();
    links.add(&vlan(7, 1, VlanProtocol::Ieee8021Q, 100));
    let way = |interfaces: &[&str], interface| {
        let interfaces: Vec<_> = interfaces.iter().map(|&name| name.to_owned()).collect();
        let route = Route::Out {
            interface,
            gateway: None,
            source: None,
            mtu: None,
        };
        let neighbour = entry(NeighbourState::Reachable);
        Facts {
            to: to(BACKEND, Forward::L2Dsr),
            interfaces: &interfaces,
            links: &links,
            route: &route,
            neighbour,
            known: None,
        }
        .way()
    };
    let by = |last, tags, interface| Way::Open {
        next_hop: THEIRS,
        source: Mac([2, 0, 0, 0, 0, last]),
        edge_address: None,
        mtu: 1500,
        departure: Departure::Out(Exit { tags, interface }),
    };
    let tag = Tags::single(Tags::CUSTOMER, 100);
    assert_eq!(way(&["eth0"], 7), by(7, tag, 0));
    assert_eq!(
        way(&["eth0"], 7).to_string(),
        "by 02:00:00:00:00:09 in VLAN 100, MTU 1500"
    );
    assert_eq!(way(&["eth0", "eth1"], 7), by(7, tag, 1));
    assert_eq!(way(&["eth0", "eth1"], 3), by(3, Tags::NONE, 3));
    let why = "the route to 10.0.0.9 leaves by vlan100, not by eth1";
    assert_eq!(way(&["eth1"], 7), refused(why));
}

#[test]
fn without_its_interface_an_edge_reaches_nobody() {
    let mut gone = Links::default();
    gone.add(&ethernet(3, "eth1"));
    let why = "there is no Ethernet interface eth0";
    assert_eq!(by(&gone, &direct()), refused(why));
}

#[test]
fn only_the_unknown_and_the_doubtful_are_asked_for() {
    use NeighbourState as S;
    assert_eq!(nudge(None), Some(Nudge::Resolve));
    for state in STATES {
        let expected = match state {
            S::Failed | S::None => Some(Nudge::Resolve),
            S::Stale => Some(Nudge::Confirm),
            _ => None,
        };
        assert_eq!(nudge(entry(state)), expected, "{state}");
    }
}

/// The way of packets with an outer header, over a route with a gateway and this source.
fn packed(address: IpAddr, source: Option<&str>, neighbour: Option<Neighbour>) -> Way {
    Facts {
        to: to(address, Forward::Ipip),
        interfaces: &["eth0".to_owned()],
        links: &links(),
        route: &Route::Out {
            interface: 1,
            gateway: Some(GATEWAY),
            source: source.map(|source| source.parse().unwrap()),
            mtu: Some(1400),
        },
        neighbour,
        known: None,
    }
    .way()
}

#[test]
fn what_comes_from_the_edge_goes_through_gateways_and_comes_from_an_address_of_the_edge() {
    let good = entry(NeighbourState::Reachable);
    for (address, source) in [(BACKEND, "10.0.0.2"), (BACKEND6, "2001:db8::2")] {
        let expected = Way::Open {
            next_hop: THEIRS,
            source: OURS,
            edge_address: Some(source.parse().unwrap()),
            mtu: 1400,
            departure: Departure::AS_IT_CAME,
        };
        assert_eq!(packed(address, Some(source), good), expected);
        let unresolved = Way::Unresolved(GATEWAY);
        assert_eq!(packed(address, Some(source), None), unresolved);
    }
}

#[test]
fn without_an_address_that_others_could_answer_to_an_outer_header_is_refused() {
    let good = entry(NeighbourState::Reachable);
    for source in [
        None,
        Some("127.0.0.1"),
        Some("169.254.0.1"),
        Some("0.0.0.0"),
    ] {
        let why = "this edge has no IPv4 address to send to 10.0.0.9 from; give eth0 one";
        assert_eq!(packed(BACKEND, source, good), refused(why), "{source:?}");
    }
    for source in [None, Some("::1"), Some("fe80::1"), Some("::")] {
        let why = "this edge has no IPv6 address to send to 2001:db8::9 from; give eth0 one";
        assert_eq!(packed(BACKEND6, source, good), refused(why), "{source:?}");
    }
}

#[test]
fn the_next_hop_is_the_gateway_if_there_is_one() {
    assert_eq!(direct().next_hop(BACKEND), Some((1, BACKEND)));
    let behind = Route::Out {
        interface: 1,
        gateway: Some(GATEWAY),
        source: None,
        mtu: None,
    };
    assert_eq!(behind.next_hop(BACKEND), Some((1, GATEWAY)));
    assert_eq!(Route::Local.next_hop(BACKEND), None);
}

#[test]
fn what_is_not_answered_is_told_by_family() {
    let said = Way::Unresolved(BACKEND).to_string();
    let expected = "the MAC address of 10.0.0.9 is not known (no answer to ARP yet)";
    assert_eq!(said, expected);
    let said = Way::Unresolved(BACKEND6).to_string();
    let expected =
        "the MAC address of 2001:db8::9 is not known (no answer to neighbour discovery yet)";
    assert_eq!(said, expected);
}
