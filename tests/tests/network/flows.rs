//! `waggle flows`, which counts the entries of the flow table, and how long they are remembered.

use lb_tests::lab::{
    DEADLINE, Daemon, Nginx,
    client::{Connection, connect_many},
    wait_until,
};
use serde_json::Value;

use super::rig::{PORT, WEB, lab, start, status, wait_all_up};

mod of_a_client;

/// What `waggle flows` prints as JSON.
#[track_caller]
fn flows(daemon: &Daemon<'_>, words: &[&str]) -> Value {
    let said = daemon.waggle(&[&["flows", "--format", "json"], words].concat());
    assert!(said.ok() && said.stderr.is_empty(), "{said:?}");
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn connections_are_counted_by_backend_and_state_with_and_without_a_daemon() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let client = lab.client();
    let mut open: Vec<_> = (0..20)
        .map(|_| client.enter(|| Connection::open(WEB, None).unwrap()))
        .collect();
    for connection in &mut open {
        connection.ask_on("/").unwrap();
    }
    assert!(connect_many(client, WEB, 30).errors.is_empty());
    wait_until(DEADLINE, "the end of the last one", || {
        flows(&daemon, &[])["total"]["closing"] == 30
    });
    let all = flows(&daemon, &[]);
    let total = &all["total"];
    assert_eq!(
        (&total["established"], &total["all"]),
        (&20.into(), &50.into())
    );
    assert_eq!(all["live"], 50);
    assert_eq!(all["flow_entries"], status(&daemon)["edge"]["flow_entries"]);
    let [first, second] = &all["targets"].as_array().unwrap()[..] else {
        panic!("{all:#}");
    };
    assert_eq!(
        (&first["group"], &first["backend"]),
        (&"web".into(), &"backend-1".into())
    );
    let counted = |row: &Value| row["all"].as_u64().unwrap();
    assert_eq!(counted(first) + counted(second), 50);
    let one = flows(&daemon, &["--group", "web", "--backend", "backend-2"]);
    assert_eq!(one["targets"], Value::from(vec![second.clone()]));
    assert_eq!(
        (&one["total"]["all"], &one["live"]),
        (&second["all"], &50.into())
    );

    let text = daemon.waggle(&["flows"]).stdout;
    assert!(
        text.contains("50 of 1048576 flow entries live (0.0 %)"),
        "{text}"
    );
    for words in [["--group", "none"], ["--backend", "none"]] {
        let refused = daemon.waggle(&[&["flows"], &words[..]].concat());
        assert!(
            refused.stderr.starts_with("error[no-such-target]: "),
            "{refused:?}"
        );
    }
    daemon.kill9();
    let config = daemon.config();
    assert_eq!(flows(&daemon, &["--config", config.to_str().unwrap()]), all);
}

#[test]
fn a_reload_changes_how_long_connections_are_remembered() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    let mut open = lab.client().enter(|| Connection::open(WEB, None).unwrap());
    open.ask_on("/").unwrap();
    assert!(connect_many(lab.client(), WEB, 10).errors.is_empty());
    let text = std::fs::read_to_string(daemon.config()).unwrap();
    let short = text.replace("[edge]", "[edge]\nflow_idle = { closing = \"1s\" }");
    std::fs::write(daemon.config(), short).unwrap();
    let said = daemon.waggle(&["reload"]);
    assert_eq!(said.stdout, "edge: flow_idle changed\n", "{said:?}");
    wait_until(DEADLINE, "the end of those that are closed", || {
        let total = &flows(&daemon, &[])["total"];
        assert_eq!(total["established"], 1, "{total}");
        total["closing"] == 0
    });
    assert_eq!(status(&daemon)["edge"]["flows"], 1);
}
