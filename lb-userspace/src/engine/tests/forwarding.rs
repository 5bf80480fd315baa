//! Both families, and backends behind an outer header.

use std::net::Ipv6Addr;

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
        let outer = Way::Open {
            next_hop: Mac([2, 0, 0, 0, 0, 7]),
            source: Mac([2; 6]),
            outer_source: Some(ours),
            mtu: 1500,
        };
        rig.event(Event::Ways(vec![
            (direct(theirs), open(9)),
            (tunnel(theirs), outer),
        ]));
        rig.all_up();
        let plain = target(&rig, Forward::L2Dsr);
        assert_eq!((plain.mtu, plain.outer_source), (1500, None));
        assert_eq!(plain.next_hop, Some(Mac([2, 0, 0, 0, 0, 9])));
        let packed = target(&rig, Forward::Ipip);
        assert_eq!(packed.mtu, 1500 - header);
        assert_eq!(packed.outer_source, Some(ours));
        assert_eq!(packed.next_hop, Some(Mac([2, 0, 0, 0, 0, 7])));
        let key = rig.engine.model().services["web"].key();
        assert!(rig.image().services.contains_key(&key));
    }
}

#[test]
fn a_way_too_narrow_for_the_outer_header_lets_nothing_pass() {
    let text = both_ways("2001:db8::10", &THEIRS.to_string());
    let mut rig = Rig::start(&text, Saved::default(), &[]);
    let narrow = Way::Open {
        next_hop: Mac([2; 6]),
        source: Mac([2; 6]),
        outer_source: Some(OURS.into()),
        mtu: 39,
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
