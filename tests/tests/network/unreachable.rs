//! Backends that answer probes, but that `l2-dsr` can not reach.

use lb_tests::lab::{Daemon, Lab, Nginx, ServerProcess, Settings, client::connect_many};

use super::rig::{PORT, WEB, lab, member, tables, wait_health, wait_log};

/// Starts the daemon with two backends, the second at `address`, and shows that this one is healthy
/// and yet never used, for the reason `why`.
fn never_used(lab: &Lab, address: &str, why: &str) {
    let mut first = ServerProcess::start(&lab.backends[0], "backend-1", PORT);
    let _second = Nginx::start(&lab.backends[1], PORT);
    let rest = &tables(&[1, 1]).replace("198.51.100.102", address);
    let settings = Settings {
        rest,
        ..Settings::default()
    };
    let daemon = Daemon::start(lab.edge(), settings);
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "up")]);
    wait_log(&daemon, why);
    let refused = |daemon: &Daemon<'_>| {
        let shown = member(daemon, "backend-2");
        assert_eq!(shown["unreachable"], why);
        assert_eq!(
            (&shown["share"], &shown["packets"]),
            (&"0".into(), &0.into())
        );
        let explain = ["explain", "--service", "web", "--client", "198.51.100.11"];
        for command in [&["status"][..], &explain] {
            let said = daemon.waggle(command).stdout;
            assert!(said.contains(why), "{said}");
        }
    };
    let tally = connect_many(lab.client(), WEB, 200);
    assert_eq!(tally.answers.get("backend-1"), Some(&200), "{tally:?}");
    refused(&daemon);

    first.kill9();
    wait_health(&daemon, &[("backend-1", "down")]);
    let tally = connect_many(lab.client(), WEB, 200);
    assert!(tally.answers.is_empty(), "{tally:?}");
    refused(&daemon);
}

#[test]
fn a_backend_behind_a_gateway_is_never_used() {
    let lab = lab(3);
    let gateway = &lab.backends[2];
    gateway.sysctl(&[
        ("ipv4/ip_forward", "1"),
        ("ipv4/conf/all/send_redirects", "0"),
        ("ipv4/conf/eth0/send_redirects", "0"),
    ]);
    lab.edge()
        .ip(&["route add 198.51.100.102 via 198.51.100.103"]);
    let why = "198.51.100.102 is behind the gateway 198.51.100.103; \
               l2-dsr needs it on the same link";
    never_used(&lab, "198.51.100.102", why);
}

#[test]
fn a_backend_behind_another_interface_is_never_used() {
    let lab = lab(2);
    let far = lab.backends[1].path();
    let far = far.file_name().unwrap().to_str().unwrap();
    lab.edge().ip(&[
        &format!("link add eth1 type veth peer name eth1 netns {far}"),
        "address add 192.0.2.1/24 dev eth1",
        "link set eth1 up",
    ]);
    lab.backends[1].ip(&["address add 192.0.2.9/24 dev eth1", "link set eth1 up"]);
    let why = "the route to 192.0.2.9 leaves by eth1, not by eth0";
    never_used(&lab, "192.0.2.9", why);
}
