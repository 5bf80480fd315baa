//! Metrics and the status page, as a scraper and a browser get them.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    time::Duration,
};

use lb_tests::{
    lab::{
        DEADLINE, Daemon, Lab, Nginx, Outcome, Settings, client::connect_many, program, wait_until,
    },
    prometheus::Scrape,
};

use super::rig::{PORT, WEB, lab, member, status, tables, verdict, wait_all_up, wait_health};

const LISTENER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9390);

fn settings(rest: &str) -> Settings<'_> {
    Settings {
        edge: "metrics = \"127.0.0.1:9390\"",
        rest,
    }
}

/// What the daemon on the lab's edge answers to a request: its head, and its body.
#[track_caller]
fn ask(lab: &Lab, request: &str) -> (String, String) {
    let answer = lab.edge().enter(|| {
        let mut stream = TcpStream::connect(LISTENER).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    });
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[track_caller]
fn get(lab: &Lab, path: &str) -> (String, String) {
    ask(lab, &format!("GET {path} HTTP/1.1\r\nHost: edge\r\n\r\n"))
}

#[track_caller]
fn scrape(lab: &Lab) -> Scrape {
    let (head, body) = get(lab, "/metrics");
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    Scrape::parse(&body)
}

#[test]
fn metrics_say_what_status_says_and_what_clients_did() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let tables = tables(&[1, 1]);
    let daemon = Daemon::start(lab.edge(), settings(&tables));
    wait_all_up(&daemon, 2);
    let before = scrape(&lab);
    let tally = connect_many(lab.client(), WEB, 200);
    assert!(tally.errors.is_empty(), "{tally:?}");
    // Each has a SYN, an ACK, a request and a FIN at least.
    let after = scrape(&lab);
    after.goes_on_from(&before);
    let packets = |verdict| {
        after
            .series("waggle_packets_total", &[("verdict", verdict)])
            .unwrap()
    };
    assert!(packets("forwarded") >= 800.0, "{after:?}");
    assert!(verdict(&daemon, "forwarded") as f64 >= packets("forwarded"));
    let service = after
        .series("waggle_service_packets_total", &[("service", "web")])
        .unwrap();
    let bytes = after
        .series("waggle_service_bytes_total", &[("service", "web")])
        .unwrap();
    assert!(
        service >= packets("forwarded") && bytes > 60.0 * service,
        "{after:?}"
    );
    for name in ["backend-1", "backend-2"] {
        let labels = [("group", "web"), ("backend", name)];
        let of = |metric| after.series(metric, &labels).unwrap();
        let told = member(&daemon, name);
        assert!(told["packets"].as_f64().unwrap() >= of("waggle_target_packets_total"));
        assert!(of("waggle_target_packets_total") >= 4.0 * tally.answers[name] as f64);
        assert_eq!(of("waggle_member_share_ratio"), 0.5);
        assert!(of("waggle_member_latency_seconds") < 0.2);
        let up = [labels[0], labels[1], ("health", "up")];
        assert_eq!(after.series("waggle_member_health", &up), Some(1.0));
    }
    let hash = status(&daemon)["groups"][0]["ring_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(after.values("waggle_ring_hash", "hash").contains(&hash));
    assert_eq!(after.series("waggle_attached", &[]), Some(1.0));
    assert_eq!(
        after.series("waggle_group_best_effort", &[("group", "web")]),
        Some(0.0)
    );
}

#[test]
fn probe_results_are_counted_by_reason_and_packets_go_on_over_a_restart() {
    let lab = lab(2);
    let mut servers = [0, 1].map(|i| Some(Nginx::start(&lab.backends[i], PORT)));
    let tables = tables(&[1, 1]);
    let mut daemon = Daemon::start(lab.edge(), settings(&tables));
    wait_all_up(&daemon, 2);
    assert!(connect_many(lab.client(), WEB, 50).errors.is_empty());
    let after = scrape(&lab);
    servers[1] = None;
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    let address = lab.backends[1].address().to_string();
    let refused = [
        ("address", address.as_str()),
        ("port", "80"),
        ("kind", "http"),
        ("result", "refused"),
    ];
    let down = scrape(&lab);
    down.goes_on_from(&after);
    assert!(down.series("waggle_probes_total", &refused).unwrap() >= 5.0);

    daemon.restart();
    wait_health(&daemon, &[("backend-1", "up"), ("backend-2", "down")]);
    let adopted = scrape(&lab);
    for metric in ["waggle_packets_total", "waggle_bytes_total"] {
        let labels = [("verdict", "forwarded")];
        assert!(adopted.series(metric, &labels) >= down.series(metric, &labels));
    }
}

#[test]
fn every_metric_that_is_listed_is_said_and_no_other() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let tables = tables(&[1]).replacen("name = \"web\"", "name = \"web\"\naffinity = {}", 1)
        + "[latency]\nfiles = [\"rtt.csv\"]\n";
    let mut daemon = Daemon::prepare(lab.edge(), settings(&tables));
    let file = daemon.config().with_file_name("rtt.csv");
    fs::write(file, "192.0.2.0/24,westeurope,20\n").unwrap();
    daemon.restart();
    wait_all_up(&daemon, 1);
    let scrape = scrape(&lab);
    let said: Vec<_> = scrape.names().collect();
    let mut listed: Vec<_> = lb_userspace::metrics::ALL
        .iter()
        .map(|it| it.name)
        .collect();
    listed.sort_unstable();
    assert_eq!(said, listed);
}

#[test]
fn a_counter_goes_on_when_its_service_was_away_and_a_series_ends_with_what_it_is_of() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let probed = |text: String| text.replace("kind = \"http\",", "kind = \"http\", port = 80,");
    let (both, one) = (probed(tables(&[1, 1])), probed(tables(&[1])));
    let daemon = Daemon::start(lab.edge(), settings(&both));
    wait_all_up(&daemon, 2);
    assert!(connect_many(lab.client(), WEB, 50).errors.is_empty());
    let first = scrape(&lab);
    let without_service = both.split("[[service]]").next().unwrap();
    for rest in [one.as_str(), without_service] {
        daemon.configure(settings(rest));
        let said = daemon.waggle(&["reload"]);
        assert!(said.ok(), "{said:?}");
        scrape(&lab).goes_on_from(&first);
    }
    let away = scrape(&lab);
    assert!(
        away.values("waggle_service_packets_total", "service")
            .is_empty()
    );
    daemon.configure(settings(&both));
    assert!(daemon.waggle(&["reload"]).ok());
    wait_all_up(&daemon, 2);
    let again = scrape(&lab);
    again.goes_on_from(&first);
    let web = [("service", "web")];
    assert!(again.series("waggle_service_packets_total", &web).is_some());
}

#[test]
fn other_requests_are_told_what_there_is_and_slow_clients_harm_nobody() {
    let lab = lab(1);
    let tables = tables(&[1]);
    let daemon = Daemon::start(lab.edge(), settings(&tables));
    let silent: Vec<_> = lab.edge().enter(|| {
        let clients = (0..40).map(|_| TcpStream::connect(LISTENER).expect("it listens"));
        clients.collect()
    });
    let (head, body) = get(&lab, "/other");
    assert!(
        head.starts_with("http/1.1 404 ") && body.contains("/metrics"),
        "{head}"
    );
    let (head, _) = ask(
        &lab,
        "POST /metrics HTTP/1.1\r\nHost: e\r\nContent-Length: 0\r\n\r\n",
    );
    assert!(
        head.starts_with("http/1.1 405 ") && head.contains("allow: get, head"),
        "{head}"
    );
    let (head, body) = ask(&lab, "HEAD /metrics HTTP/1.1\r\nHost: e\r\n\r\n");
    assert!(
        head.starts_with("http/1.1 200 ") && body.is_empty(),
        "{head}"
    );
    assert!(status(&daemon)["services"].is_array());
    for mut client in silent {
        client.set_read_timeout(Some(2 * DEADLINE)).unwrap();
        let mut said = String::new();
        // It is sent away without a word, be it by a reset.
        let _ = client.read_to_string(&mut said);
        assert_eq!(said, "");
    }
}

#[test]
fn a_port_in_use_is_refused_before_anything_is_attached() {
    let lab = lab(1);
    let _taken = lab
        .edge()
        .enter(|| std::net::TcpListener::bind(LISTENER).unwrap());
    let tables = tables(&[1]);
    let daemon = Daemon::prepare(lab.edge(), settings(&tables));
    let run = format!(
        "{} run --config {}",
        program("waggle").display(),
        daemon.config().display()
    );
    let Outcome { status, stderr, .. } = lab.edge().outcome(&run);
    assert_eq!(status, Some(1), "{stderr}");
    let words = [
        "error[port-in-use]: edge.metrics 127.0.0.1:9390 is in use; ",
        "sport = :9390",
    ];
    assert!(words.iter().all(|words| stderr.contains(words)), "{stderr}");
    assert!(!lab.edge().run("ip link show eth0").contains("xdp"));
    assert!(!daemon.control().exists());
}

#[test]
fn a_reload_can_not_move_the_listener() {
    let lab = lab(1);
    let tables = tables(&[1]);
    let daemon = Daemon::start(lab.edge(), settings(&tables));
    daemon.configure(Settings {
        edge: "metrics = \"127.0.0.1:9391\"",
        rest: &tables,
    });
    let said = daemon.waggle(&["reload"]);
    assert_eq!(said.status, Some(1));
    assert!(
        said.stderr
            .starts_with("error[fixed-setting]: edge.metrics can not change"),
        "{said:?}"
    );
    scrape(&lab);
}

#[test]
fn an_interface_with_a_strange_name_is_escaped_in_metrics_and_page() {
    let lab = lab(1);
    lab.edge().run("ip link add <b>\"\\&' type bridge");
    lab.edge().run("ip link set <b>\"\\&' up");
    let tables = tables(&[1]);
    let mut daemon = Daemon::prepare(lab.edge(), settings(&tables));
    let text = fs::read_to_string(daemon.config()).unwrap();
    let text = text.replace("\"eth0\"", "'''<b>\"\\&''''");
    fs::write(daemon.config(), text).unwrap();
    daemon.restart();
    let names = scrape(&lab).values("waggle_edge_info", "interface");
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["<b>\"\\&'"]);
    let (head, page) = get(&lab, "/");
    assert!(head.contains("content-type: text/html"), "{head}");
    assert!(page.contains("on &lt;b&gt;&quot;\\&amp;&#39; ("), "{page}");
    assert!(!page.contains("<b>") && !page.contains("<script"), "{page}");
    for words in ["backend-1", "group web", "203.0.113.10:80"] {
        assert!(page.contains(words), "{page}");
    }
}

#[test]
fn the_heartbeat_is_the_present_time() {
    let lab = lab(1);
    let tables = tables(&[1]);
    let _daemon = Daemon::start(lab.edge(), settings(&tables));
    let heartbeat = |scrape: &Scrape| {
        scrape
            .series("waggle_heartbeat_timestamp_seconds", &[])
            .unwrap()
    };
    let first = heartbeat(&scrape(&lab));
    wait_until(DEADLINE, "a later heartbeat", || {
        heartbeat(&scrape(&lab)) > first + 0.9
    });
    let date: f64 = lab.edge().run("date +%s").trim().parse().unwrap();
    let age = date - heartbeat(&scrape(&lab));
    assert!(age.abs() < Duration::from_secs(60).as_secs_f64(), "{age}");
}
