//! What the daemon logs, and what becomes of it when nobody reads that.

use std::process::Stdio;

use lb_tests::lab::{
    DEADLINE, Daemon, Nginx, Process, Settings, client::Connection, program, wait_until,
};

use super::rig::{PORT, WEB, lab, tables, verdict, wait_all_up, wait_health, wait_log};

#[test]
fn the_packet_log_has_a_line_per_packet_of_a_service_and_none_when_it_is_off() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let rest = &tables(&[1]);
    let settings = |edge| Settings { edge, rest };
    let mut daemon = Daemon::start(lab.edge(), settings("packet_log = \"debug\""));
    wait_all_up(&daemon, 1);
    let connect = |port| {
        let answer = lab
            .client()
            .enter(|| Connection::open(WEB, Some(port))?.ask("/"));
        assert_eq!(answer.unwrap().backend, "backend-1");
    };
    let lines = |daemon: &Daemon<'_>| daemon.log().matches(" -> 203.0.113.10:80").count();
    connect(20_001);
    let line = "198.51.100.11:20001 -> 203.0.113.10:80, target 1: forwarded";
    wait_log(&daemon, line);
    // What the client still sends when it has its answer ends the connection.
    wait_until(DEADLINE, "a line per packet", || {
        let forwarded = verdict(&daemon, "forwarded");
        forwarded >= 4 && lines(&daemon) as u64 == forwarded
    });

    let logged = lines(&daemon);
    daemon.stop();
    daemon.configure(settings(""));
    daemon.restart();
    wait_all_up(&daemon, 1);
    connect(20_002);
    assert!(verdict(&daemon, "forwarded") as usize >= logged + 4);
    assert_eq!(lines(&daemon), logged);
}

#[test]
fn a_daemon_whose_log_nobody_reads_any_more_goes_on() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let mut second = Nginx::start(&lab.backends[1], PORT);
    let daemon = Daemon::prepare(
        lab.edge(),
        Settings {
            rest: &tables(&[1, 1]),
            ..Settings::default()
        },
    );
    let (reader, writer) = std::io::pipe().unwrap();
    let mut run = lab.edge().command(program("waggle"));
    run.args(["run", "--config"]).arg(daemon.config());
    let mut process = Process::spawn(run.stdout(Stdio::null()).stderr(writer));
    drop((run, reader));
    wait_until(DEADLINE, "the control socket", || {
        assert!(process.runs(), "the daemon ended");
        daemon.waggle(&["status"]).ok()
    });
    wait_all_up(&daemon, 2);
    second.stop();
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    assert!(process.runs());
}
