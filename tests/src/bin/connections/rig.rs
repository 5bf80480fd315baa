//! The lab with everything that a connection may go through, all running at once.

use std::net::{Ipv4Addr, SocketAddrV4};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, INTERFACE, Lab, Nginx, SERVICE, Settings, client::fetch, wait_until,
};

use crate::proxy::Proxy;

/// What stands between client and backends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Direct = 0,
    Haproxy = 1,
    Nginx = 2,
    Waggle = 3,
}

impl Way {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Direct, Self::Haproxy, Self::Nginx, Self::Waggle];

    /// Its name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Haproxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Waggle => "waggle",
        }
    }
}

/// The client spreads connections to this address over the backends by itself.
const DIRECT: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 11);

const HAPROXY_PORT: u16 = 8081;
const NGINX_PORT: u16 = 8082;

const TABLES: &str = r#"
[[backend]]
name = "backend-1"
address = "198.51.100.101"
[[backend]]
name = "backend-2"
address = "198.51.100.102"

[[group]]
name = "web"
latency_window = "500ms"
member = [{ backend = "backend-1" }, { backend = "backend-2" }]
[group.probe]
kind = "http"
interval = "1s"
timeout = "1s"
health = { window = 5, required = 1 }

[[service]]
name = "web"
address = "203.0.113.10"
protocol = "tcp"
port = 80
group = "web"
"#;

/// Servers, proxies and the daemon.
pub(crate) struct Rig<'lab> {
    lab: &'lab Lab,
    _servers: Vec<Nginx<'lab>>,
    _haproxy: Proxy,
    _nginx: Proxy,
    _daemon: Daemon<'lab>,
}

impl<'lab> Rig<'lab> {
    /// Starts everything in a lab with two clients, the second of which is the proxies' host, and
    /// waits until every way leads to a backend.
    pub(crate) fn new(lab: &'lab Lab) -> Self {
        let proxies = &lab.clients[1];
        // No XDP program is near the proxies, so the card may fill in their checksums.
        proxies.run(&format!("ethtool -K {INTERFACE} tx on"));
        for host in &lab.clients {
            // Ports for all connections, whoever closes them first.
            host.sysctl(&[
                ("ipv4/ip_local_port_range", "1024 65535"),
                ("ipv4/tcp_tw_reuse", "1"),
            ]);
        }
        route_directly(lab);
        let settings = Settings {
            rest: TABLES,
            ..Settings::default()
        };
        let rig = Self {
            lab,
            _servers: (lab.backends.iter())
                .map(|host| Nginx::start(host, 80))
                .collect(),
            _haproxy: Proxy::haproxy(proxies, HAPROXY_PORT, &lab.backends),
            _nginx: Proxy::nginx(proxies, NGINX_PORT, &lab.backends),
            _daemon: Daemon::start(lab.edge(), settings),
        };
        for way in Way::ALL {
            wait_until(DEADLINE, &format!("an answer by {way:?}"), || {
                let answer = fetch(rig.client(), rig.target(way), "/");
                answer.is_ok_and(|answer| answer.status == 200)
            });
        }
        rig
    }

    /// The host that asks.
    pub(crate) fn client(&self) -> &'lab Host {
        self.lab.client()
    }

    /// Where it connects to.
    pub(crate) fn target(&self, way: Way) -> SocketAddrV4 {
        let proxies = self.lab.clients[1].address();
        match way {
            Way::Direct => SocketAddrV4::new(DIRECT, 80),
            Way::Haproxy => SocketAddrV4::new(proxies, HAPROXY_PORT),
            Way::Nginx => SocketAddrV4::new(proxies, NGINX_PORT),
            Way::Waggle => SocketAddrV4::new(SERVICE, 80),
        }
    }

    /// Ids of all processes that run in the lab.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let Lab {
            clients,
            edges,
            backends,
            ..
        } = self.lab;
        let hosts = clients.iter().chain(edges).chain(backends);
        hosts.flat_map(|host| host.processes()).collect()
    }
}

/// Gives the backends an address to which the client has a route over each of them.
fn route_directly(lab: &Lab) {
    let mut route = format!("route add {DIRECT}/32");
    for backend in &lab.backends {
        backend.ip(&[&format!("address add {DIRECT}/32 dev lo")]);
        route += &format!(" nexthop via {} weight 1", backend.address());
    }
    let client = lab.client();
    // By ports, too.
    client.sysctl(&[("ipv4/fib_multipath_hash_policy", "1")]);
    client.ip(&[&route]);
}
