//! What the tests share: an edge with two or more backends behind one service.

use std::{net::SocketAddrV4, time::Duration};

use lb_tests::lab::{
    DEADLINE, Daemon, Lab, Outcome, SERVICE, Settings, Topology, now, program, wait_until,
};
use serde_json::Value;

pub(super) const PORT: u16 = 80;
pub(super) const WEB: SocketAddrV4 = SocketAddrV4::new(SERVICE, PORT);

/// Tables for a service `web` over backends with these weights, probed five times a second; one is
/// down after five bad probes in a row, so that a busy machine is no outage. All latencies of the
/// lab are within the window.
pub(super) fn tables(weights: &[u16]) -> String {
    let mut text = String::new();
    let mut members = Vec::new();
    for (index, weight) in weights.iter().enumerate() {
        let n = index + 1;
        text += &format!(
            "[[backend]]\nname = \"backend-{n}\"\naddress = \"198.51.100.{}\"\n",
            100 + n
        );
        members.push(format!(
            "{{ backend = \"backend-{n}\", weight = {weight} }}"
        ));
    }
    text += &format!(
        "[[group]]\nname = \"web\"\nlatency_window = \"500ms\"\nmember = [{}]\n\
         probe = {{ kind = \"http\", interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n\
         [[service]]\nname = \"web\"\naddress = \"{SERVICE}\"\nprotocol = \"tcp\"\nport = {PORT}\ngroup = \"web\"\n",
        members.join(", "),
    );
    text
}

/// Services of both families, each with a rule for a network and one for a client; nobody is probed,
/// so that no packet but those of a test comes to the edge.
const TWO_FAMILIES: &str = r#"
[[backend]]
name = "a"
address = "198.51.100.101"
[[backend]]
name = "b"
address = "198.51.100.102"
[[backend]]
name = "a6"
address = "2001:db8:51::101"
[[backend]]
name = "b6"
address = "2001:db8:51::102"
[[group]]
name = "web"
probe = { kind = "none" }
member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7, enabled = false }]
[[group]]
name = "office"
probe = { kind = "none" }
member = [{ backend = "b" }]
[[group]]
name = "web6"
probe = { kind = "none" }
member = [{ backend = "a6" }, { backend = "b6", enabled = false }]
[[group]]
name = "office6"
probe = { kind = "none" }
member = [{ backend = "a6" }]
[[service]]
name = "web"
address = "203.0.113.10"
protocol = "tcp"
port = 80
group = "web"
rule = [{ clients = ["198.51.100.0/26"], group = "office" }, { clients = ["198.51.100.77"], answer = "drop" }]
[[service]]
name = "web6"
address = "2001:db8:203::10"
protocol = "udp"
port = 53
group = "web6"
rule = [{ clients = ["2001:db8:51::/64"], group = "office6" }, { clients = ["2001:db8:51::77"], answer = "pass" }]
"#;

/// A lab with as many backends as there are weights.
pub(super) fn lab(backends: u8) -> Lab {
    Lab::new(Topology {
        backends,
        ..Topology::default()
    })
}

/// The daemon on the lab's edge, with the tables for `weights`.
pub(super) fn start<'lab>(lab: &'lab Lab, weights: &[u16]) -> Daemon<'lab> {
    Daemon::start(
        lab.edge(),
        Settings {
            rest: &tables(weights),
            ..Settings::default()
        },
    )
}

/// The daemon with [`TWO_FAMILIES`] and small tables, when it serves both.
pub(super) fn start_two_families(lab: &Lab) -> Daemon<'_> {
    let edge = "flow_entries = 1024\nring_slots = 262144";
    let rest = TWO_FAMILIES;
    let daemon = Daemon::start(lab.edge(), Settings { edge, rest });
    // A file may not leave several members without probes; an operator may.
    for member in ["web/b", "web6/b6"] {
        let said = daemon.waggle(&["member", member, "enable"]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    wait_served(&daemon, 2);
    daemon
}

/// Waits until so many services are served.
#[track_caller]
pub(super) fn wait_served(daemon: &Daemon<'_>, count: usize) {
    wait_until(DEADLINE, &format!("{count} services are served"), || {
        // A daemon that writes its first tables on a busy machine may take too long to answer.
        let said = daemon.waggle(&["status", "--format", "json"]);
        let status: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        if said.status == Some(0) {
            let silent = status["edge"]["heartbeat_age_s"].as_u64();
            assert!(silent.is_some_and(|it| it < 60), "it lives: {status:#}");
        }
        let services = status["services"].as_array().into_iter().flatten();
        services.filter(|it| it["published"] == true).count() == count
    });
}

/// Gives the daemon other tables by `waggle reload`, and returns what that said.
#[track_caller]
pub(super) fn reload(daemon: &Daemon<'_>, rest: &str) -> Outcome {
    daemon.configure(Settings {
        rest,
        ..Settings::default()
    });
    daemon.waggle(&["reload"])
}

/// The command line that detaches the daemon's program.
pub(super) fn detach_line(daemon: &Daemon<'_>) -> String {
    let (program, config) = (program("waggle"), daemon.config());
    format!("{} detach --config {}", program.display(), config.display())
}

/// The daemon's status.
#[track_caller]
pub(super) fn status(daemon: &Daemon<'_>) -> Value {
    let outcome = daemon.waggle(&["status", "--format", "json"]);
    assert!(outcome.ok(), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).expect("status prints JSON")
}

/// One member of group `web`.
#[track_caller]
pub(super) fn member(daemon: &Daemon<'_>, backend: &str) -> Value {
    let status = status(daemon);
    let members = status["groups"][0]["members"]
        .as_array()
        .expect("members")
        .clone();
    members
        .into_iter()
        .find(|member| member["backend"] == backend)
        .expect("the member")
}

/// The number of packets with this verdict.
#[track_caller]
pub(super) fn verdict(daemon: &Daemon<'_>, name: &str) -> u64 {
    status(daemon)["verdicts"][name]
        .as_u64()
        .expect("a verdict")
}

/// Waits until the daemon has logged this.
#[track_caller]
pub(super) fn wait_log(daemon: &Daemon<'_>, words: &str) {
    wait_until(DEADLINE, &format!("`{words}` in the log"), || {
        daemon.log().contains(words)
    });
}

/// Waits until the service is served and every backend has this health; returns how long it took.
#[track_caller]
pub(super) fn wait_health(daemon: &Daemon<'_>, health: &[(&str, &str)]) -> Duration {
    let begin = now();
    wait_until(
        DEADLINE,
        &format!("{health:?} in\n{}", daemon.log()),
        || {
            status(daemon)["services"][0]["published"] == true
                && health
                    .iter()
                    .all(|(backend, health)| member(daemon, backend)["health"] == *health)
        },
    );
    begin.elapsed()
}

/// Waits until every one of `count` backends is up and served.
#[track_caller]
pub(super) fn wait_all_up(daemon: &Daemon<'_>, count: usize) {
    let names: Vec<_> = (1..=count).map(|n| format!("backend-{n}")).collect();
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), "up")).collect();
    wait_health(daemon, &all);
}
