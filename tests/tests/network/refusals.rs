//! What the daemon refuses, each with one line that says how to mend it.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::Path,
};

use lb_tests::lab::{Daemon, Lab, Nginx, Outcome, Scratch, Settings, Topology, program};

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

/// Runs `waggle` on the edge after shell commands in a mount namespace of its own.
fn in_mounts(lab: &Lab, mounts: &str, arguments: &str) -> Outcome {
    let waggle = program("waggle");
    let script = format!("{mounts} && exec {} {arguments}", waggle.display());
    let mut command = lab.edge().command("unshare");
    let output = command.args(["--mount", "sh", "-c", &script]).output();
    output.expect("unshare").into()
}

#[test]
fn a_kernel_that_is_too_old_or_does_not_tell_is_refused() {
    let lab = lab(1);
    let daemon = Daemon::prepare(lab.edge(), Settings::default());
    let scratch = Scratch::new();
    let release = scratch.path("release");
    fs::write(&release, "5.10.0-28-amd64\n").unwrap();
    let run = format!("run --config {}", daemon.config().display());
    let old = format!(
        "mount --bind {} /proc/sys/kernel/osrelease",
        release.display()
    );
    refused(
        &in_mounts(&lab, &old, &run),
        "old-kernel",
        &["5.12", "5.10.0-28-amd64"],
    );
    let hidden = in_mounts(&lab, "mount -t tmpfs none /proc", &run);
    refused(&hidden, "no-proc", &["mount /proc"]);
}

#[test]
fn an_interface_without_a_mac_address_is_refused() {
    let lab = lab(1);
    let outcome = run_with(&lab, "", |text| text.replace("\"eth0\"", "\"lo\""));
    refused(&outcome, "no-ethernet", &["lo", "edge.interfaces"]);
}

#[test]
fn a_listener_for_metrics_that_can_not_be_is_refused() {
    let lab = lab(1);
    let at = |address: &str, prefix: &str| {
        let metrics = format!("[edge]\nmetrics = \"{address}\"");
        run_with(&lab, prefix, |text| text.replace("[edge]", &metrics))
    };
    let foreign = at("192.0.2.77:9390", "");
    refused(&foreign, "foreign-address", &["192.0.2.77:9390"]);
    let low = at("127.0.0.1:80", "setpriv --bounding-set=-net_bind_service");
    refused(
        &low,
        "refused-listener",
        &["127.0.0.1:80", "ermission denied"],
    );
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
}

#[test]
fn a_place_that_can_be_no_control_socket_is_refused() {
    let lab = lab(1);
    let control = |path: &str| {
        run_with(&lab, "", |text| {
            let lines = text.lines().map(|line| match line.split_once(" = ") {
                Some(("control", _)) => format!("control = \"{path}\""),
                _ => line.to_owned(),
            });
            lines.collect::<Vec<_>>().join("\n")
        })
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    refused(&control(path), "no-socket", &[path, "edge.control"]);
    assert!(file.path().exists(), "what is not ours stays");
    refused(
        &control("/proc/waggle"),
        "unusable-socket",
        &["/proc/waggle"],
    );
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
}

#[test]
fn limits_that_are_too_low_are_told() {
    let lab = lab(1);
    let outcome = run_with(&lab, "prlimit --nofile=4:4", str::to_owned);
    refused(&outcome, "no-resources", &["ulimit"]);
}

#[test]
fn a_socket_that_is_closed_to_a_user_is_told() {
    let lab = lab(1);
    let daemon = start(&lab, &[1]);
    let scratch = daemon.control().parent().unwrap().to_owned();
    fs::set_permissions(scratch, fs::Permissions::from_mode(0o755)).unwrap();
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let status = format!("status --control {}", daemon.control().display());
    let outcome = lab.edge().outcome(&format!(
        "{nobody} {} {status}",
        program("waggle").display()
    ));
    refused(&outcome, "closed-socket", &["use root"]);
}

#[test]
fn of_several_edges_one_has_to_be_named() {
    let lab = lab(1);
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("run")).unwrap();
    let _sockets = ["fra-1.sock", "fra-2.sock"]
        .map(|name| UnixListener::bind(scratch.path("run").join(name)).unwrap());
    let run = "mount -t tmpfs none /run && mkdir /run/waggle";
    let bound = format!(
        "{run} && mount --bind {} /run/waggle",
        scratch.path("run").display()
    );
    let outcome = in_mounts(&lab, &bound, "status");
    refused(&outcome, "several-edges", &["--edge", "fra-1", "fra-2"]);
    let left = format!(
        "{run} && mount -t tmpfs none /sys/fs/bpf && mkdir -p /sys/fs/bpf/waggle/fra-1 /sys/fs/bpf/waggle/fra-2"
    );
    let outcome = in_mounts(&lab, &left, "status");
    refused(
        &outcome,
        "several-tables",
        &["--edge", "/sys/fs/bpf/waggle"],
    );
    let outcome = in_mounts(&lab, run, "status");
    refused(&outcome, "no-daemon", &["/run/waggle/*.sock"]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let outcome = std::process::Command::new(program("waggle"))
        .args(["check", "/nowhere/waggle.toml"])
        .output()
        .unwrap();
    assert_eq!(outcome.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let words = "error[unreadable-file]: can not read /nowhere/waggle.toml: ";
    assert!(stderr.starts_with(words), "{stderr}");
    assert!(!Path::new("/nowhere").exists());
}
