//! Neighbour entries that come and go while traffic runs (cases 72 and 73).

use std::time::Duration;

use lb_tests::lab::{
    DEADLINE, Lab, Nginx, ServerProcess, Wrk,
    client::{Connection, connect_many},
    wait_until,
};

use super::rig::{PORT, WEB, lab, start, wait_all_up, wait_log};

const URL: &str = "http://203.0.113.10/";

/// An open connection to the second backend.
fn on_backend_2(lab: &Lab) -> Connection {
    let open = |_| {
        let mut connection = lab.client().enter(|| Connection::open(WEB, None)).ok()?;
        let answer = connection.ask_on("/").ok()?;
        (answer.backend == "backend-2").then_some(connection)
    };
    (0..100)
        .find_map(open)
        .expect("of 100 connections some lead to the second backend")
}

#[test]
fn case_72_a_flush_of_all_neighbours_under_traffic_fails_nothing() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let mut many = Wrk::start(lab.client(), URL, 8, Duration::from_secs(2), true);
    let long = Wrk::start(lab.client(), URL, 8, Duration::from_secs(2), false);
    let mut flushes = 0;
    while many.runs() {
        lab.edge().run("ip neigh flush all");
        flushes += 1;
    }
    assert!(flushes > 10, "{flushes}");
    for load in [many.finish(), long.finish()] {
        assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    }
    wait_all_up(&daemon, 2);
}

#[test]
fn a_backend_whose_mac_address_changes_keeps_its_connections_and_gets_new_ones() {
    let lab = lab(2);
    let _servers =
        [0, 1].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let mut connection = on_backend_2(&lab);
    // It tells its neighbours, as drivers and failover tools do.
    lab.backends[1].sysctl(&[("ipv4/conf/eth0/arp_notify", "1")]);
    lab.backends[1].ip(&["link set eth0 address 02:00:00:00:00:99"]);
    connection.patience(DEADLINE).unwrap();
    assert_eq!(connection.ask_on("/").unwrap().backend, "backend-2");
    wait_log(&daemon, "by 02:00:00:00:00:99");
    wait_all_up(&daemon, 2);
    let tally = connect_many(lab.client(), WEB, 300);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert!(tally.share("backend-2") > 0.3, "{tally:?}");
}

#[test]
fn case_73_a_stale_entry_with_a_wrong_mac_address_is_mended_under_traffic() {
    let lab = lab(2);
    let _servers =
        [0, 1].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let mut connection = on_backend_2(&lab);
    lab.edge()
        .ip(&["neigh replace 198.51.100.102 lladdr 02:00:00:00:00:77 dev eth0 nud stale"]);
    wait_log(&daemon, "by 02:00:00:00:00:77");
    // Packets are lost until the kernel has asked again; then their repetitions arrive.
    connection.patience(DEADLINE).unwrap();
    assert_eq!(connection.ask_on("/").unwrap().backend, "backend-2");
    let tally = connect_many(lab.client(), WEB, 100);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    wait_until(DEADLINE, "the right address again", || {
        let log = daemon.log();
        let ways = |line: &&str| line.contains("Packets reach a backend. backend=backend-2");
        let last = log.lines().rfind(ways);
        last.is_some_and(|line| line.contains("by 02:00:00:00:00:66"))
    });
    wait_all_up(&daemon, 2);
    let tally = connect_many(lab.client(), WEB, 300);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert!(
        tally.share("backend-2") > 0.3,
        "{tally:?}\n{}",
        daemon.log()
    );
}
