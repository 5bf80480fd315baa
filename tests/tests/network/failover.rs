use std::{io, time::Duration};

use lb_tests::lab::{
    DEADLINE, Nginx, ServerProcess, Wrk,
    client::{Connection, connect_many},
    wait_until,
};

use super::rig::{PORT, WEB, lab, member, start, wait_all_up, wait_health};

#[test]
fn after_detection_no_request_fails_and_a_healed_backend_returns() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let mut second = Nginx::start(&lab.backends[1], PORT);
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);

    second.stop();
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    let wrk = Wrk::start(
        lab.client(),
        "http://203.0.113.10/",
        8,
        Duration::from_secs(2),
        true,
    );
    let load = wrk.finish();
    assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    let before = member(&daemon, "backend-2")["packets"].as_u64().unwrap();

    second.restart();
    wait_all_up(&daemon, 2);
    let tally = connect_many(lab.client(), WEB, 500);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert!(tally.share("backend-2") > 0.3, "{tally:?}");
    assert!(member(&daemon, "backend-2")["packets"].as_u64().unwrap() > before);
}

#[test]
fn a_reused_source_port_to_a_dead_backend_reaches_a_live_one() {
    let lab = lab(2);
    let _first = ServerProcess::start(&lab.backends[0], "backend-1", PORT);
    let mut second = ServerProcess::start(&lab.backends[1], "backend-2", PORT);
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);

    let client = lab.client();
    let on_second = |port: u16| {
        client.enter(|| {
            let mut connection = Connection::open(WEB, Some(port)).unwrap();
            let backend = connection.ask_on("/").unwrap().backend;
            (backend == "backend-2").then_some(connection)
        })
    };
    let (port, connection) = (20_000..20_100)
        .find_map(|port| Some((port, on_second(port)?)))
        .expect("of 100 ports some lead to the second backend");
    second.kill9();
    wait_health(&daemon, &[("backend-2", "down")]);
    // With a reset its port is free, once no other test's child that is being started holds it too.
    connection.reset().unwrap();
    let mut answer = None;
    wait_until(DEADLINE, "the port is free", || {
        let asked = client.enter(|| Connection::open(WEB, Some(port))?.ask("/"));
        let busy = |error: &io::Error| error.kind() == io::ErrorKind::AddrNotAvailable;
        answer = Some(asked).filter(|asked| !asked.as_ref().is_err_and(busy));
        answer.is_some()
    });
    let answer = answer.expect("an attempt").unwrap();
    assert_eq!(answer.backend, "backend-1");
}

#[test]
fn a_running_connection_stays_when_shares_change() {
    let lab = lab(2);
    let _servers =
        [0, 1].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let client = lab.client();
    let mut connections: Vec<_> = (0..40)
        .map(|_| client.enter(|| Connection::open(WEB, None).unwrap()))
        .collect();
    let mut first = Vec::new();
    for connection in &mut connections {
        first.push(connection.ask_on("/").unwrap().backend);
    }
    assert!(first.iter().any(|backend| backend == "backend-1"));
    assert!(first.iter().any(|backend| backend == "backend-2"));
    let weigh = daemon.waggle(&["member", "web/backend-1", "weight", "1000"]);
    assert!(weigh.ok(), "{weigh:?}");
    let second: Vec<_> = connections
        .iter_mut()
        .map(|c| c.ask_on("/").unwrap().backend)
        .collect();
    assert_eq!(first, second);
    let tally = connect_many(client, WEB, 300);
    assert!(tally.share("backend-1") > 0.98, "{tally:?}");
}
