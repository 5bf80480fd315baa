//! Running connections to a backend that is found to be down.

use std::io;

use lb_tests::lab::{Daemon, Host, Lab, Topology, Traffic, WebServer, client::Connection};

use super::rig::{PORT, WEB, reload, start, status, tables, verdict, wait_all_up, wait_health};

/// The tables with this line in their group.
fn with(on_down: &str) -> String {
    let line = format!("on_down = {on_down}\nlatency_window");
    tables(&[1, 1]).replace("latency_window", &line)
}

/// Connections to each of the two backends, each of which has answered.
fn connect(client: &Host) -> [Connection; 2] {
    let mut found = [None, None];
    for _ in 0..200 {
        let mut connection = client
            .enter(|| Connection::open(WEB, None))
            .expect("a connection");
        let backend = connection.ask_on("/").expect("an answer").backend;
        found[usize::from(backend == "backend-2")] = Some(connection);
        if let [Some(_), Some(_)] = &found {
            break;
        }
    }
    found.map(|connection| connection.expect("200 connections reach both backends"))
}

fn left(daemon: &Daemon<'_>) -> u64 {
    status(daemon)["flow_events"]["left"]
        .as_u64()
        .expect("a count")
}

/// The second backend answers probes by errors, and everybody else too: it is down, but not dead.
#[test]
fn connections_to_a_backend_that_is_down_stay_are_reset_or_move_as_its_group_says() {
    let lab = Lab::new(Topology {
        clients: 2,
        ..Topology::default()
    });
    let [_first, second] =
        [0, 1].map(|i| WebServer::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let [_, mut stays] = connect(lab.client());
    let [mut other, mut ends] = connect(lab.client());
    let [_, mut moves] = connect(lab.client());
    second.fail(true);
    wait_health(&daemon, &[("backend-2", "down")]);
    let traffic = Traffic::start(&lab.clients[1], WEB);
    assert_eq!(stays.ask_on("/").unwrap().backend, "backend-2");

    let said = reload(&daemon, &with("{ tcp = \"reset\" }"));
    assert!(
        said.ok() && said.stdout.contains("group web: on_down changed\n"),
        "{said:?}"
    );
    let told = ends.ask_on("/").unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(verdict(&daemon, "backend_down"), 1);
    assert_eq!(other.ask_on("/").unwrap().backend, "backend-1");

    assert!(reload(&daemon, &with("{ tcp = \"reselect\" }")).ok());
    let before = left(&daemon);
    // The other backend knows nothing of the connection.
    let told = moves.ask_on("/").unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::ConnectionReset);
    assert!(left(&daemon) > before);
    assert_eq!(verdict(&daemon, "backend_down"), 1);

    // What was kept meanwhile goes on, once packets go there again.
    assert!(reload(&daemon, &tables(&[1, 1])).ok());
    assert_eq!(stays.ask_on("/").unwrap().backend, "backend-2");
    let seen = traffic.stop();
    assert_eq!(seen.errors(), [""; 0]);
    assert_eq!(Vec::from_iter(seen.answers().into_keys()), ["backend-1"]);
}
