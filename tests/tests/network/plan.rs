use lb_tests::lab::{Daemon, Nginx, Outcome, client::connect_many};
use serde_json::Value;

use super::rig::{PORT, WEB, lab, member, reload, start, tables, wait_all_up};

/// Plans these tables against the running daemon, from a file of their own.
fn plan(daemon: &Daemon<'_>, rest: &str, more: &[&str]) -> Outcome {
    plan_with_edge(daemon, "", rest, more)
}

fn plan_with_edge(daemon: &Daemon<'_>, more_of_edge: &str, rest: &str, more: &[&str]) -> Outcome {
    let next = daemon.config().with_file_name("next.toml");
    let text = std::fs::read_to_string(daemon.config()).expect("its configuration");
    let (edge, _) = text.split_once("[[backend]]").expect("tables of backends");
    std::fs::write(&next, format!("{edge}{more_of_edge}{rest}")).expect("a place beside it");
    let next = next.to_str().expect("UTF-8");
    daemon.waggle(&[&["plan", next], more].concat())
}

#[test]
fn a_plan_tells_what_a_reload_would_move_and_moves_nothing() {
    let lab = lab(3);
    let _servers = [0, 1, 2].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[3, 7]);
    wait_all_up(&daemon, 2);
    connect_many(lab.client(), WEB, 200);

    let same = plan(&daemon, &tables(&[3, 7]), &[]);
    assert_eq!(
        (same.status, same.stdout.as_str()),
        (Some(0), "nothing changes\n"),
        "{same:?}"
    );

    let other = plan(&daemon, &tables(&[5, 5]), &[]);
    assert_eq!(other.status, Some(3), "{other:?}");
    for line in [
        "  group web: member backend-1 weight 3 -> 5\n",
        "service web, changed for 100 % of all IPv4 addresses\n",
        "  100 %      0.0.0.0/0  backend-1 3/10, backend-2 7/10  ->  backend-1 1/2, backend-2 1/2\n",
    ] {
        assert!(other.stdout.contains(line), "{line}: {}", other.stdout);
    }
    let json = plan(&daemon, &tables(&[5, 5]), &["--format", "json"]);
    assert_eq!(json.status, Some(3));
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let flows = |place: usize| json["backends"][place]["flows"].as_u64().expect("flows");
    assert_eq!(json["backends"][0]["backend"], "backend-1");
    let [one, two] = [flows(0), flows(1)];
    assert!(one > 20 && two > one && one + two >= 200, "{one}, {two}");
    assert_eq!(
        member(&daemon, "backend-1")["share"],
        "3/10",
        "nothing is done"
    );

    let more = plan(&daemon, &tables(&[3, 7, 10]), &[]);
    assert_eq!(more.status, Some(3), "{more:?}");
    let assumed = "assumed up, not observed yet: web/backend-3\n";
    assert!(more.stdout.contains(assumed), "{more:?}");

    assert!(reload(&daemon, &tables(&[5, 5])).ok());
    assert_eq!(plan(&daemon, &tables(&[5, 5]), &[]).status, Some(0));
    assert_eq!(member(&daemon, "backend-1")["share"], "1/2");
}

#[test]
fn a_plan_says_what_a_reload_would_refuse() {
    let lab = lab(1);
    let daemon = start(&lab, &[1]);
    let broken = plan(&daemon, &tables(&[1]).replace("port = 80", "port = 0"), &[]);
    assert_eq!(broken.status, Some(1), "{broken:?}");
    assert!(broken.stderr.contains("service[0].port"), "{broken:?}");
    let said = plan_with_edge(&daemon, "flow_entries = 1024\n", &tables(&[1]), &[]);
    assert_eq!(said.status, Some(3), "{said:?}");
    let why = "`waggle reload` would refuse it: edge.flow_entries can change only at a start\n";
    assert!(said.stdout.contains(why), "{said:?}");
}

#[test]
fn all_classes_are_told_as_the_daemon_decides_for_them() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[3, 7]);
    wait_all_up(&daemon, 2);
    let rule = "group = \"web\"\nrule = [{ clients = [\"192.0.2.0/24\"], answer = \"drop\" }]\n";
    let text = tables(&[3, 7]);
    let text = text.replace("group = \"web\"\n", rule);
    assert!(reload(&daemon, &text).ok());
    let all = [
        "explain",
        "--service",
        "web",
        "--all-classes",
        "--format",
        "json",
    ];
    let said = daemon.waggle(&all);
    assert!(said.ok(), "{said:?}");
    let json: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let [everybody, dropped] = [0, 1].map(|class| &json["classes"][class]);
    assert_eq!(everybody["fractions"]["backend-2"], "7/10", "{json:#}");
    assert_eq!(
        (&dropped["outcome"], &dropped["sample"]),
        (&"drop".into(), &"192.0.2.0/24".into())
    );
    let one = [
        "explain",
        "--service",
        "web",
        "--client",
        "198.51.100.11",
        "--format",
        "json",
    ];
    let one: Value = serde_json::from_str(&daemon.waggle(&one).stdout).expect("JSON");
    assert_eq!(one["ring"], everybody["ring"]);
}
