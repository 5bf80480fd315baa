use lb_tests::lab::{Nginx, client::connect_many};

use super::rig::{PORT, WEB, lab, start, status, wait_all_up};

#[test]
fn ten_thousand_connections_are_split_3_to_7_within_2_points() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[3, 7]);
    wait_all_up(&daemon, 2);

    let tally = connect_many(lab.client(), WEB, 10_000);
    assert!(
        tally.errors.is_empty(),
        "{:?}\n{}",
        tally.errors,
        daemon.log()
    );
    let share = tally.share("backend-1");
    assert!((share - 0.3).abs() < 0.02, "backend-1 got {share}");

    let status = status(&daemon);
    let forwarded = status["verdicts"]["forwarded"].as_u64().unwrap();
    assert!(
        forwarded >= 40_000,
        "four packets at least for each connection, not {forwarded}"
    );
    let member = |i: usize| {
        status["groups"][0]["members"][i]["packets"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(
        member(0) + member(1),
        forwarded,
        "targets and verdicts count the same packets"
    );
}

#[test]
fn traffic_that_is_not_ours_is_not_touched() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    lab.client().run("ping -c 3 -i 0.01 -W 5 198.51.100.1");
    lab.client()
        .run("ping -c 3 -i 0.01 -s 4000 -W 5 198.51.100.1");
    assert!(status(&daemon)["verdicts"]["not_ours"].as_u64().unwrap() >= 6);
}

#[test]
fn explain_and_status_say_where_clients_go_and_why() {
    let lab = lab(2);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[3, 7]);
    super::rig::wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);

    let explain = ["explain", "--service", "web", "--client", "198.51.100.11"];
    let text = daemon.waggle(&explain).stdout;
    assert!(
        text.contains("backend-2") && text.contains("refused"),
        "{text}"
    );
    let json = daemon.waggle(&[&explain[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["outcome"], "forward");
    assert_eq!(json["shares"]["backend-1"], 1.0);

    let text = daemon.waggle(&["status"]).stdout;
    assert!(text.contains("DOWN") && text.contains("native"), "{text}");
    let unknown = daemon.waggle(&["explain", "--service", "nope", "--client", "192.0.2.1"]);
    assert_eq!(unknown.status, Some(1));
    assert!(unknown.stderr.contains("there is web"), "{unknown:?}");
}
