//! Affinity, from the file to the wire.

use std::time::Duration;

use lb_tests::lab::{
    DEADLINE, Daemon, Lab, Nginx, Settings, Wrk,
    client::{Tally, connect_many},
    wait_until,
};
use serde_json::Value;

use super::rig::{PORT, WEB, lab, reload, tables, wait_all_up};

/// Longer than the test: the load is ended when the test has seen enough.
const LONG: Duration = Duration::from_secs(120);

fn with_affinity(weights: &[u16], scope: &str) -> String {
    let affinity = format!("name = \"web\"\naffinity = {{ scope = \"{scope}\" }}");
    tables(weights).replacen("name = \"web\"", &affinity, 1)
}

fn start<'lab>(lab: &'lab Lab, tables: &str) -> Daemon<'lab> {
    let daemon = Daemon::start(
        lab.edge(),
        Settings {
            rest: tables,
            ..Settings::default()
        },
    );
    wait_all_up(&daemon, 2);
    daemon
}

fn connections(lab: &Lab) -> Tally {
    let tally = connect_many(lab.client(), WEB, 200);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    tally
}

/// The only backend of all these connections.
fn only(tally: &Tally) -> String {
    let [backend] = &tally.answers.keys().collect::<Vec<_>>()[..] else {
        panic!("{tally:?}")
    };
    (*backend).clone()
}

fn other(backend: &str) -> &'static str {
    match backend {
        "backend-1" => "backend-2",
        _ => "backend-1",
    }
}

fn pins(daemon: &Daemon<'_>) -> Value {
    let said = daemon.waggle(&["status", "service", "--format", "json"]);
    let services: Value = serde_json::from_str(&said.stdout).expect("the status");
    services[0]["pins"].clone()
}

#[test]
fn a_client_stays_with_its_backend_across_a_restart_and_moves_when_that_is_drained() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &with_affinity(&[1, 1], "eligible"));
    let first = only(&connections(&lab));
    assert_eq!(pins(&daemon), 1);
    let text = daemon.waggle(&["status", "service"]).stdout;
    assert!(text.contains("PINNED CLIENTS"), "{text}");

    let load = Wrk::start(lab.client(), "http://203.0.113.10/", 8, LONG, true);
    daemon.kill9();
    assert_eq!(only(&connections(&lab)), first, "without a daemon");
    daemon.restart();
    wait_all_up(&daemon, 2);
    assert_eq!(only(&connections(&lab)), first, "adopted");
    assert_eq!(pins(&daemon), 1);

    assert!(daemon.waggle(&["backend", "drain", &first]).ok());
    wait_until(DEADLINE, "new connections go elsewhere", || {
        connections(&lab).share(&first) == 0.
    });
    assert_eq!(only(&connections(&lab)), other(&first));
    assert!(daemon.waggle(&["backend", "enable", &first]).ok());
    wait_until(DEADLINE, "the ring has both again", || {
        let said = daemon.waggle(&["status", "--format", "json"]).stdout;
        let status: Value = serde_json::from_str(&said).expect("the status");
        let members = status["groups"][0]["members"]
            .as_array()
            .expect("members")
            .clone();
        members.iter().all(|it| it["share"] == "1/2")
    });
    assert_eq!(
        only(&connections(&lab)),
        other(&first),
        "it does not go back"
    );
    let load = load.end();
    assert!(load.requests > 100 && load.failed == 0, "{load:?}");
}

#[test]
fn where_it_need_only_be_healthy_a_draining_backend_keeps_its_clients_and_a_dead_one_does_not() {
    let lab = lab(2);
    let servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &with_affinity(&[1, 1], "healthy"));
    let first = only(&connections(&lab));
    assert!(daemon.waggle(&["backend", "drain", &first]).ok());
    for _ in 0..3 {
        assert_eq!(only(&connections(&lab)), first);
    }
    let [one, two] = servers;
    let (gone, _kept) = match &*first {
        "backend-1" => (one, two),
        _ => (two, one),
    };
    drop(gone);
    wait_until(DEADLINE, "clients of the dead backend have moved", || {
        let tally = connect_many(lab.client(), WEB, 20);
        tally.errors.is_empty() && tally.share(&first) == 0.
    });
}

#[test]
fn a_reload_takes_affinity_up_and_off_again() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &tables(&[1, 1]));
    assert_eq!(connections(&lab).answers.len(), 2);
    assert_eq!(pins(&daemon), Value::Null);
    let load = Wrk::start(lab.client(), "http://203.0.113.10/", 8, LONG, true);
    for _ in 0..2 {
        reload(&daemon, &with_affinity(&[1, 1], "eligible"));
        let once = only(&connections(&lab));
        assert_eq!(only(&connections(&lab)), once);
        reload(&daemon, &tables(&[1, 1]));
        assert_eq!(connections(&lab).answers.len(), 2);
    }
    let load = load.end();
    assert!(load.requests > 100 && load.failed == 0, "{load:?}");
}
