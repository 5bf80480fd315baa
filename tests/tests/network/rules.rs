//! Rules per client prefix, from the file to the wire.

use lb_tests::lab::{DEADLINE, Nginx, client::connect_many, wait_until};

use super::rig::{PORT, WEB, lab, reload, start, status, tables, verdict, wait_all_up};

/// The service's group has backend 1, and `web-2` backend 2.
fn with_rule(rule: &str) -> String {
    let group = r#"[[backend]]
        name = "backend-2"
        address = "198.51.100.102"
        [[group]]
        name = "web-2"
        member = [{ backend = "backend-2" }]
        probe = { kind = "http", interval = "200ms", timeout = "200ms", health = { window = 5, required = 1 } }
        "#;
    format!("{}rule = [{rule}]\n{group}", tables(&[1]))
}

#[test]
fn a_client_network_moves_to_another_group_and_is_dropped_by_reloads() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    let share = |backend: &str| {
        let tally = connect_many(lab.client(), WEB, 50);
        assert!(
            tally.errors.is_empty(),
            "{:?}\n{}",
            tally.errors,
            daemon.log()
        );
        tally.share(backend)
    };
    assert_eq!(share("backend-1"), 1.0);

    let moved = with_rule(r#"{ clients = ["198.51.100.0/26"], group = "web-2" }"#);
    assert!(reload(&daemon, &moved).ok());
    wait_until(DEADLINE, "web-2 is decided and serves", || {
        share("backend-2") == 1.0
    });
    let explain = ["explain", "--service", "web", "--client", "198.51.100.11"];
    let text = daemon.waggle(&explain).stdout;
    assert!(
        text.contains("by rule 0 of 198.51.100.0/26: group web-2"),
        "{text}"
    );

    let dropped = with_rule(
        r#"{ clients = ["198.51.100.0/26"], group = "web-2" },
           { clients = ["198.51.100.9-198.51.100.12"], answer = "drop" }"#,
    );
    assert!(reload(&daemon, &dropped).ok());
    wait_until(DEADLINE, "new connections are dropped", || {
        lab.client()
            .outcome(&format!("timeout 0.3 curl -s http://{WEB}/"));
        verdict(&daemon, "rule_dropped") > 0
    });
    assert!(status(&daemon)["verdicts"]["no_target"] == 0);
}
