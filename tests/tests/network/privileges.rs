use std::process::Stdio;

use lb_tests::lab::{
    DEADLINE, Daemon, Nginx, Process, Settings, client::connect_many, program, wait_until,
};

use super::rig::{PORT, WEB, lab, tables, wait_all_up};

/// Those of `CapabilityBoundingSet` in `config/waggle.service`.
const THREE: [&str; 2] = [
    "--bounding-set=-all,+bpf,+net_admin,+perfmon",
    "--inh-caps=-all,+bpf,+net_admin,+perfmon",
];

#[test]
fn the_three_capabilities_of_the_unit_file_are_enough() {
    let unit = include_str!("../../../config/waggle.service");
    assert!(unit.contains("CapabilityBoundingSet=CAP_BPF CAP_NET_ADMIN CAP_PERFMON\n"));
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = Daemon::prepare(
        lab.edge(),
        Settings {
            rest: &tables(&[1, 1]),
            ..Settings::default()
        },
    );
    let with_three = |arguments: &[&str]| {
        let mut command = lab.edge().command("setpriv");
        command.args(THREE).arg(program("waggle")).args(arguments);
        command.arg("--config").arg(daemon.config());
        command
    };
    // The second start adopts what the first left.
    for _ in 0..2 {
        let mut process = Process::spawn(with_three(&["run"]).stderr(Stdio::null()));
        wait_until(DEADLINE, "the control socket", || {
            assert!(process.runs(), "the daemon ended");
            daemon.waggle(&["status"]).ok()
        });
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
        assert!(status.contains("CapEff:\t000000c000001000\n"), "{status}");
        wait_all_up(&daemon, 2);
        let tally = connect_many(lab.client(), WEB, 200);
        assert!(tally.errors.is_empty(), "{:?}", tally.errors);
        assert!(tally.share("backend-2") > 0.3, "{tally:?}");
        let explain = ["explain", "--service", "web", "--client", "198.51.100.11"];
        let explained = daemon.waggle(&explain).stdout;
        assert!(
            explained.contains("\nproved in the kernel: "),
            "{explained}"
        );
        process.kill9();
    }
    let detach = with_three(&["detach"]).output().unwrap();
    assert!(detach.status.success(), "{detach:?}");
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
}
