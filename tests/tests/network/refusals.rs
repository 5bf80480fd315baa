//! What the daemon refuses, each with one line that says how to mend it.

use std::{fs, path::Path};

use lb_tests::lab::{Daemon, Lab, Nginx, Outcome, Settings, Topology, program};

use super::rig::{PORT, lab, start, status, tables, wait_all_up};

/// Runs the daemon with a changed configuration and returns how it ended.
fn run_with(lab: &Lab, prefix: &str, change: impl Fn(&str) -> String) -> Outcome {
    let daemon = Daemon::prepare(
        lab.edge(),
        Settings {
            rest: &tables(&[1]),
            ..Settings::default()
        },
    );
    let text = fs::read_to_string(daemon.config()).expect("the configuration");
    fs::write(daemon.config(), change(&text)).expect("a place for it");
    let run = format!(
        "{prefix} {} run --config {}",
        program("waggle").display(),
        daemon.config().display()
    );
    lab.edge().outcome(run.trim())
}

#[track_caller]
fn refused(outcome: &Outcome, code: &str, words: &[&str]) {
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    let last = outcome.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("error[{code}]: ")), "{last}");
    for word in words {
        assert!(last.contains(word), "`{word}` is not in: {last}");
    }
}

#[test]
fn a_second_daemon_of_the_same_edge_is_refused() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let run = format!(
        "{} run --config {}",
        program("waggle").display(),
        daemon.config().display()
    );
    refused(&lab.edge().outcome(&run), "edge-taken", &["edge-1"]);
    wait_all_up(&daemon, 2);
}

#[test]
fn an_edge_that_would_share_another_s_pins_or_socket_is_refused() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    lab.edge()
        .ip(&["link add br9 type bridge", "link set br9 up"]);
    let first = fs::read_to_string(daemon.config()).unwrap();
    let second = first
        .replace("\"edge-1\"", "\"edge-2\"")
        .replace("\"eth0\"", "\"br9\"")
        .replace("/state\"", "/state-2\"");
    let outcome = run_with(&lab, "", |_| second.clone());
    refused(&outcome, "pins-taken", &["edge.pin_dir"]);
    let outcome = run_with(&lab, "", |_| second.replace("/waggle\"", "/waggle-2\""));
    refused(&outcome, "socket-taken", &["edge.control"]);
    wait_all_up(&daemon, 1);
    assert_eq!(status(&daemon)["edge"]["name"], "edge-1");
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    let outcome = run_with(&lab, "", |text| text.replace("\"eth0\"", "\"eth7\""));
    refused(&outcome, "no-interface", &["eth7", "eth0"]);
}

#[test]
fn a_place_for_pins_that_is_no_bpf_file_system_is_refused_with_the_mend() {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    let elsewhere = tempfile::tempdir().unwrap();
    let outcome = run_with(&lab, "", |text| {
        let line = text
            .lines()
            .find(|line| line.starts_with("pin_dir"))
            .unwrap();
        text.replace(
            line,
            &format!("pin_dir = \"{}\"", elsewhere.path().display()),
        )
    });
    refused(&outcome, "no-bpf-file-system", &["mount -t bpf"]);
}

#[test]
fn without_root_and_without_cap_bpf_the_mend_is_said() {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    let nobody = run_with(
        &lab,
        "setpriv --reuid 65534 --clear-groups --inh-caps=-all",
        str::to_owned,
    );
    refused(&nobody, "missing-capabilities", &["root"]);
    let less = run_with(
        &lab,
        "setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin",
        str::to_owned,
    );
    refused(&less, "missing-capabilities", &["CAP_BPF"]);
}

#[test]
fn a_device_without_native_xdp_is_refused_in_native_mode_and_served_in_auto() {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    lab.edge()
        .ip(&["link add br9 type bridge", "link set br9 up"]);
    let outcome = run_with(&lab, "", |text| {
        text.replace("\"eth0\"", "\"br9\"")
            .replace("[edge]", "[edge]\nxdp_mode = \"native\"")
    });
    refused(&outcome, "no-native-xdp", &["br9", "generic"]);

    let mut daemon = Daemon::prepare(lab.edge(), Settings::default());
    let text = fs::read_to_string(daemon.config()).unwrap();
    fs::write(daemon.config(), text.replace("\"eth0\"", "\"br9\"")).unwrap();
    daemon.restart();
    assert_eq!(status(&daemon)["edge"]["xdp_mode"], "generic");
    assert!(
        daemon.log().contains("WARN attached in generic mode"),
        "{}",
        daemon.log()
    );
    assert!(lab.edge().run("ip link show br9").contains("xdpgeneric"));
}

#[test]
fn every_error_of_a_file_is_said_at_once() {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    let outcome = run_with(&lab, "", |text| {
        text.replace("weight = 1 ", "weight = 0 ")
            .replace("group = \"web\"", "group = \"wep\"")
            .replace("port = 80", "prot = 80")
    });
    assert_eq!(outcome.status, Some(1));
    for line in [
        "error[zero-weight]: group[0].member[0].weight: ",
        "error[unknown-name]: service[0].group: ",
        "error[unknown-key]: service[0].prot: ",
    ] {
        assert!(outcome.stderr.contains(line), "{outcome:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let outcome = std::process::Command::new(program("waggle"))
        .args(["check", "/nowhere/waggle.toml"])
        .output()
        .unwrap();
    assert_eq!(outcome.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("/nowhere/waggle.toml"));
    assert!(!Path::new("/nowhere").exists());
}
