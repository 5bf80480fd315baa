//! A way that is traced: the router in front of the edge, the edge, a backend.

use std::net::IpAddr;

use lb_tests::lab::{Host, Lab, SERVICES, Topology};

use super::{
    by_way::{self, all_ways, serve},
    rig::{PORT, verdict},
};

/// Who answers, hop by hop, as `traceroute` shows it for probes of one kind.
#[track_caller]
fn hops(client: &Host, kind: &str, to: IpAddr) -> Vec<(u8, IpAddr)> {
    // One probe per hop, and none beyond the last.
    let line = format!("traceroute -n -q 1 -N 1 -m 5 -w 5 {kind} -p {PORT} {to}");
    let shown = client.run(&line);
    let hop = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    let hops = shown.lines().skip(1).map(hop).collect::<Option<_>>();
    hops.unwrap_or_else(|| panic!("{line}: {shown}"))
}

#[test]
fn a_trace_shows_the_router_then_the_service_at_the_edge_and_at_a_backend() {
    let lab = Lab::new(Topology {
        far_clients: 1,
        ..Topology::default()
    });
    let _servers = serve(&lab.backends);
    let _ends: Vec<_> = lab.backends.iter().map(Host::decapsulate).collect();
    let client = &lab.far_clients[0];
    let routers: [IpAddr; 2] = ["192.0.2.254", "2001:db8:192::254"].map(|it| it.parse().unwrap());
    for way in all_ways() {
        let daemon = by_way::start(lab.edge(), way, &lab.backends);
        for (router, service) in routers.into_iter().zip(SERVICES) {
            for kind in ["-U", "-T"] {
                let before = verdict(&daemon, "ttl_expired");
                let expected = [(1, router), (2, service), (3, service)];
                assert_eq!(hops(client, kind, service), expected, "{way:?} {kind}");
                assert_eq!(verdict(&daemon, "ttl_expired"), before + 1);
            }
        }
    }
}
