//! `waggle status` when no daemon runs.

use std::fs;

use lb_tests::lab::{
    BpfFs, DEADLINE, Nginx, Outcome, Scratch, client::connect_many, program, wait_until,
};
use serde_json::Value;

use super::{
    edges::prepare,
    rig::{PORT, WEB, lab, start, wait_all_up},
};

#[test]
fn status_after_kill_9_shows_what_packets_go_by_and_fails() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let live = daemon.waggle(&["status", "--format", "json"]);
    let live: Value = serde_json::from_str(&live.stdout).unwrap();
    assert!(live["edge"]["heartbeat_age_s"].as_u64() < Some(DEADLINE.as_secs()));
    daemon.kill9();
    let tally = connect_many(lab.client(), WEB, 100);
    assert!(tally.errors.is_empty(), "{tally:?}");

    let config = daemon.config();
    let config = config.to_str().unwrap();
    let left = || {
        let said = daemon.waggle(&["status", "--config", config, "--format", "json"]);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert!(said.stderr.starts_with("error[no-daemon]: "), "{said:?}");
        serde_json::from_str::<Value>(&said.stdout).expect("JSON")
    };
    let first = left();
    let edge = &first["edge"];
    assert_eq!(edge["pid"], Value::Null);
    assert_eq!(edge["attached"], true, "{edge}");
    assert_eq!(edge["interfaces"][0]["name"], "eth0");
    assert_eq!(edge["interfaces"][0]["xdp_mode"], "native");
    assert!(edge["flows"].as_u64().unwrap() >= 100, "{edge}");
    let service = &first["services"][0];
    assert_eq!(service["name"], "web");
    assert_eq!(
        (&service["port"], &service["group"]),
        (&80.into(), &"web".into())
    );
    assert!(service["packets"].as_u64().unwrap() >= 400, "{service}");
    for target in first["targets"].as_array().unwrap() {
        let backend = target["backend"].as_str().unwrap();
        let packets = target["packets"].as_u64().unwrap();
        assert!(packets >= 4 * tally.answers[backend], "{target}");
        assert_eq!(target["takes_new"], true);
    }
    wait_until(DEADLINE, "an older heartbeat", || {
        left()["edge"]["heartbeat_age_s"].as_u64() > edge["heartbeat_age_s"].as_u64()
    });

    let text = daemon.waggle(&["status", "--config", config]);
    assert_eq!(text.status, Some(1));
    for words in [
        "NO DAEMON, last heartbeat",
        "is on eth0 (native XDP)",
        "203.0.113.10:80",
        "backend-2",
        "forwarded",
    ] {
        assert!(text.stdout.contains(words), "{words}: {text:?}");
    }
    // To look has changed nothing.
    assert!(connect_many(lab.client(), WEB, 100).errors.is_empty());
    daemon.restart();
    wait_all_up(&daemon, 2);
    assert!(daemon.log().contains("adopted=true"), "{}", daemon.log());
}

#[test]
fn status_without_a_daemon_and_without_pins_says_what_to_start() {
    let lab = lab(1);
    let mut daemon = start(&lab, &[1]);
    assert!(daemon.stop().unwrap().success());
    lab.edge().run(&super::rig::detach_line(&daemon));
    let config = daemon.config();
    let said = daemon.waggle(&["status", "--config", config.to_str().unwrap()]);
    assert_eq!((said.status, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("waggle run --config"), "{said:?}");
}

#[test]
fn without_a_configuration_a_socket_s_path_tells_no_pins() {
    let lab = lab(1);
    let mut daemon = start(&lab, &[1]);
    daemon.kill9();
    let said = daemon.waggle(&["status"]);
    assert_eq!((said.status, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.starts_with("error[no-daemon]: "), "{said:?}");
}

/// As on a host of which only the pins are known, all in the default place.
#[test]
fn without_names_pins_in_the_default_place_are_found_and_told_apart() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let scratch = Scratch::new();
    let bpffs = BpfFs::mount(&scratch);
    let root = bpffs.path().join("waggle");
    let mut daemon = prepare(lab.edge(), &root, &scratch);
    daemon.restart();
    wait_all_up(&daemon, 2);
    daemon.kill9();

    // In a mount namespace of its own, and with no socket in /run.
    let places = format!(
        "mount --bind {} /sys/fs/bpf && mount -t tmpfs none /run && exec \"$@\"",
        bpffs.path().display()
    );
    let status = |arguments: &[&str]| -> Outcome {
        let mut command = lab.edge().command("unshare");
        command.args(["--mount", "sh", "-c", &places, "sh"]);
        command.arg(program("waggle")).arg("status").args(arguments);
        command.output().expect("unshare starts").into()
    };
    for arguments in [&[][..], &["--edge", lab.edge().name()]] {
        let said = status(arguments);
        assert_eq!(said.status, Some(1), "{said:?}");
        for words in [
            "edge: NO DAEMON, last heartbeat",
            "-        203.0.113.10:80",
            "takes new flows",
        ] {
            assert!(said.stdout.contains(words), "{words}: {said:?}");
        }
        assert!(said.stderr.contains("start"), "{said:?}");
    }
    fs::create_dir(root.join("other")).unwrap();
    let said = status(&[]);
    assert_eq!((said.status, said.stdout.as_str()), (Some(1), ""));
    assert!(
        said.stderr.contains(
            "several edges have left their tables in /sys/fs/bpf/waggle; choose one with `--edge`"
        ),
        "{said:?}"
    );
}
