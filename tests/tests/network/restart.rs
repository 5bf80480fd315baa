use std::{
    io,
    panic::{self, AssertUnwindSafe},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use lb_tests::lab::{
    Daemon, Lab, Nginx, Settings, Wrk,
    client::{Connection, connect_many},
};

use super::rig::{PORT, WEB, lab, member, start, tables, wait_all_up, wait_health};

/// Longer than any test: the load is ended when the test has seen enough.
const LONG: Duration = Duration::from_secs(120);

#[test]
fn kill_9_and_restart_under_wrk_fail_no_request() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[3, 7]);
    wait_all_up(&daemon, 2);

    let url = "http://203.0.113.10/";
    let many = Wrk::start(lab.client(), url, 8, LONG, true);
    let long = Wrk::start(lab.client(), url, 8, LONG, false);
    daemon.kill9();
    let tally = connect_many(lab.client(), WEB, 500);
    assert!(
        tally.errors.is_empty(),
        "without a daemon: {:?}",
        tally.errors
    );
    for _ in 0..3 {
        daemon.restart();
        wait_all_up(&daemon, 2);
    }
    for load in [many.end(), long.end()] {
        assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    }
    let share = connect_many(lab.client(), WEB, 2000).share("backend-1");
    assert!((share - 0.3).abs() < 0.05, "{share}");
    assert!(daemon.log().contains("adopted=true"), "{}", daemon.log());
}

#[test]
fn a_cold_start_with_a_dead_backend_sends_it_no_connection() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let mut daemon = Daemon::prepare(
        lab.edge(),
        Settings {
            rest: &tables(&[1, 1]),
            ..Settings::default()
        },
    );
    let refused = refusals_while(&lab, || {
        daemon.restart();
        wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
        let tally = connect_many(lab.client(), WEB, 1000);
        assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    });
    assert_eq!(refused, 0);
}

#[test]
fn kill_9_with_a_dead_backend_sends_it_no_connection() {
    let lab = lab(2);
    let _first = Nginx::start(&lab.backends[0], PORT);
    let mut daemon = start(&lab, &[1, 1]);
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    let refused = refusals_while(&lab, || {
        for _ in 0..3 {
            daemon.restart();
            wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
        }
        let tally = connect_many(lab.client(), WEB, 1000);
        assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    });
    assert_eq!(refused, 0);
}

/// Connects again and again while `work` goes on, and counts the connections that the dead
/// backend's kernel refused.
fn refusals_while(lab: &Lab, work: impl FnOnce()) -> usize {
    let ended = AtomicBool::new(false);
    let connect = || {
        let mut refused = 0;
        while !ended.load(Ordering::Relaxed) {
            if let Err(error) = Connection::open(WEB, None) {
                refused += usize::from(error.kind() == io::ErrorKind::ConnectionRefused);
            }
            // Or a fast machine uses every source port anew within seconds.
            thread::sleep(Duration::from_millis(1));
        }
        refused
    };
    thread::scope(|scope| {
        let clients = scope.spawn(|| lab.client().enter(connect));
        // The clients end also when the work fails.
        let outcome = panic::catch_unwind(AssertUnwindSafe(work));
        ended.store(true, Ordering::Relaxed);
        let refused = clients.join().expect("the clients end");
        outcome.unwrap_or_else(|payload| panic::resume_unwind(payload));
        refused
    })
}

#[test]
fn a_drain_is_in_force_after_kill_9() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    assert!(daemon.waggle(&["backend", "drain", "backend-2"]).ok());
    daemon.restart();
    wait_all_up(&daemon, 2);
    assert_eq!(member(&daemon, "backend-2")["admin"], "drain");
    let tally = connect_many(lab.client(), WEB, 300);
    assert_eq!(tally.share("backend-1"), 1.0, "{tally:?}");
}

#[test]
fn sigterm_leaves_the_program_and_detach_removes_it() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    assert!(daemon.stop().unwrap().success());
    let tally = connect_many(lab.client(), WEB, 100);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);

    let config = daemon.config();
    let detach = format!(
        "{} detach --config {}",
        lb_tests::lab::program("waggle").display(),
        config.display()
    );
    let said = lab.edge().run(&detach);
    assert!(said.contains("detached from eth0"), "{said}");
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
    let again = lab.edge().outcome(&detach);
    assert_eq!(again.status, Some(1));
    assert!(
        again.stderr.starts_with("error[nothing-pinned]: "),
        "{again:?}"
    );
}
