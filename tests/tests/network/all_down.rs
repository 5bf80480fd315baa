use lb_tests::lab::{DEADLINE, ServerProcess, client::connect_many, wait_until};

use super::rig::{PORT, WEB, lab, member, start, status, wait_all_up, wait_health, wait_log};

const IN_USE: &str = "All members are down: traffic goes to every enabled one (all-down rule).";
const NO_LONGER: &str = "The all-down rule is no longer in use.";

#[test]
fn when_all_backends_are_dead_all_are_used_alike_until_one_is_back() {
    let lab = lab(2);
    let start_server =
        |i: usize| ServerProcess::start(&lab.backends[i], lab.backends[i].name(), PORT);
    let mut servers = [0, 1].map(start_server);
    let daemon = start(&lab, &[3, 7]);
    wait_all_up(&daemon, 2);
    assert!(!daemon.log().contains(IN_USE));

    servers.iter_mut().for_each(ServerProcess::kill9);
    wait_health(&daemon, &[("backend-1", "down"), ("backend-2", "down")]);
    wait_log(&daemon, IN_USE);
    assert_eq!(status(&daemon)["groups"][0]["best_effort"], true);
    let shown = daemon.waggle(&["status"]).stdout;
    assert!(
        shown.contains("ALL DOWN: every enabled member is used"),
        "{shown}"
    );
    let packets = |backend| member(&daemon, backend)["packets"].as_u64().unwrap();
    let before = ["backend-1", "backend-2"].map(packets);
    let refused = connect_many(lab.client(), WEB, 400).errors.len();
    assert_eq!(refused, 400, "the hosts are there, the servers are not");
    for (backend, before) in [("backend-1", before[0]), ("backend-2", before[1])] {
        assert_eq!(member(&daemon, backend)["share"], "1/2", "not 3:7");
        assert!(
            (150..=250).contains(&(packets(backend) - before)),
            "{backend}"
        );
    }

    let _back = start_server(1);
    wait_health(&daemon, &[("backend-1", "down"), ("backend-2", "up")]);
    wait_log(&daemon, NO_LONGER);
    wait_until(DEADLINE, "the end of the rule", || {
        status(&daemon)["groups"][0]["best_effort"] == false
    });
    let tally = connect_many(lab.client(), WEB, 300);
    assert_eq!(tally.answers.get("backend-2"), Some(&300), "{tally:?}");
}
