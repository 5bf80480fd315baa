//! What outlives a daemon, and what does not.

use std::fs;

use lb_tests::lab::{DEADLINE, Nginx, client::connect_many, wait_until};

use super::rig::{PORT, WEB, detach_line, lab, member, start, wait_all_up};

#[test]
fn a_state_file_that_is_not_understood_is_set_aside_and_the_daemon_starts() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    assert!(daemon.waggle(&["backend", "drain", "backend-2"]).ok());
    let file = daemon.control().with_file_name("state").join("state.json");
    let garbage = b"{\"admin\": [\xff";
    daemon.kill9();
    fs::write(&file, garbage).unwrap();
    daemon.restart();
    wait_all_up(&daemon, 2);
    assert_eq!(fs::read(file.with_extension("json.bad")).unwrap(), garbage);
    assert_eq!(member(&daemon, "backend-2")["admin"], "enable");
    let log = daemon.log();
    for warning in [
        "state.json is not understood",
        "drains in it are not in force",
    ] {
        assert!(log.contains(warning), "{log}");
    }
    let tally = connect_many(lab.client(), WEB, 200);
    assert!(
        tally.errors.is_empty() && tally.share("backend-2") > 0.3,
        "{tally:?}"
    );
}

#[test]
fn detach_works_under_a_running_daemon_and_the_next_start_serves_again() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let mut daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    assert!(daemon.waggle(&["backend", "drain", "backend-2"]).ok());
    let detach = detach_line(&daemon);
    let said = lab.edge().run(&detach);
    assert!(said.contains("detached from eth0"), "{said}");
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
    // It lives on, and still answers.
    assert_eq!(member(&daemon, "backend-1")["health"], "up");

    daemon.restart();
    wait_all_up(&daemon, 2);
    assert!(lab.edge().run("ip link show eth0").contains("xdp"));
    let tally = connect_many(lab.client(), WEB, 200);
    assert!(tally.errors.is_empty(), "{tally:?}");
    assert_eq!(
        tally.share("backend-1"),
        1.0,
        "the drain is in force: {tally:?}"
    );
}

#[test]
fn a_full_disk_is_told_and_what_was_set_is_in_force_all_the_same() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let file = daemon.control().with_file_name("state").join("state.json");
    let written = || fs::read_to_string(&file).unwrap();
    wait_until(DEADLINE, "a state file", || file.exists());
    // A directory in the place of the next one is as bad as no room, and root meets it too.
    let in_the_way = file.with_extension("json.new");
    wait_until(DEADLINE, "a place for it", || {
        fs::create_dir(&in_the_way).is_ok()
    });
    let before = written();
    let said = daemon.waggle(&["backend", "drain", "backend-2"]);
    assert!(said.ok(), "{said:?}");
    let words = "warning[unsaved-state]: in force: ";
    assert!(said.stdout.contains(words), "{said:?}");
    assert_eq!(member(&daemon, "backend-2")["admin"], "drain");
    assert_eq!(written(), before, "the old file stands");
    fs::remove_dir(&in_the_way).unwrap();
    wait_until(DEADLINE, "the drain in the file", || {
        written().contains("drain")
    });
}
