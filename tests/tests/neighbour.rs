//! The ways to backends, watched on real links.

#[path = "neighbour/family.rs"]
mod family;

use std::{
    fmt::Write as _,
    fs,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use lb_tests::lab::{DEADLINE, Host, INTERFACE, Lab, Topology};
use lb_userspace::{
    model::{Departure, Destination, Forward, Mac},
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
        let mut neighbours = Neighbours::start(&[INTERFACE.to_owned()], sender)
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
        edge_address: None,
        mtu: 1500,
        departure: Departure::AS_IT_CAME,
    }
}

/// The way to the edge itself.
fn here(lab: &Lab) -> Way {
    Way::Open {
        next_hop: lab.edge().mac(),
        source: lab.edge().mac(),
        edge_address: None,
        mtu: u16::MAX,
        departure: Departure::Host,
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
fn the_edge_itself_is_a_backend_and_addresses_of_many_are_none() {
    on_the_edge(async |lab| {
        let own = to(lab.edge());
        let all = direct([198, 51, 100, 255]);
        let mut watch = Watch::start([own, all]).await;
        assert_eq!(watch.next().await, (own, here(lab)));
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
            edge_address: None,
            mtu,
            departure: Departure::AS_IT_CAME,
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

/// Netlink messages of this namespace that found no room.
fn drops() -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/netlink").expect("a table");
    let drops = |line: &str| line.split_whitespace().nth(8)?.parse::<u64>().ok();
    table.lines().filter_map(drops).sum()
}

#[test]
fn an_interface_is_missed_by_name() {
    on_the_edge(async |_| {
        for (name, code, words) in [
            ("eth7", "no-interface", "no interface `eth7`"),
            ("", "no-interface", "those there are: lo, eth0"),
            ("lo", "no-ethernet", "lo is no Ethernet interface"),
        ] {
            let (sender, _receiver) = mpsc::channel(1);
            let refusal = Neighbours::start(&[name.to_owned()], sender)
                .await
                .unwrap_err();
            assert_eq!(refusal.code, code);
            assert!(refusal.to_string().contains(words), "{refusal}");
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
