use std::fs;

use lb_tests::lab::{
    DEADLINE, Nginx, ServerProcess, Settings,
    client::{Connection, connect_many},
    wait_until,
};

use super::rig::{PORT, WEB, lab, member, start, status, tables, wait_all_up};

#[test]
fn a_long_download_from_a_draining_backend_ends_byte_for_byte() {
    let lab = lab(2);
    let _servers =
        [0, 1].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    const BYTES: u64 = 64 << 20;
    let client = lab.client();
    let mut download = (0..100)
        .find_map(|_| {
            client.enter(|| {
                let mut connection = Connection::open(WEB, None).unwrap();
                let answer = connection.begin(BYTES).unwrap();
                (answer.backend == "backend-2").then_some(connection)
            })
        })
        .expect("some connection leads to the second backend");
    download.read(1 << 20).unwrap();

    assert!(daemon.waggle(&["backend", "drain", "backend-2"]).ok());
    let tally = connect_many(client, WEB, 300);
    assert_eq!(tally.share("backend-1"), 1.0, "{tally:?}");
    assert_eq!(member(&daemon, "backend-2")["health"], "up", "probes go on");
    assert_eq!(member(&daemon, "backend-2")["overridden"], true);
    download.finish().unwrap();

    assert!(daemon.waggle(&["backend", "enable", "backend-2"]).ok());
    let tally = connect_many(client, WEB, 300);
    assert!(tally.share("backend-2") > 0.3, "{tally:?}");
    assert_eq!(member(&daemon, "backend-2")["overridden"], false);
}

#[test]
fn a_disabled_backend_gets_no_connection_and_no_probe() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let second = lb_tests::lab::WebServer::start(&lab.backends[1], "backend-2", PORT);
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    assert!(daemon.waggle(&["backend", "disable", "backend-2"]).ok());
    let tally = connect_many(lab.client(), WEB, 300);
    assert_eq!(tally.share("backend-1"), 1.0, "{tally:?}");
    // A probe that was under way may still have arrived; three intervals later none may.
    let mut seen = second.requests("/");
    wait_until(DEADLINE, "the end of the probes", || {
        std::thread::sleep(std::time::Duration::from_millis(600));
        let before = std::mem::replace(&mut seen, second.requests("/"));
        before == seen
    });
}

#[test]
fn a_reload_says_what_changed_and_a_bad_one_changes_nothing() {
    let lab = lab(3);
    let _servers = [0, 1, 2].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let configure = |rest: &str| {
        daemon.configure(Settings {
            rest,
            ..Settings::default()
        })
    };

    configure(
        &tables(&[1, 1])
            .replace("weight = 1 ", "weight = 1001 ")
            .replace("port = 80", "port = 0"),
    );
    let before = status(&daemon)["groups"].clone();
    let refused = daemon.waggle(&["reload"]);
    assert_eq!(refused.status, Some(1));
    for path in [
        "group[0].member[0].weight",
        "group[0].member[1].weight",
        "service[0].port",
    ] {
        assert!(refused.stderr.contains(path), "{refused:?}");
    }
    assert_eq!(
        status(&daemon)["groups"][0]["ring_hash"],
        before[0]["ring_hash"]
    );

    configure(&tables(&[1, 2, 1]));
    let said = daemon.waggle(&["reload"]);
    assert!(said.ok(), "{said:?}");
    for line in [
        "backend backend-3 added",
        "group web: member backend-2 weight 1 -> 2",
        "group web: member backend-3 added",
    ] {
        assert!(said.stdout.contains(line), "{said:?}");
    }
    wait_all_up(&daemon, 3);
    let tally = connect_many(lab.client(), WEB, 2000);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert!((tally.share("backend-2") - 0.5).abs() < 0.05, "{tally:?}");
    assert_eq!(daemon.waggle(&["reload"]).stdout, "nothing changed\n");

    let text = fs::read_to_string(daemon.config()).unwrap();
    fs::write(
        daemon.config(),
        text.replace("[edge]", "[edge]\nflow_entries = 64"),
    )
    .unwrap();
    let refused = daemon.waggle(&["reload"]);
    assert!(
        refused
            .stderr
            .starts_with("error[fixed-setting]: edge.flow_entries"),
        "{refused:?}"
    );
}
