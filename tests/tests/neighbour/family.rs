//! IPv6, and packets in packets.

use std::net::Ipv6Addr;

use super::*;

/// IPv6 addresses for the edge and its first two backends, as [`Host::address`] numbers them.
fn with_ipv6(lab: &Lab) {
    for host in [lab.edge(), &lab.backends[0], &lab.backends[1]] {
        host.sysctl(&[("ipv6/conf/eth0/disable_ipv6", "0")]);
        host.ip(&[&format!("address add {}/64 dev eth0 nodad", v6(host))]);
    }
}

fn v6(host: &Host) -> IpAddr {
    let [.., number] = host.address().octets();
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number.into()).into()
}

/// A backend with this address that gets packets in packets.
fn tunnel(address: IpAddr) -> Destination {
    Destination {
        address,
        forward: Forward::Ipip,
    }
}

/// The way to a backend that gets packets in packets from `edge_address`.
fn packed(lab: &Lab, next_hop: Mac, edge_address: IpAddr, mtu: u16) -> Way {
    Way::Open {
        next_hop,
        source: lab.edge().mac(),
        edge_address: Some(edge_address),
        mtu,
        departure: Departure::AS_IT_CAME,
    }
}

#[test]
fn ipv6_backends_on_the_link_are_resolved_and_followed() {
    on_the_edge(async |lab| {
        with_ipv6(lab);
        let key = "ipv6/neigh/eth0/base_reachable_time_ms";
        lab.edge().sysctl(&[(key, "700")]);
        let backend = &lab.backends[0];
        let to = direct(v6(backend));
        let mut watch = Watch::start([to]).await;
        assert_eq!(watch.next().await, (to, unresolved(to)));
        assert_eq!(watch.next().await, (to, open(lab, backend.mac())));

        let wrong = Mac([2, 0, 0, 0, 0, 0x77]);
        lab.edge().ip(&[&format!(
            "neigh replace {} lladdr {wrong} dev eth0 nud stale",
            to.address
        )]);
        watch.expect(to, open(lab, wrong)).await;
        watch.expect(to, open(lab, backend.mac())).await;

        backend.ip(&[&format!("address del {}/64 dev eth0", to.address)]);
        watch.expect(to, unresolved(to)).await;
    });
}

#[test]
fn ipv6_routes_are_followed() {
    on_the_edge(async |lab| {
        with_ipv6(lab);
        let far = direct(Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 9));
        let own = direct(v6(lab.edge()));
        let [backend, gateway] = [&lab.backends[0], &lab.backends[1]];
        let near = direct(v6(backend));
        let mut watch = Watch::start([far, own, near]).await;
        watch.expect(own, here(lab)).await;
        watch.expect(near, open(lab, backend.mac())).await;
        lab.edge().ip(&[&format!(
            "route add 2001:db8:f::/48 via {} dev eth0",
            v6(gateway)
        )]);
        let why = format!(
            "2001:db8:f::9 is behind the gateway {}; l2-dsr needs it on the same link",
            v6(gateway)
        );
        watch.refused(far, &why).await;
        lab.edge().ip(&[
            "route del 2001:db8:f::/48 dev eth0",
            &format!("route add {}/128 dev eth0 mtu 1400", near.address),
        ]);
        let narrow = Way::Open {
            next_hop: backend.mac(),
            source: lab.edge().mac(),
            edge_address: None,
            mtu: 1400,
            departure: Departure::AS_IT_CAME,
        };
        watch.expect(near, narrow).await;
        let why = "no route to 2001:db8:f::9: Network is unreachable (os error 101)";
        watch.refused(far, why).await;
    });
}

#[test]
fn an_growth_from_edge_goes_to_the_gateway_of_either_family() {
    on_the_edge(async |lab| {
        with_ipv6(lab);
        let [first, second] = [&lab.backends[0], &lab.backends[1]];
        let edge = lab.edge();
        for (far, ours, [a, b]) in [
            (
                ELSEWHERE.address,
                IpAddr::from(edge.address()),
                [first, second].map(|it| IpAddr::from(it.address())),
            ),
            (
                Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 9).into(),
                v6(edge),
                [first, second].map(v6),
            ),
        ] {
            let mut watch = Watch::start([tunnel(far), tunnel(a)]).await;
            let on_link = packed(lab, first.mac(), ours, 1500);
            watch.expect(tunnel(a), on_link).await;
            edge.ip(&[&format!("route add {far} via {a} dev eth0 mtu 1400")]);
            let by_first = packed(lab, first.mac(), ours, 1400);
            watch.expect(tunnel(far), by_first).await;
            edge.ip(&[&format!("route replace {far} via {b} dev eth0")]);
            let by_second = packed(lab, second.mac(), ours, 1500);
            watch.expect(tunnel(far), by_second).await;
            let why = format!("{far} is behind the gateway {b}; l2-dsr needs it on the same link");
            watch.neighbours.watch([tunnel(far), direct(far)].into());
            watch.refused(direct(far), &why).await;
        }
    });
}

#[test]
fn a_gateway_s_new_network_card_is_noticed() {
    on_the_edge(async |lab| {
        distrust(lab);
        let gateway = &lab.backends[0];
        let ours = IpAddr::from(lab.edge().address());
        let far = tunnel(ELSEWHERE.address);
        lab.edge().ip(&["route add 192.0.2.9 via 198.51.100.101"]);
        let mut watch = Watch::start([far]).await;
        assert_eq!(watch.next().await, (far, unresolved(to(gateway))));
        let old = packed(lab, gateway.mac(), ours, 1500);
        assert_eq!(watch.next().await, (far, old));
        gateway.ip(&["link set eth0 address 02:00:00:00:00:99"]);
        let new = packed(lab, Mac([2, 0, 0, 0, 0, 0x99]), ours, 1500);
        watch.expect(far, new).await;
    });
}

#[test]
fn the_edge_address_follows_the_edge_s_addresses() {
    on_the_edge(async |lab| {
        with_ipv6(lab);
        let (edge, backend) = (lab.edge(), &lab.backends[0]);
        let [v4, v6] = [IpAddr::from(backend.address()), v6(backend)];
        let from = |source: &str| packed(lab, backend.mac(), source.parse().unwrap(), 1500);
        let mut watch = Watch::start([tunnel(v4), tunnel(v6)]).await;
        watch.expect(tunnel(v4), from("198.51.100.1")).await;
        watch.expect(tunnel(v6), from("2001:db8::1")).await;

        edge.ip(&[
            "address add 198.51.100.7/24 dev eth0",
            "address add 2001:db8::7/64 dev eth0 nodad",
            "route add 198.51.100.101 dev eth0 src 198.51.100.7",
            "route add 2001:db8::65 dev eth0 src 2001:db8::7",
        ]);
        watch.expect(tunnel(v4), from("198.51.100.7")).await;
        watch.expect(tunnel(v6), from("2001:db8::7")).await;

        edge.ip(&[
            "address del 198.51.100.7/24 dev eth0",
            "address del 2001:db8::7/64 dev eth0",
        ]);
        watch.expect(tunnel(v4), from("198.51.100.1")).await;
        watch.expect(tunnel(v6), from("2001:db8::1")).await;

        // The route to the backend stays, but only the link-local address is left.
        edge.ip(&[
            &format!("address del {}/64 dev eth0", edge.address_v6()),
            "address del 2001:db8::1/64 dev eth0",
        ]);
        let why = "this edge has no IPv6 address to send to 2001:db8::65 from; give eth0 one";
        watch.refused(tunnel(v6), why).await;
        edge.ip(&["address add 2001:db8::8/64 dev eth0 nodad"]);
        watch.expect(tunnel(v6), from("2001:db8::8")).await;
    });
}
