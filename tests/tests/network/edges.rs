//! More than one edge.

use std::{fs, path::Path};

use lb_tests::lab::{
    BpfFs, Daemon, Host, Lab, Scratch, ServerProcess, Settings, Topology,
    client::{Connection, connect_many},
};

use super::rig::{PORT, WEB, detach_line, reload, status, tables, wait_all_up};

fn lab() -> Lab {
    Lab::new(Topology {
        clients: 2,
        edges: 2,
        backends: 2,
        ..Topology::default()
    })
}

fn servers(lab: &Lab) -> [ServerProcess; 2] {
    [0, 1].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT))
}

/// Sends the client's packets for services to this edge.
fn route(client: &Host, edge: &Host) {
    client.ip(&[&format!(
        "route replace 203.0.113.0/24 via {}",
        edge.address()
    )]);
}

/// A daemon whose places are as by default, each in a directory of its name, but under other roots.
pub(super) fn prepare<'lab>(edge: &'lab Host, pins: &Path, states: &Scratch) -> Daemon<'lab> {
    let settings = Settings {
        rest: &tables(&[1, 1]),
        ..Settings::default()
    };
    let daemon = Daemon::prepare(edge, settings);
    let text = fs::read_to_string(daemon.config()).expect("the configuration");
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some(("pin_dir", _)) => format!("pin_dir = {:?}", pins.join(edge.name())),
        Some(("state_dir", _)) => format!("state_dir = {:?}", states.path(edge.name())),
        _ => line.to_owned(),
    });
    fs::write(daemon.config(), lines.collect::<Vec<_>>().join("\n")).expect("a place for it");
    daemon
}

#[test]
fn edges_on_one_host_keep_out_of_each_other_s_way() {
    let lab = lab();
    let _servers = servers(&lab);
    let scratch = Scratch::new();
    let bpffs = BpfFs::mount(&scratch);
    let root = bpffs.path().join("waggle");
    let start = |i: usize| prepare(&lab.edges[i], &root, &scratch);
    let (mut first, mut second) = (start(0), start(1));
    first.restart();
    second.restart();
    route(&lab.clients[1], &lab.edges[1]);
    let serves = |client: usize| {
        let tally = connect_many(&lab.clients[client], WEB, 100);
        assert!(
            tally.errors.is_empty(),
            "client {client}: {:?}",
            tally.errors
        );
    };
    wait_all_up(&first, 2);
    wait_all_up(&second, 2);
    serves(0);
    serves(1);

    assert!(first.waggle(&["backend", "drain", "backend-1"]).ok());
    first.kill9();
    let detach = detach_line(&first);
    lab.edges[0].run(&detach);
    let pinned: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|dir| dir.unwrap().file_name())
        .collect();
    assert_eq!(pinned, ["edge-2"]);
    serves(1);
    assert_eq!(
        status(&second)["groups"][0]["members"][0]["admin"],
        "enable"
    );
    first.restart();
    wait_all_up(&first, 2);
    assert_eq!(status(&first)["groups"][0]["members"][0]["admin"], "drain");
    serves(0);
    serves(1);
}

#[test]
fn an_edge_with_another_secret_and_history_sends_the_same_flows_to_the_same_backends() {
    let lab = lab();
    let _servers = servers(&lab);
    let start = |edge, weights: &[u16]| {
        let rest = &tables(weights);
        Daemon::start(edge, Settings { edge: "", rest })
    };
    let young = start(&lab.edges[0], &[3, 7]);
    let old = start(&lab.edges[1], &[1, 1]);
    wait_all_up(&young, 2);
    wait_all_up(&old, 2);
    route(&lab.clients[1], &lab.edges[1]);
    assert!(connect_many(&lab.clients[1], WEB, 300).errors.is_empty());
    assert!(reload(&old, &tables(&[3, 7])).ok());
    let ring = |daemon| status(daemon)["groups"][0]["ring_hash"].clone();
    assert_eq!(ring(&young), ring(&old));

    let client = &lab.clients[0];
    let backends = || -> Vec<String> {
        let backend = |port| {
            let mut connection = Connection::open(WEB, Some(port)).unwrap();
            let backend = connection.ask_on("/").unwrap().backend;
            connection.reset().unwrap();
            backend
        };
        client.enter(|| (20_000..21_000).map(backend).collect())
    };
    let by_young = backends();
    route(client, &lab.edges[1]);
    let forwarded = status(&old)["verdicts"]["forwarded"].as_u64().unwrap();
    let by_old = backends();
    assert!(status(&old)["verdicts"]["forwarded"].as_u64().unwrap() >= forwarded + 3_000);
    assert_eq!(by_young, by_old);
    let on_first = by_old
        .iter()
        .filter(|backend| *backend == "backend-1")
        .count();
    assert!((200..400).contains(&on_first), "{on_first} of 1,000");
}
