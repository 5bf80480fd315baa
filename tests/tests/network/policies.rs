//! Policies that decide by where clients are, from the file to the wire.

use std::{fs, time::Duration};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, Lab, Nginx, Settings, Topology, Wrk,
    client::{connect_many, fetch},
    wait_until,
};

use super::rig::{PORT, WEB, reload, status, verdict};

/// Two backends, a client near to them (198.51.100.11) and one behind a router (192.0.2.0/24).
fn lab() -> Lab {
    Lab::new(Topology {
        backends: 2,
        far_clients: 1,
        ..Topology::default()
    })
}

/// Two backends in regions of their own and a service, with these groups, of which `web` serves.
fn tables(groups: &str) -> String {
    let mut text = String::new();
    for (number, region, place) in [(1, "west", "EU.IE"), (2, "east", "AS.JP")] {
        text += &format!(
            "[[backend]]\nname = \"backend-{number}\"\naddress = \"198.51.100.{}\"\n\
             region = \"{region}\"\nlocation = \"{place}\"\n",
            100 + number
        );
    }
    text + groups
        + &format!(
            "\n[[service]]\nname = \"web\"\naddress = \"{}\"\nprotocol = \"tcp\"\nport = {PORT}\n\
             group = \"web\"\n[latency]\nfiles = [\"rtt.csv\"]\n[geography]\nfiles = [\"geo.csv\"]\n",
            WEB.ip()
        )
}

/// A group of both backends that are not probed.
fn group(policy: &str, members: [&str; 2]) -> String {
    let members = [1, 2].map(|number| {
        let more = members[number - 1];
        format!("{{ backend = \"backend-{number}\"{more} }}")
    });
    format!(
        "[[group]]\nname = \"web\"\npolicy = \"{policy}\"\nprobe = {{ kind = \"none\" }}\nmember = [{}]\n",
        members.join(", ")
    )
}

/// The daemon with these tables. East is near to everybody but the far network; that is in Ireland and
/// the near one in Japan.
fn start<'lab>(lab: &'lab Lab, rest: &str) -> Daemon<'lab> {
    let edge = "";
    let mut daemon = Daemon::prepare(lab.edge(), Settings { edge, rest });
    let file = |name: &str| daemon.config().with_file_name(name);
    let rtt = "0.0.0.0/0,west,90\n0.0.0.0/0,east,20\n192.0.2.0/24,west,15\n192.0.2.0/24,east,150\n";
    fs::write(file("rtt.csv"), rtt).expect("a place for the file");
    fs::write(file("geo.csv"), "192.0.2.0/24,IE\n198.51.100.0/24,JP\n")
        .expect("a place for the file");
    daemon.restart();
    wait_until(DEADLINE, "the service", || {
        status(&daemon)["services"][0]["published"] == true
    });
    daemon
}

/// Who answers new connections from a client; all are answered.
#[track_caller]
fn answering(client: &Host) -> Vec<String> {
    let tally = connect_many(client, WEB, 200);
    assert!(tally.errors.is_empty(), "{tally:?}");
    tally.answers.into_keys().collect()
}

#[test]
fn s52_a_policy_changes_by_reload_and_no_request_is_lost() {
    let lab = lab();
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let weighted = tables(&group("weighted", ["", ""]));
    let daemon = start(&lab, &weighted);
    let [near, far] = [lab.client(), &lab.far_clients[0]];
    assert_eq!(answering(near), ["backend-1", "backend-2"]);
    let url = format!("http://{WEB}/");
    let loads =
        [near, far].map(|client| Wrk::start(client, &url, 8, Duration::from_secs(60), true));
    for _ in 0..3 {
        let performance = tables(&group("performance", ["", ""]));
        assert!(reload(&daemon, &performance).ok());
        wait_until(DEADLINE, "the nearest regions", || {
            [answering(near), answering(far)] == [["backend-2"], ["backend-1"]]
        });
        assert!(reload(&daemon, &weighted).ok());
        wait_until(DEADLINE, "both backends for both clients", || {
            [answering(near).len(), answering(far).len()] == [2, 2]
        });
    }
    for load in loads {
        let load = load.end();
        assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    }
}

#[test]
fn clients_go_where_their_regions_are_mapped_and_others_are_rejected() {
    let lab = lab();
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let members = [", geo = [\"GEO-EU\"]", ", geo = [\"JP\"]"];
    let daemon = start(&lab, &tables(&group("geographic", members)));
    let [near, far] = [lab.client(), &lab.far_clients[0]];
    assert_eq!(answering(near), ["backend-2"]);
    assert_eq!(answering(far), ["backend-1"]);
    let explained = daemon.waggle(&["explain", "--service", "web", "--client", "192.0.2.77"]);
    assert!(
        explained.ok() && explained.stdout.contains("proved"),
        "{explained:?}"
    );

    let europe = tables(&group(
        "geographic",
        [", geo = [\"GEO-EU\"]", ", geo = [\"US\"]"],
    ));
    assert!(reload(&daemon, &europe).ok());
    wait_until(DEADLINE, "no answer for Japan", || {
        fetch(near, WEB, "/").is_err()
    });
    let refused = fetch(near, WEB, "/").unwrap_err();
    assert_eq!(
        refused.kind(),
        std::io::ErrorKind::ConnectionRefused,
        "told at once"
    );
    assert!(verdict(&daemon, "rejected") >= 2);
    assert_eq!(answering(far), ["backend-1"]);
}

#[test]
fn a_nested_group_fails_over_within_its_region_first() {
    let lab = lab();
    let mut first = Nginx::start(&lab.backends[0], PORT);
    let _second = Nginx::start(&lab.backends[1], PORT);
    let probe = "probe = { kind = \"http\", interval = \"200ms\", timeout = \"200ms\", health = { window = 5, required = 1 } }";
    let groups = format!(
        "[[group]]\nname = \"web\"\nstages = [{{ stage = \"subnet\" }}]\nmember = [\
         {{ group = \"pair\", clients = [\"192.0.2.0/24\"] }}, {{ backend = \"backend-2\" }}]\n{probe}\n\
         [[group]]\nname = \"pair\"\nstages = [{{ stage = \"available\" }}, {{ stage = \"priority\" }}]\nmember = [\
         {{ backend = \"backend-1\", priority = 1 }}, {{ backend = \"backend-2\", priority = 2 }}]\n{probe}\n"
    );
    let daemon = start(&lab, &tables(&groups));
    let [near, far] = [lab.client(), &lab.far_clients[0]];
    assert_eq!(answering(near), ["backend-2"]);
    assert_eq!(answering(far), ["backend-1"]);
    first.stop();
    wait_until(DEADLINE, "the second of the pair", || {
        let tally = connect_many(far, WEB, 20);
        tally.errors.is_empty() && tally.share("backend-2") == 1.0
    });
    first.restart();
    wait_until(DEADLINE, "the first of the pair", || {
        answering(far) == ["backend-1"]
    });
    assert_eq!(answering(near), ["backend-2"]);
    drop(daemon);
}

#[test]
fn each_client_of_multivalue_keeps_to_its_backends() {
    let lab = Lab::new(Topology {
        backends: 3,
        clients: 4,
        ..Topology::default()
    });
    let _servers = [0, 1, 2].map(|i| Nginx::start(&lab.backends[i], PORT));
    let third = "[[backend]]\nname = \"backend-3\"\naddress = \"198.51.100.103\"\n";
    let groups = group("multivalue", ["", ""]).replace(
        "backend-2\" }",
        "backend-2\" }, { backend = \"backend-3\" }",
    );
    let daemon = start(&lab, &tables(&(third.to_owned() + &groups)));
    for client in &lab.clients {
        let backends = answering(client);
        assert_eq!(backends.len(), 2, "{}: {backends:?}", client.name());
        assert_eq!(answering(client), backends);
        let address = client.address().to_string();
        let said = daemon.waggle(&["explain", "--service", "web", "--client", &address]);
        assert!(said.ok() && said.stdout.contains("proved"), "{said:?}");
    }
}
