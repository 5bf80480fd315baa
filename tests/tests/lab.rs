//! The lab itself: what the other network tests stand on.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    panic::{self, AssertUnwindSafe},
    thread,
    time::Duration,
};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, Lab, Nginx, SERVICE, ServerProcess, Settings, Topology, WebServer, Wrk,
    client::{self, Connection},
    program, wait_until,
};

const PORT: u16 = 80;

fn at(host: &Host) -> SocketAddrV4 {
    SocketAddrV4::new(host.address(), PORT)
}

/// The client sends packets for the service straight to `backend`, as an edge would.
fn steer(lab: &Lab, backend: &Host) {
    let route = format!("route replace {SERVICE} via {}", backend.address());
    lab.client().ip(&[&route]);
}

#[test]
fn hosts_reach_each_other_in_two_labs_at_once() {
    let visit = |name: &str| {
        let lab = Lab::new(Topology::default());
        let _web = WebServer::start(&lab.backends[0], name, PORT);
        lab.client().run("ping -c 1 -W 5 198.51.100.1");
        lab.edge().run("ping -c 1 -W 5 198.51.100.102");
        assert_eq!(lab.client().run("curl -s http://198.51.100.101/"), name);
    };
    thread::scope(|scope| {
        for name in ["one", "two"] {
            scope.spawn(move || (0..2).for_each(|_| visit(name)));
        }
    });
}

#[test]
fn everything_is_gone_after_a_panic() {
    let mut traces: Vec<String> = Vec::new();
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        let lab = Lab::new(Topology::default());
        let nginx = Nginx::start(&lab.backends[0], PORT);
        let _process = ServerProcess::start(&lab.backends[1], "two", PORT);
        for host in [lab.client(), lab.edge(), &lab.backends[0], &lab.backends[1]] {
            traces.push(host.path().display().to_string());
            traces.extend(host.processes().iter().map(|pid| format!("/proc/{pid}")));
        }
        traces.push(lab.switch.path().display().to_string());
        traces.push(nginx.directory().display().to_string());
        for trace in &traces {
            assert!(fs::exists(trace).unwrap(), "{trace}");
        }
        panic!("as a failing test does");
    }));
    let said = result.unwrap_err();
    assert_eq!(said.downcast_ref(), Some(&"as a failing test does"));
    // Five namespaces, a directory, nginx with its worker, and the server.
    assert!(traces.len() >= 9, "{traces:?}");
    for trace in traces {
        wait_until(DEADLINE, &format!("the end of {trace}"), || {
            !fs::exists(&trace).unwrap()
        });
    }
}

#[test]
fn only_backends_answer_for_the_service_address_and_only_directly() {
    let lab = Lab::new(Topology::default());
    let _web = [0, 1].map(|i| WebServer::start(&lab.backends[i], lab.backends[i].name(), PORT));
    let service = SocketAddrV4::new(SERVICE, PORT);

    for backend in &lab.backends {
        steer(&lab, backend);
        let answer = client::fetch(lab.client(), service, "/").unwrap();
        assert_eq!(answer.backend, backend.name());
    }
    // On the link itself nobody claims it.
    lab.client()
        .ip(&[&format!("route replace {SERVICE} dev eth0")]);
    let silent = lab.client().outcome(&format!("ping -c 1 -W 1 {SERVICE}"));
    assert_eq!(silent.status, Some(1), "{silent:?}");
    // And the edge forwards nothing by itself.
    lab.client().ip(&[&format!(
        "route replace {SERVICE} via {}",
        lab.edge().address()
    )]);
    let silent = lab.client().outcome(&format!("ping -c 1 -W 1 {SERVICE}"));
    assert_eq!(silent.status, Some(1), "{silent:?}");
}

#[test]
fn the_edge_s_peer_has_a_native_program() {
    let lab = Lab::new(Topology::default());
    let port = lab.switch.run("ip -details link show edge-1");
    assert!(
        port.contains(" xdp ") && port.contains("prog/xdp"),
        "{port}"
    );
}

#[test]
fn the_web_server_says_who_it_is_and_counts() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let web = WebServer::start(host, "one", PORT);

    let answer = client::fetch(lab.client(), at(host), "/x?y=z").unwrap();
    assert_eq!(
        (answer.status, &*answer.backend, answer.length),
        (200, "one", 3)
    );
    let head = lab.client().run("curl -s -I http://198.51.100.101/healthz");
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && head.contains("X-Backend: one"),
        "{head}"
    );
    assert_eq!(
        (
            web.requests("/x"),
            web.requests("/healthz"),
            web.requests("/")
        ),
        (1, 1, 0)
    );

    web.fail(true);
    assert_eq!(
        client::fetch(lab.client(), at(host), "/").unwrap().status,
        500
    );
    web.fail(false);
    assert_eq!(
        client::fetch(lab.client(), at(host), "/").unwrap().status,
        200
    );

    let mut kept = host.enter(|| Connection::open(at(host), None)).unwrap();
    assert_eq!(kept.ask_on("/").unwrap(), kept.ask_on("/").unwrap());
    drop(web);
    kept.ask_on("/").unwrap_err();
    let refused = client::fetch(lab.client(), at(host), "/").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let _again = WebServer::start(host, "again", PORT);
}

#[test]
fn what_is_put_is_compared() {
    const LENGTH: u64 = 1 << 20;
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let _web = WebServer::start(host, "one", PORT);
    let mut kept = lab
        .client()
        .enter(|| Connection::open(at(host), None))
        .unwrap();
    for _ in 0..2 {
        assert_eq!(kept.put(LENGTH).unwrap().status, 200);
    }
    assert_eq!(kept.ask_on("/").unwrap().backend, "one");
    let put = "curl -s -X PUT -o /dev/null -w %{http_code} http://198.51.100.101/ -d";
    assert_eq!(lab.client().run(&format!("{put} other")), "400");
}

#[test]
fn a_long_download_waits_for_its_reader_and_is_compared() {
    const LENGTH: u64 = 32 << 20;
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let web = WebServer::start(host, "one", PORT);
    let mut download = lab
        .client()
        .enter(|| Connection::open(at(host), None))
        .unwrap();
    assert_eq!(download.begin(LENGTH).unwrap().length, LENGTH);
    download.read(1 << 20).unwrap();
    assert!(web.is_busy(), "all of it fits into buffers");
    download.finish().unwrap();
    wait_until(DEADLINE, "the end of the download", || !web.is_busy());
}

#[test]
fn many_connections_come_from_ports_of_their_own() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let web = WebServer::start(host, "one", PORT);
    let tally = client::connect_many(lab.client(), at(host), 500);
    assert_eq!(tally.errors, Vec::<String>::new());
    assert_eq!(tally.answers.get("one"), Some(&500));
    assert_eq!(web.requests("/"), 500);
    assert!((tally.share("one") - 1.0).abs() < f64::EPSILON);

    drop(web);
    let tally = client::connect_many(lab.client(), at(host), 3);
    assert_eq!((tally.answers.len(), tally.errors.len()), (0, 3));
}

#[test]
fn a_source_port_can_be_chosen_and_used_again() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let _web = WebServer::start(host, "one", PORT);
    for _ in 0..2 {
        let connection = lab
            .client()
            .enter(|| Connection::open(at(host), Some(1_234)));
        let connection = connection.unwrap();
        assert_eq!(connection.port().unwrap(), 1_234);
        connection.reset().unwrap();
    }
}

#[test]
fn a_killed_server_is_gone_and_a_frozen_one_is_silent() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let mut server = ServerProcess::start(host, "one", PORT);
    server.freeze();
    let mut connection = host.enter(|| Connection::open(at(host), None)).unwrap();
    connection.patience(Duration::from_millis(200)).unwrap();
    connection.ask_on("/").unwrap_err();
    server.thaw();
    assert_eq!(client::fetch(host, at(host), "/").unwrap().backend, "one");
    server.kill9();
    client::fetch(host, at(host), "/").unwrap_err();
}

#[test]
fn wrk_counts_requests_and_failures_on_a_real_nginx() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let mut nginx = Nginx::start(host, PORT);
    let second = Duration::from_secs(1);
    for new_connections in [false, true] {
        let load = Wrk::start(
            lab.client(),
            "http://198.51.100.101/",
            4,
            second,
            new_connections,
        );
        let load = load.finish();
        assert_eq!(load.failed, 0, "{load:?}");
        assert!(load.requests > 100, "{load:?}");
    }

    let load = Wrk::start(lab.client(), "http://198.51.100.101/", 4, 2 * second, true);
    wait_until(DEADLINE, "a connection of wrk", || {
        !host.run("ss -Htn src 198.51.100.101").is_empty()
    });
    nginx.stop();
    assert!(load.finish().failed > 0);
    nginx.restart();
    assert_eq!(
        client::fetch(host, at(host), "/").unwrap().backend,
        "backend-1"
    );
}

#[test]
fn work_in_a_namespace_is_there_and_its_panics_come_back() {
    let lab = Lab::new(Topology::default());
    let local = (Ipv4Addr::LOCALHOST, PORT);
    let _web = WebServer::start(lab.edge(), "edge", PORT);
    assert!(lab.edge().enter(|| TcpStream::connect(local)).is_ok());
    assert!(lab.client().enter(|| TcpStream::connect(local)).is_err());
    let inside = || lab.client().enter(|| panic!("inside"));
    let said = panic::catch_unwind(AssertUnwindSafe(inside)).unwrap_err();
    assert_eq!(said.downcast_ref(), Some(&"inside"));
}

#[test]
fn a_daemon_s_files_and_mount_are_gone_with_it() {
    let lab = Lab::new(Topology::default());
    let mounted = |path: &str| {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        mounts
            .lines()
            .any(|line| line.split(' ').nth(1) == Some(path))
    };
    let daemon = Daemon::prepare(
        lab.edge(),
        Settings {
            edge: "xdp_mode = \"native\"",
            rest: "[[service]]",
        },
    );
    let config = fs::read_to_string(daemon.config()).unwrap();
    assert!(config.starts_with("[edge]\nname = \"edge-1\"\ninterfaces = [\"eth0\"]\n"));
    assert!(
        config.ends_with("xdp_mode = \"native\"\n[[service]]"),
        "{config}"
    );
    let directory = daemon.config().parent().unwrap().to_owned();
    let bpffs = directory.join("bpf").display().to_string();
    assert!(mounted(&bpffs));
    drop(daemon);
    assert!(!mounted(&bpffs));
    assert!(!fs::exists(directory).unwrap());
}

#[test]
fn a_daemon_that_ends_at_once_is_no_daemon() {
    let lab = Lab::new(Topology::default());
    let settings = Settings {
        edge: "",
        rest: "no TOML",
    };
    let start = || drop(Daemon::start(lab.edge(), settings));
    let said = panic::catch_unwind(AssertUnwindSafe(start)).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert!(said.starts_with("the daemon ended:\n"), "{said}");
}

#[test]
fn a_program_that_is_not_built_is_missed_with_the_mend() {
    let said = panic::catch_unwind(|| program("no-such-program")).unwrap_err();
    assert_eq!(
        said.downcast_ref::<String>().unwrap(),
        "no-such-program is not built: run `cargo build --workspace`"
    );
}
