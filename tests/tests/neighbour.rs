//! The ways to backends, watched on real links.

use std::{
    fmt::Write as _,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use lb_tests::lab::{DEADLINE, Host, INTERFACE, Lab, Topology};
use lb_userspace::{
    model::{Destination, Forward, Mac},
    neighbour::{Neighbours, Way},
};
use tokio::{
    runtime,
    sync::mpsc,
    task,
    time::{self, timeout},
};

/// No host of the lab has it, nor a route to it.
const ELSEWHERE: Destination = Destination {
    address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9)),
    forward: Forward::L2Dsr,
};

/// The watcher in the edge's namespace.
struct Watch {
    neighbours: Neighbours,
    changes: mpsc::Receiver<(Destination, Way)>,
}

impl Watch {
    async fn start(destinations: impl IntoIterator<Item = Destination>) -> Self {
        let (sender, changes) = mpsc::channel(16);
        let mut neighbours = Neighbours::start(INTERFACE, sender)
            .await
            .expect("a watcher");
        neighbours.watch(destinations.into_iter().collect());
        Self {
            neighbours,
            changes,
        }
    }

    /// The next change.
    async fn next(&mut self) -> (Destination, Way) {
        let change = timeout(DEADLINE, self.changes.recv()).await;
        change.expect("a change in time").expect("a watcher")
    }

    /// Waits until the way to `to` has become `wanted`.
    async fn expect(&mut self, to: Destination, wanted: Way) {
        let wanted = (to, wanted);
        let mut seen = Vec::new();
        let wait = async {
            while seen.last() != Some(&wanted) {
                seen.push(self.changes.recv().await.expect("a watcher"));
            }
        };
        let in_time = timeout(DEADLINE, wait).await.is_ok();
        assert!(in_time, "{wanted:?} did not come, but {seen:?}");
    }

    async fn refused(&mut self, to: Destination, why: &str) {
        self.expect(to, Way::Refused(why.to_owned())).await;
    }
}

/// Runs a test in the namespace of the edge. The watcher has the same thread: it works while the
/// test awaits.
fn on_the_edge(test: impl AsyncFnOnce(&Lab) + Send) {
    let lab = Lab::new(Topology::default());
    lab.edge().enter(|| {
        let mut runtime = runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(test(&lab));
    });
}

/// A backend with this address that gets packets by its MAC address.
fn direct(address: impl Into<IpAddr>) -> Destination {
    Destination {
        address: address.into(),
        forward: Forward::L2Dsr,
    }
}

fn to(host: &Host) -> Destination {
    direct(host.address())
}

fn unresolved(to: Destination) -> Way {
    Way::Unresolved(to.address)
}

fn open(lab: &Lab, next_hop: Mac) -> Way {
    Way::Open {
        next_hop,
        source: lab.edge().mac(),
        outer_source: None,
        mtu: 1500,
    }
}

/// Entries of the edge count as good for a second at most, not for half a minute.
fn distrust(lab: &Lab) {
    let key = "ipv4/neigh/eth0/base_reachable_time_ms";
    lab.edge().sysctl(&[(key, "700")]);
}

#[test]
fn backends_on_the_link_are_resolved() {
    on_the_edge(async |lab| {
        let [a, b] = [&lab.backends[0], &lab.backends[1]];
        let mut watch = Watch::start([to(a)]).await;
        assert_eq!(watch.next().await, (to(a), unresolved(to(a))));
        assert_eq!(watch.next().await, (to(a), open(lab, a.mac())));

        // What is watched on is not told again; what is watched anew is.
        watch.neighbours.watch([to(a), to(b)].into());
        assert_eq!(watch.next().await, (to(b), unresolved(to(b))));
        assert_eq!(watch.next().await, (to(b), open(lab, b.mac())));
        watch.neighbours.watch([to(a)].into());
        watch.neighbours.watch([ELSEWHERE].into());
        assert_eq!(watch.next().await.0, ELSEWHERE);
        watch.neighbours.watch([to(a)].into());
        assert_eq!(watch.next().await, (to(a), open(lab, a.mac())));
    });
}

#[test]
fn a_way_is_told_anew_when_its_address_was_left_out_for_a_moment() {
    on_the_edge(async |lab| {
        let [a, b] = [&lab.backends[0], &lab.backends[1]];
        let mut watch = Watch::start([to(a)]).await;
        watch.expect(to(a), open(lab, a.mac())).await;
        watch.neighbours.watch([to(a), to(b)].into());
        watch.expect(to(b), open(lab, b.mac())).await;
        // Between the two the watcher has no turn.
        watch.neighbours.watch([to(a)].into());
        watch.neighbours.watch([to(a), to(b)].into());
        assert_eq!(watch.next().await, (to(b), open(lab, b.mac())));
    });
}

#[test]
fn a_flushed_entry_is_resolved_again_and_closes_nothing() {
    on_the_edge(async |lab| {
        let backend = &lab.backends[0];
        let mut watch = Watch::start([to(backend)]).await;
        watch.expect(to(backend), open(lab, backend.mac())).await;
        for _ in 0..3 {
            lab.edge().run("ip neigh flush all");
            let resolved = async {
                let entry = || lab.edge().run("ip neigh show 198.51.100.101");
                while !entry().contains("REACHABLE") {
                    time::sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(DEADLINE, resolved).await.expect("a new entry");
        }
        assert!(watch.changes.try_recv().is_err());
    });
}

#[test]
fn another_network_card_in_a_backend_is_noticed_without_its_help() {
    on_the_edge(async |lab| {
        distrust(lab);
        let backend = &lab.backends[0];
        let mut watch = Watch::start([to(backend)]).await;
        watch.expect(to(backend), open(lab, backend.mac())).await;
        backend.ip(&["link set eth0 address 02:00:00:00:00:99"]);
        let new = Mac([2, 0, 0, 0, 0, 0x99]);
        watch.expect(to(backend), open(lab, new)).await;
    });
}

/// Case 73: such an entry was used for ever, since no packet of the host's own made it doubtful.
#[test]
fn a_stale_entry_with_a_wrong_address_mends_itself() {
    on_the_edge(async |lab| {
        let backend = &lab.backends[0];
        let mut watch = Watch::start([to(backend)]).await;
        watch.expect(to(backend), open(lab, backend.mac())).await;
        let wrong = Mac([2, 0, 0, 0, 0, 0x77]);
        let ip = backend.address();
        lab.edge().ip(&[&format!(
            "neigh replace {ip} lladdr {wrong} dev eth0 nud stale"
        )]);
        watch.expect(direct(ip), open(lab, wrong)).await;
        watch.expect(direct(ip), open(lab, backend.mac())).await;
    });
}

#[test]
fn a_backend_whose_link_is_down_is_unresolved_until_it_is_back() {
    on_the_edge(async |lab| {
        distrust(lab);
        let backend = &lab.backends[0];
        let mut watch = Watch::start([to(backend)]).await;
        watch.expect(to(backend), open(lab, backend.mac())).await;
        backend.ip(&["link set eth0 down"]);
        watch.expect(to(backend), unresolved(to(backend))).await;
        backend.ip(&["link set eth0 up"]);
        watch.expect(to(backend), open(lab, backend.mac())).await;
    });
}

#[test]
fn a_backend_behind_a_gateway_is_refused_while_it_is() {
    on_the_edge(async |lab| {
        let [backend, gateway] = [&lab.backends[0], &lab.backends[1]];
        let mut watch = Watch::start([to(backend)]).await;
        watch.expect(to(backend), open(lab, backend.mac())).await;
        lab.edge()
            .ip(&["route add 198.51.100.101 via 198.51.100.102"]);
        let why = format!(
            "198.51.100.101 is behind the gateway {}; l2-dsr needs it on the same link",
            gateway.address()
        );
        watch.refused(to(backend), &why).await;
        lab.edge().ip(&["route del 198.51.100.101"]);
        watch.expect(to(backend), open(lab, backend.mac())).await;
    });
}

#[test]
fn a_backend_behind_another_interface_is_refused() {
    on_the_edge(async |lab| {
        let mut watch = Watch::start([ELSEWHERE]).await;
        let unreachable = "no route to 192.0.2.9: Network is unreachable (os error 101)";
        watch.refused(ELSEWHERE, unreachable).await;
        lab.edge().ip(&[
            "link add eth1 type veth peer name far",
            "address add 192.0.2.1/24 dev eth1",
            "link set eth1 up",
        ]);
        let why = "the route to 192.0.2.9 leaves by eth1, not by eth0";
        watch.refused(ELSEWHERE, why).await;
    });
}

#[test]
fn the_edge_itself_and_addresses_of_many_are_no_backends() {
    on_the_edge(async |lab| {
        let own = to(lab.edge());
        let all = direct([198, 51, 100, 255]);
        let mut watch = Watch::start([own, all]).await;
        let why = "198.51.100.1 is an address of this edge itself";
        assert_eq!(watch.next().await, (own, Way::Refused(why.to_owned())));
        let why = "198.51.100.255 is not the address of one host";
        assert_eq!(watch.next().await, (all, Way::Refused(why.to_owned())));
    });
}

#[test]
fn routes_that_end_in_a_refusal_are_told_as_such() {
    on_the_edge(async |lab| {
        let mut watch = Watch::start([ELSEWHERE]).await;
        for (kind, error) in [
            ("prohibit", "Permission denied (os error 13)"),
            ("unreachable", "No route to host (os error 113)"),
            ("blackhole", "Invalid argument (os error 22)"),
        ] {
            lab.edge()
                .ip(&[&format!("route replace {kind} 192.0.2.0/24")]);
            let why = format!("no route to 192.0.2.9: {error}");
            watch.refused(ELSEWHERE, &why).await;
            lab.edge().ip(&[&format!("route del {kind} 192.0.2.0/24")]);
        }
    });
}

#[test]
fn changes_of_the_edge_s_own_interface_are_followed() {
    on_the_edge(async |lab| {
        let backend = &lab.backends[0];
        let ip = to(backend);
        let mut watch = Watch::start([ip]).await;
        watch.expect(ip, open(lab, backend.mac())).await;
        let way = |source, mtu| Way::Open {
            next_hop: backend.mac(),
            source,
            outer_source: None,
            mtu,
        };
        let edge = lab.edge();
        edge.ip(&["route add 198.51.100.101 dev eth0 mtu 1400"]);
        watch.expect(ip, way(edge.mac(), 1400)).await;
        edge.ip(&["link set eth0 mtu 1300"]);
        watch.expect(ip, way(edge.mac(), 1300)).await;
        edge.ip(&["link set eth0 address 02:00:00:00:00:44"]);
        watch
            .expect(ip, way(Mac([2, 0, 0, 0, 0, 0x44]), 1300))
            .await;

        edge.ip(&["link set eth0 name gone"]);
        watch
            .refused(ip, "there is no Ethernet interface eth0")
            .await;
        edge.ip(&["link set gone name eth0"]);
        watch
            .expect(ip, way(Mac([2, 0, 0, 0, 0, 0x44]), 1300))
            .await;
    });
}

#[test]
fn lost_events_lose_no_change() {
    on_the_edge(async |lab| {
        let backend = to(&lab.backends[0]);
        let mut watch = Watch::start([backend]).await;
        watch
            .expect(backend, open(lab, lab.backends[0].mac()))
            .await;
        // While this thread waits for `ip`, nobody reads events.
        let mut flood = String::new();
        for i in 0..4_000 {
            let [a, b] = [i / 256, i % 256];
            writeln!(flood, "route add blackhole 10.0.{a}.{b}").unwrap();
        }
        let last = "route add 198.51.100.101 via 198.51.100.102";
        lab.edge().ip(&[&flood, last]);
        let why = "198.51.100.101 is behind the gateway 198.51.100.102; \
                   l2-dsr needs it on the same link";
        watch.refused(backend, why).await;
        assert!(drops() > 0, "the flood was too small");
    });
}

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

/// The way to a backend that gets packets in packets from `outer_source`.
fn packed(lab: &Lab, next_hop: Mac, outer_source: IpAddr, mtu: u16) -> Way {
    Way::Open {
        next_hop,
        source: lab.edge().mac(),
        outer_source: Some(outer_source),
        mtu,
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
        let why = "2001:db8::1 is an address of this edge itself";
        watch.refused(own, why).await;
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
            outer_source: None,
            mtu: 1400,
        };
        watch.expect(near, narrow).await;
        let why = "no route to 2001:db8:f::9: Network is unreachable (os error 101)";
        watch.refused(far, why).await;
    });
}

#[test]
fn an_outer_header_goes_to_the_gateway_of_either_family() {
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
fn the_outer_source_follows_the_edge_s_addresses() {
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
        edge.ip(&["address del 2001:db8::1/64 dev eth0"]);
        let why = "this edge has no IPv6 address to send to 2001:db8::65 from; give eth0 one";
        watch.refused(tunnel(v6), why).await;
        edge.ip(&["address add 2001:db8::8/64 dev eth0 nodad"]);
        watch.expect(tunnel(v6), from("2001:db8::8")).await;
    });
}

/// Netlink messages of this namespace that found no room.
fn drops() -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/netlink").expect("a table");
    let drops = |line: &str| line.split_whitespace().nth(8)?.parse::<u64>().ok();
    table.lines().filter_map(drops).sum()
}

#[test]
fn an_interface_is_missed_by_name() {
    on_the_edge(async |_| {
        for (name, complaint) in [
            ("eth7", "there is no interface eth7; there are: lo, eth0"),
            ("", "there is no interface ; there are: lo, eth0"),
            ("lo", "lo is no Ethernet interface: it has no MAC address"),
        ] {
            let (sender, _receiver) = mpsc::channel(1);
            let error = Neighbours::start(name, sender).await.unwrap_err();
            assert_eq!(error.to_string(), complaint);
        }
    });
}

#[test]
fn a_dead_backend_is_asked_for_again_but_not_without_a_pause() {
    on_the_edge(async |lab| {
        let nobody = direct([198, 51, 100, 200]);
        // The kernel gives up at once, so every attempt ends within the time that is watched.
        lab.edge().sysctl(&[
            ("ipv4/neigh/eth0/mcast_solicit", "1"),
            ("ipv4/neigh/eth0/retrans_time_ms", "10"),
        ]);
        let mut monitor = lab.edge().command("timeout");
        monitor.args(["8", "ip", "monitor", "neigh"]);
        let monitor = task::spawn_blocking(move || monitor.output());
        let mut watch = Watch::start([nobody]).await;
        assert_eq!(watch.next().await, (nobody, unresolved(nobody)));
        let said = monitor.await.unwrap().unwrap().stdout;
        let failures = String::from_utf8(said).unwrap().matches("FAILED").count();
        assert!((1..=4).contains(&failures), "{failures} attempts in 8 s");
        assert!(watch.changes.try_recv().is_err());
    });
}
