//! Services of both families and protocols, over backends that are all reached in one way.

use std::net::SocketAddr;

use lb_tests::lab::{DEADLINE, Daemon, Host, SERVICES, Settings, UdpServer, WebServer, wait_until};
use serde_json::Value;

use super::rig::{PORT, status, wait_served};

pub(super) const FAMILIES: [&str; 2] = ["v4", "v6"];

/// The services of one protocol: IPv4, IPv6.
pub(super) fn services() -> [SocketAddr; 2] {
    SERVICES.map(|address| SocketAddr::new(address, PORT))
}

/// How backends are reached: `forward`, and whether their addresses are of the other family.
pub(super) type Way = (&'static str, bool);

pub(super) const DIRECT: Way = ("l2-dsr", false);

pub(super) const TRANSLATED: Way = ("full-nat", false);

pub(super) const TUNNELS: [Way; 4] = [
    ("ipip", false),
    ("ipip", true),
    ("gue", false),
    ("gue", true),
];

/// Each way that there is.
pub(super) fn all_ways() -> impl Iterator<Item = Way> {
    [DIRECT, TRANSLATED].into_iter().chain(TUNNELS)
}

/// Services of both families and protocols over backends that are reached in this way.
pub(super) fn tables((mode, is_mixed): Way, backends: &[Host]) -> String {
    let mut text = String::new();
    for (i, family) in FAMILIES.into_iter().enumerate() {
        let mut members = Vec::new();
        for host in backends {
            let outer = i ^ usize::from(is_mixed);
            let (name, address) = (host.name(), host.addresses()[outer]);
            text += &format!(
                "[[backend]]\nname = \"{name}-{family}\"\naddress = \"{address}\"\nforward = \"{mode}\"\n"
            );
            members.push(format!("{{ backend = \"{name}-{family}\" }}"));
        }
        text += &format!(
            "[[group]]\nname = \"{family}\"\nlatency_window = \"500ms\"\nmember = [{}]\n\
             probe = {{ kind = \"http\", port = {PORT}, interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n",
            members.join(", ")
        );
        for protocol in ["tcp", "udp"] {
            text += &format!(
                "[[service]]\nname = \"{protocol}-{family}\"\naddress = \"{}\"\nprotocol = \"{protocol}\"\n\
                 port = {PORT}\ngroup = \"{family}\"\n",
                SERVICES[i]
            );
        }
    }
    text
}

/// The daemon on an edge, when it serves by all backends.
#[track_caller]
pub(super) fn start<'lab>(edge: &'lab Host, way: Way, backends: &[Host]) -> Daemon<'lab> {
    let rest = &tables(way, backends);
    let daemon = Daemon::start(edge, Settings { edge: "", rest });
    wait_up(&daemon, 4);
    daemon
}

/// Waits until so many services are served and every backend is up.
#[track_caller]
pub(super) fn wait_up(daemon: &Daemon<'_>, services: usize) {
    wait_served(daemon, services);
    let list = |value: &Value| value.as_array().expect("a list").clone();
    wait_until(DEADLINE, "all backends are up", || {
        let groups = list(&status(daemon)["groups"]);
        let mut members = groups.iter().flat_map(|group| list(&group["members"]));
        members.all(|member| member["health"] == "up")
    });
}

/// Servers of both protocols on each.
pub(super) fn serve(backends: &[Host]) -> Vec<(WebServer, UdpServer)> {
    let start = |host: &Host| {
        let web = WebServer::start(host, host.name(), PORT);
        (web, UdpServer::start(host, host.name(), PORT))
    };
    backends.iter().map(start).collect()
}
