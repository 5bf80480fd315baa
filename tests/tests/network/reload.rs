use std::{net::SocketAddrV4, time::Duration};

use lb_tests::lab::{
    DEADLINE, Daemon, Nginx, ServerProcess, Settings, WebServer, Wrk,
    client::{Connection, connect_many, fetch},
    now, wait_until,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    raw::send_syn,
    rig::{
        PORT, WEB, lab, member, reload, start, status, tables, verdict, wait_all_up, wait_health,
        wait_log,
    },
};

#[test]
fn case_33_when_the_last_backend_is_taken_out_a_syn_is_not_forwarded() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    send_syn(lab.client(), 3_000, WEB, 0);
    wait_until(DEADLINE, "a packet forwarded", || {
        verdict(&daemon, "forwarded") == 1
    });

    let disabled = tables(&[1]).replace("weight = 1 }", "weight = 1, enabled = false }");
    let said = reload(&daemon, &disabled);
    assert!(
        said.ok() && said.stdout.contains("all members of \"web\" are disabled"),
        "{said:?}"
    );
    send_syn(lab.client(), 3_001, WEB, 0);
    // The flow that it has an entry for is a new one as well.
    send_syn(lab.client(), 3_000, WEB, 0);
    wait_until(DEADLINE, "both packets rejected", || {
        verdict(&daemon, "rejected") == 2
    });
    assert_eq!(verdict(&daemon, "forwarded"), 1);

    assert!(reload(&daemon, &tables(&[1])).ok());
    wait_all_up(&daemon, 1);
    assert_eq!(fetch(lab.client(), WEB, "/").unwrap().backend, "backend-1");
}

#[test]
fn case_34_a_new_service_forwards_to_nobody_before_its_own_backends_are_known() {
    let lab = lab(2);
    let _old = [PORT, 81].map(|port| Nginx::start(&lab.backends[0], port));
    let new = ServerProcess::start(&lab.backends[1], "backend-2", 81);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);

    let other = tables(&[1])
        .replace("backend-1", "backend-2")
        .replace("198.51.100.101", "198.51.100.102")
        .replace("\"web\"", "\"other\"")
        .replace("port = 80\n", "port = 81\n")
        .replace("200ms", "5s");
    new.freeze();
    let said = reload(&daemon, &other);
    assert!(
        said.ok() && said.stdout.contains("service web removed"),
        "{said:?}"
    );
    let waits = "warning[undecided-group]: group other waits for its first probe results; ";
    assert!(said.stdout.contains(waits), "{said:?}");
    let to_other = SocketAddrV4::new(*WEB.ip(), 81);
    let passed = verdict(&daemon, "not_ours");
    send_syn(lab.client(), 3_000, to_other, 0);
    wait_until(DEADLINE, "the packet passed on", || {
        verdict(&daemon, "not_ours") > passed
    });
    assert_eq!(status(&daemon)["services"][0]["published"], false);
    assert_eq!(verdict(&daemon, "forwarded"), 0);

    new.thaw();
    wait_health(&daemon, &[("backend-2", "up")]);
    let tally = connect_many(lab.client(), to_other, 100);
    assert_eq!(tally.answers.get("backend-2"), Some(&100), "{tally:?}");
}

#[test]
fn a_removed_backend_keeps_its_running_connections_and_gets_no_new_one() {
    let lab = lab(3);
    let _servers =
        [0, 1, 2].map(|i| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let open = || lab.client().enter(|| Connection::open(WEB, None)).unwrap();
    let mut running: Vec<_> = (0..20).map(|_| open()).collect();
    let mut answers = || -> Vec<_> {
        let ask = |connection: &mut Connection| connection.ask_on("/").unwrap().backend;
        running.iter_mut().map(ask).collect()
    };
    let before = answers();
    assert!(before.iter().any(|backend| backend == "backend-2"));

    let without_2 = tables(&[1, 1])
        .replace("backend-2", "backend-3")
        .replace("198.51.100.102", "198.51.100.103");
    let said = reload(&daemon, &without_2);
    assert!(
        said.ok() && said.stdout.contains("backend backend-2 removed"),
        "{said:?}"
    );
    wait_health(&daemon, &[("backend-1", "up"), ("backend-3", "up")]);
    assert_eq!(answers(), before);
    let tally = connect_many(lab.client(), WEB, 300);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert_eq!(tally.share("backend-2"), 0.0, "{tally:?}");
    assert!(tally.share("backend-3") > 0.3, "{tally:?}");
    assert_eq!(answers(), before);
}

#[test]
fn case_61_a_reload_that_only_begins_or_ends_to_probe_takes_effect() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let probed = tables(&[1, 1]);
    let (head, rest) = probed.split_once("probe = ").unwrap();
    let (_, rest) = rest.split_once("\n").unwrap();
    let unprobed = format!("{head}probe = {{ kind = \"none\" }}\n{rest}")
        .replace("latency_window = \"500ms\"", "policy = \"weighted\"");
    let daemon = start(&lab, &[1, 1]);
    let only_the_live_one = || {
        wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
        let tally = connect_many(lab.client(), WEB, 100);
        assert_eq!(tally.answers.get("backend-1"), Some(&100), "{tally:?}");
    };
    only_the_live_one();
    assert!(reload(&daemon, &unprobed).ok());
    wait_all_up(&daemon, 2);
    let tally = connect_many(lab.client(), WEB, 100);
    assert!(
        tally.errors.len() > 20,
        "the dead one counts as healthy: {tally:?}"
    );
    assert!(reload(&daemon, &probed).ok());
    only_the_live_one();
}

#[test]
fn case_82_after_a_reload_nothing_asks_for_the_old_path() {
    let lab = lab(1);
    let server = WebServer::start(&lab.backends[0], "backend-1", PORT);
    let with_path = |path: &str| {
        tables(&[1]).replace(
            "kind = \"http\"",
            &format!("kind = \"http\", path = \"{path}\""),
        )
    };
    let daemon = start(&lab, &[1]);
    assert!(reload(&daemon, &with_path("/old")).ok());
    wait_until(DEADLINE, "probes", || server.requests("/old") > 2);
    assert!(reload(&daemon, &with_path("/new")).ok());
    // One may have been under way.
    wait_until(DEADLINE, "new probes", || server.requests("/new") > 0);
    let old = server.requests("/old");
    wait_until(DEADLINE, "more probes", || server.requests("/new") > 5);
    assert_eq!(server.requests("/old"), old);
    wait_all_up(&daemon, 1);
}

#[test]
fn case_50_reloads_under_load_fail_no_request() {
    let lab = lab(3);
    let _servers = [0, 1, 2].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let url = "http://203.0.113.10/";
    let mut many = Wrk::start(lab.client(), url, 8, Duration::from_secs(2), true);
    let long = Wrk::start(lab.client(), url, 8, Duration::from_secs(2), false);
    let mut reloads = 0;
    while many.runs() {
        for weights in [&[1, 2, 3][..], &[3, 1], &[1, 1, 1]] {
            let said = reload(&daemon, &tables(weights));
            assert!(said.ok(), "{said:?}");
            reloads += 1;
        }
    }
    assert!(reloads >= 6, "{reloads}");
    for load in [many.finish(), long.finish()] {
        assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    }
}

#[test]
fn sighup_reloads_and_with_a_bad_file_changes_nothing() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    let hang_up = |rest: &str| {
        daemon.configure(Settings {
            rest,
            ..Settings::default()
        });
        let pid = status(&daemon)["edge"]["pid"].as_i64().unwrap();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGHUP).unwrap();
    };
    hang_up(&tables(&[1]).replace("weight = 1 ", "weight = 0 "));
    wait_log(&daemon, "Not reloaded: error: ");
    assert!(
        daemon
            .log()
            .contains("error[zero-weight]: group[0].member[0].weight"),
        "{}",
        daemon.log()
    );
    assert_eq!(member(&daemon, "backend-1")["weight"], 1);
    hang_up(&tables(&[7]));
    wait_log(&daemon, "weight 1 -> 7");
    assert_eq!(member(&daemon, "backend-1")["weight"], 7);
}

#[test]
fn the_smallest_ring_pool_is_enough_to_leave_and_return_and_what_does_not_fit_changes_nothing() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let mut second = Nginx::start(&lab.backends[1], PORT);
    let smallest = |rest| Settings {
        edge: "ring_slots = 32768",
        rest,
    };
    let (two, more) = (tables(&[1, 1]), with_many(1));
    let others = [tables(&[3, 7]), tables(&[7, 3])];
    let daemon = Daemon::start(lab.edge(), smallest(&two));
    // The place of the ring before comes free within a second or two.
    let connects_to = |backend: &str| {
        wait_until(DEADLINE, "all connections answered", || {
            let tally = connect_many(lab.client(), WEB, 50);
            tally.errors.is_empty() && tally.share(backend) > 0.0
        });
    };
    wait_all_up(&daemon, 2);
    second.stop();
    wait_health(&daemon, &[("backend-2", "down")]);
    connects_to("backend-1");
    second.restart();
    wait_all_up(&daemon, 2);
    connects_to("backend-2");

    // A second change comes before packets have left what the first one replaced.
    let mut others = others.iter().cycle();
    wait_until(DEADLINE, "a ring that waits", || {
        daemon.configure(smallest(others.next().expect("a cycle")));
        let said = daemon.waggle(&["reload"]);
        assert!(said.ok(), "{said:?}");
        said.stdout
            .contains("warning[waits-for-room]: not in force yet: ")
    });
    wait_until(DEADLINE, "it in force", || {
        status(&daemon)["pending"].is_null()
    });

    let ring = status(&daemon)["groups"][0]["ring_hash"].clone();
    daemon.configure(smallest(&more));
    let said = daemon.waggle(&["reload"]);
    assert!(
        !said.ok() && said.stderr.ends_with("\nnote: nothing changed\n"),
        "{said:?}"
    );
    assert!(
        said.stderr
            .contains("error[small-ring-pool]: edge.ring_slots: ")
            && said.stderr.contains("49152"),
        "{said:?}"
    );
    assert_eq!(status(&daemon)["groups"].as_array().unwrap().len(), 1);
    assert_eq!(status(&daemon)["groups"][0]["ring_hash"], ring);
    assert!(connect_many(lab.client(), WEB, 50).errors.is_empty());
}

#[test]
fn case_63_a_reload_of_a_thousand_backends_keeps_what_is_known_and_leaves_nothing_behind() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1, 1]);
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    let group = |name: &str| {
        let groups = status(&daemon)["groups"].as_array().unwrap().clone();
        groups.into_iter().find(|group| group["name"] == name)
    };
    let ring = group("web").unwrap()["ring_hash"].clone();
    for (count, text) in [(1_000, with_many(1_000)), (0, tables(&[1, 1]))] {
        let begin = now();
        let said = reload(&daemon, &text);
        println!("reload to {count} backends more: {:?}", begin.elapsed());
        assert!(said.ok(), "{}", said.stderr);
        assert_eq!(said.stdout.matches("backend far-").count(), 1_000);
        let web = group("web").unwrap();
        assert_eq!(web["ring_hash"], ring);
        assert_eq!(
            (&web["members"][0]["health"], &web["members"][1]["health"]),
            (&"up".into(), &"down".into())
        );
        assert!(connect_many(lab.client(), WEB, 50).errors.is_empty());
        wait_until(DEADLINE, "a verdict of each", || {
            group("far").is_none_or(|far| {
                let members = far["members"].as_array().unwrap();
                members.iter().all(|member| member["health"] == "down")
            })
        });
        println!("every one has its verdict: {:?}", begin.elapsed());
    }
    assert_eq!(group("far"), None);
    let said = reload(&daemon, &with_many(4_094));
    let refused = "there are 4096 backends of groups that services name; use at most 4095";
    assert!(said.stderr.contains(refused), "{}", said.stderr);
}

#[test]
fn another_file_is_in_use_until_the_daemon_ends() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let mut daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    let other = daemon.config().with_file_name("other.toml");
    let text = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(&other, text.replace("weight = 1 ", "weight = 7 ")).unwrap();
    let said = daemon.waggle(&["reload", other.to_str().unwrap()]);
    assert!(
        said.ok() && said.stdout.contains("warning[other-file]: "),
        "{said:?}"
    );
    assert_eq!(member(&daemon, "backend-1")["weight"], 7);
    daemon.restart();
    assert_eq!(member(&daemon, "backend-1")["weight"], 1);
}

/// The tables of two backends and a second group with `count` more, to which there is no route.
fn with_many(count: u32) -> String {
    let mut text = tables(&[1, 1]);
    let mut members = Vec::new();
    for n in 0..count {
        let [_, a, b, c] = n.to_be_bytes();
        text += &format!("[[backend]]\nname = \"far-{n}\"\naddress = \"10.{a}.{b}.{c}\"\n");
        members.push(format!("{{ backend = \"far-{n}\" }}"));
    }
    text += &format!(
        "[[group]]\nname = \"far\"\nmember = [{}]\nprobe = {{ kind = \"http\" }}\n\
         [[service]]\nname = \"far\"\naddress = \"203.0.113.11\"\nprotocol = \"tcp\"\n\
         port = 80\ngroup = \"far\"\n",
        members.join(", ")
    );
    text
}
