use std::net::Ipv4Addr;

use super::*;

const BACKEND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
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
    let names = [(1, "lo"), (2, "eth0"), (3, "eth1")];
    Links {
        names: names.map(|(index, name)| (index, name.to_owned())).into(),
        edge: Some(Interface {
            index: 2,
            mac: OURS,
            mtu: 1500,
        }),
    }
}

fn direct() -> Route {
    Route::Out {
        interface: 2,
        gateway: None,
        mtu: None,
    }
}

/// The way to a backend whose entry is good.
fn by(links: &Links, route: &Route) -> Way {
    Facts {
        address: BACKEND,
        interface: "eth0",
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
        address: BACKEND,
        interface: "eth0",
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
        mtu: 1500,
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
            Way::Unresolved
        };
        assert_eq!(with(entry(state), None), expected, "{state}");
    }
    assert_eq!(with(None, None), Way::Unresolved);
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
    assert_eq!(with(failed, Some(BEFORE)), Way::Unresolved);
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
        assert_eq!(with(without, None), Way::Unresolved, "{state}");
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
                interface: 2,
                gateway: None,
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
        mtu: None,
    };
    let cases = [
        (Route::Local, "10.0.0.9 is an address of this edge itself"),
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
            "the route to 10.0.0.9 leaves by another, not by eth0",
        ),
        (
            out(3, Some(GATEWAY)),
            "the route to 10.0.0.9 leaves by eth1, not by eth0",
        ),
        (
            out(2, Some(GATEWAY)),
            "10.0.0.9 is behind the gateway 10.0.0.1; l2-dsr needs it on the same link",
        ),
    ];
    for (route, why) in cases {
        assert_eq!(by(&links(), &route), refused(why));
    }
}

#[test]
fn without_its_interface_an_edge_reaches_nobody() {
    let gone = Links {
        edge: None,
        ..links()
    };
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
