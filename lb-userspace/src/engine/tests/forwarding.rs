//! Both families, and backends behind an outer header.

use std::net::Ipv6Addr;

use lb_common::{Exit, Tags};

use super::*;

const OURS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const THEIRS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);

/// [`BASE`] with one backend of this address, forwarded to in both ways, and a service over UDP.
fn both_ways(service: &str, address: &str) -> String {
    BASE.replace("203.0.113.10", service)
        .replace("\"tcp\"", "\"udp\"")
        .replace("\"198.51.100.1\"", &format!("\"{address}\""))
        .replace(
            "\"198.51.100.2\"",
            &format!("\"{address}\"\n    forward = \"ipip\""),
        )
}

fn tunnel(address: IpAddr) -> Destination {
    Destination {
        address,
        forward: Forward::Ipip,
    }
}

/// An open way from this address of the edge.
fn way(edge_address: Option<IpAddr>, departure: Departure) -> Way {
    Way::Open {
        next_hop: Mac([2, 0, 0, 0, 0, 7]),
        source: Mac([2; 6]),
        edge_address,
        mtu: 1500,
        departure,
    }
}

/// The target of one mode, where there is one of each.
fn target(rig: &Rig, forward: Forward) -> &TargetSpec {
    let mut targets = rig.image().targets.iter();
    let is_it = |(key, _): &(&TargetKey, &TargetSpec)| key.identity.forward == forward;
    targets.find(is_it).unwrap().1
}

#[test]
fn a_target_behind_an_outer_header_takes_smaller_packets_and_has_a_source() {
    for (service, theirs, ours, header) in [
        ("2001:db8::10", THEIRS.into(), IpAddr::from(OURS), 40),
        ("203.0.113.10", ip(9), ip(1), 20),
    ] {
        let mut rig = Rig::start(
            &both_ways(service, &theirs.to_string()),
            Saved::default(),
            &[],
        );
        let watched = rig.engine.model().backends.values();
        let watched: BTreeSet<_> = watched.map(Backend::destination).collect();
        assert!(watched.contains(&direct(theirs)) && watched.contains(&tunnel(theirs)));
        let outer = way(Some(ours), Departure::AS_IT_CAME);
        rig.event(Event::Ways(vec![
            (direct(theirs), open(9)),
            (tunnel(theirs), outer),
        ]));
        rig.all_up();
        let plain = target(&rig, Forward::L2Dsr);
        assert_eq!((plain.mtu, plain.edge_address), (1500, None));
        assert_eq!(plain.next_hop, Some(Mac([2, 0, 0, 0, 0, 9])));
        let packed = target(&rig, Forward::Ipip);
        assert_eq!(packed.mtu, 1500 - header);
        assert_eq!(packed.edge_address, Some(ours));
        assert_eq!(packed.next_hop, Some(Mac([2, 0, 0, 0, 0, 7])));
        let key = rig.engine.model().services["web"].key();
        assert!(rig.image().services.contains_key(&key));
    }
}

/// The backends of [`BASE`] behind tunnels, the second one of IPv6, in a group that a group for services of both
/// families asks for two healthy ones of each.
fn both_families() -> String {
    let (theirs, forward) = (THEIRS, "forward = \"ipip\"");
    let base = BASE
        .replace("\"198.51.100.1\"", &format!("\"198.51.100.1\"\n{forward}"))
        .replace("\"198.51.100.2\"", &format!("\"{theirs}\"\n{forward}"))
        .replace(
            "port = 80\n    group = \"web\"",
            "port = 80\n    group = \"all\"",
        );
    base + r#"
    [[service]]
    name = "web6"
    address = "2001:db8::10"
    protocol = "tcp"
    port = 80
    group = "all"
    [[group]]
    name = "all"
    policy = "weighted"
    member = [{ group = "web", min_healthy_v4 = 2, min_healthy_v6 = 2 }]
    "#
}

#[test]
fn services_of_both_families_share_backends_behind_tunnels_of_either() {
    let mut rig = Rig::start(&both_families(), Saved::default(), &[]);
    let ways = [(ip(1), ip(100)), (THEIRS.into(), OURS.into())].map(|(theirs, ours)| {
        let way = way(Some(ours), Departure::AS_IT_CAME);
        (tunnel(theirs), way)
    });
    rig.event(Event::Ways(ways.into()));
    rig.all_up();
    for (service, client) in [("web", "192.0.2.1"), ("web6", "2001:db8:7::1")] {
        let explained = rig.engine.explain(service, client.parse().unwrap());
        let shares = explained.unwrap().fractions.into_iter();
        let shares: Vec<_> = shares.map(|(name, it)| format!("{name} {it}")).collect();
        assert_eq!(shares, ["a 3/10", "b 7/10"], "{service}");
    }
    let mtu: Vec<_> = rig.image().targets.values().map(|it| it.mtu).collect();
    assert_eq!(mtu, [1480, 1460]);
}

#[test]
fn a_way_too_narrow_for_the_outer_header_lets_nothing_pass() {
    let text = both_ways("2001:db8::10", &THEIRS.to_string());
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    let narrow = Way::Open {
        next_hop: Mac([2; 6]),
        source: Mac([2; 6]),
        edge_address: Some(OURS.into()),
        mtu: 39,
        departure: Departure::AS_IT_CAME,
    };
    rig.event(Event::Ways(vec![
        (direct(THEIRS.into()), open(9)),
        (tunnel(THEIRS.into()), narrow),
    ]));
    rig.all_up();
    assert_eq!(target(&rig, Forward::Ipip).mtu, 0);
}

#[test]
fn one_address_may_be_reached_in_one_way_and_not_in_the_other() {
    let text = both_ways("203.0.113.10", "198.51.100.9");
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    let behind = Way::Refused("198.51.100.9 is behind a gateway".into());
    rig.event(Event::Ways(vec![
        (direct(ip(9)), behind),
        (tunnel(ip(9)), open(9)),
    ]));
    rig.all_up();
    assert_eq!(rig.shares(), "b 1");
}

#[test]
fn a_translated_target_comes_from_the_kernel_s_address_or_from_the_one_that_is_set() {
    let set = "nat_source = [\"198.51.100.77\", \"2001:db8::77\"]";
    for (service, theirs, ours, own) in [
        (
            "2001:db8::10",
            THEIRS.into(),
            IpAddr::from(OURS),
            "2001:db8::77",
        ),
        ("203.0.113.10", ip(9), ip(1), "198.51.100.77"),
    ] {
        let text = both_ways(service, &theirs.to_string()).replace("ipip", "full-nat");
        let chosen = text.replace("[edge]", &format!("[edge]\n{set}"));
        let to = Destination {
            address: theirs,
            forward: Forward::FullNat,
        };
        for (text, expected) in [(text, ours), (chosen, own.parse().unwrap())] {
            let mut rig = Rig::start(&text, Saved::default(), &[]);
            let way = way(Some(ours), Departure::AS_IT_CAME);
            rig.event(Event::Ways(vec![(direct(theirs), open(9)), (to, way)]));
            rig.all_up();
            let translated = target(&rig, Forward::FullNat);
            assert_eq!(translated.edge_address, Some(expected));
            assert_eq!(translated.mtu, 1500, "nothing is put around it");
            assert_eq!(target(&rig, Forward::L2Dsr).edge_address, None);
        }
    }
}

#[test]
fn a_backend_s_own_vlan_wins_over_the_route_s_and_tunnels_come_from_the_addresses_that_are_set() {
    let text = both_ways("203.0.113.10", &ip(9).to_string())
        .replace("ipip\"", "ipip\"\n    vlan = 200")
        .replace("[edge]", "[edge]\n    tunnel_sources = [\"10.200.0.0/16\"]");
    let tags = |vlan| Tags::single(Tags::CUSTOMER, vlan);
    let exit = |tags| {
        let interface = 4;
        Departure::Out(Exit { tags, interface })
    };
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    for (found, expected) in [
        (exit(tags(100)), exit(tags(200))),
        (exit(Tags::NONE), exit(tags(200))),
        (Departure::Host, Departure::Host),
    ] {
        let way = way(Some(ip(1)), found);
        let ways = vec![(direct(ip(9)), way.clone()), (tunnel(ip(9)), way)];
        rig.event(Event::Ways(ways));
        rig.all_up();
        assert_eq!(
            target(&rig, Forward::L2Dsr).departure,
            found,
            "by its route"
        );
        let packed = target(&rig, Forward::Ipip);
        assert_eq!(packed.departure, expected);
        assert_eq!(packed.edge_address, Some([10, 200, 0, 0].into()));
    }
}
