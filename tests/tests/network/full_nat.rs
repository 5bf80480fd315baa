//! Backends that need nothing: they know neither the service's address nor its clients.

use std::{net::SocketAddrV4, time::Duration};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, Lab, Nginx, SERVICE, Settings, Topology, Wrk,
    client::{Connection, connect_many},
    wait_until,
};

use super::rig::{WEB, status, verdict, wait_health};

/// Longer than any test: the load is ended when the test has seen enough.
const LONG: Duration = Duration::from_secs(120);

/// Where the backends listen.
const PORT: u16 = 8080;

/// Two backends of [`WEB`], one of them behind a router, without the service's address.
fn lab() -> Lab {
    let lab = Lab::new(Topology {
        backends: 1,
        far_backends: 1,
        ..Topology::default()
    });
    for host in hosts(&lab) {
        host.ip(&[&format!("address del {SERVICE}/32 dev lo")]);
    }
    lab
}

fn hosts(lab: &Lab) -> [&Host; 2] {
    [&lab.backends[0], &lab.far_backends[0]]
}

fn start<'lab>(lab: &'lab Lab, edge: &str) -> Daemon<'lab> {
    let mut text = String::new();
    for host in hosts(lab) {
        let (name, address) = (host.name(), host.address());
        text += &format!(
            "[[backend]]\nname = \"{name}\"\naddress = \"{address}\"\n\
             forward = \"full-nat\"\nport = {PORT}\n"
        );
    }
    let [near, far] = hosts(lab).map(Host::name);
    text += &format!(
        "[[group]]\nname = \"web\"\nlatency_window = \"500ms\"\n\
         member = [{{ backend = \"{near}\" }}, {{ backend = \"{far}\" }}]\n\
         probe = {{ kind = \"http\", interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n\
         [[service]]\nname = \"web\"\naddress = \"{SERVICE}\"\nprotocol = \"tcp\"\nport = 80\ngroup = \"web\"\n"
    );
    Daemon::start(lab.edge(), Settings { edge, rest: &text })
}

fn wait_up(lab: &Lab, daemon: &Daemon<'_>) {
    wait_health(daemon, &hosts(lab).map(|host| (host.name(), "up")));
}

/// The peers of the connections to a port of a host.
fn peers(host: &Host) -> Vec<SocketAddrV4> {
    let shown = host.run(&format!("ss -Htn4 state established sport = :{PORT}"));
    let peers = shown
        .lines()
        .filter_map(|line| line.split_whitespace().nth(3));
    peers
        .map(|peer| peer.parse().expect("an address"))
        .collect()
}

#[test]
fn backends_that_know_nothing_serve_on_another_port_also_while_the_daemon_is_killed() {
    let lab = lab();
    let _servers = hosts(&lab).map(|host| Nginx::start(host, PORT));
    let mut daemon = start(&lab, "");
    wait_up(&lab, &daemon);
    let share = connect_many(lab.client(), WEB, 1000).share(hosts(&lab)[0].name());
    assert!((share - 0.5).abs() < 0.06, "{share}");

    let url = "http://203.0.113.10/";
    let many = Wrk::start(lab.client(), url, 8, LONG, true);
    let long = Wrk::start(lab.client(), url, 8, LONG, false);
    for _ in 0..2 {
        daemon.kill9();
        let tally = connect_many(lab.client(), WEB, 300);
        assert!(tally.errors.is_empty(), "{:?}", tally.errors);
        daemon.restart();
        wait_up(&lab, &daemon);
    }
    for load in [many.end(), long.end()] {
        assert!(load.requests > 100 && load.failed == 0, "{load:?}");
    }
    assert_eq!(verdict(&daemon, "untranslated"), 0);
    assert!(verdict(&daemon, "returned") > 1000);
    let edge = &status(&daemon)["edge"];
    let live = edge["translations"].as_u64().expect("a number");
    assert!((300..=65_536).contains(&live), "{edge:#}");
    assert_eq!(edge["nat_entries"], 65_536);
    let text = daemon.waggle(&["status"]).stdout;
    assert!(text.contains(" of 65536 translations live\n"), "{text}");
}

#[test]
fn a_drained_backend_keeps_its_connections_and_gets_no_others() {
    let lab = lab();
    let _servers = hosts(&lab).map(|host| Nginx::start(host, PORT));
    let daemon = start(&lab, "");
    wait_up(&lab, &daemon);
    let [near, far] = hosts(&lab).map(Host::name);
    let open = || {
        let mut connection = Connection::open(WEB, None).expect("a connection");
        let answer = connection.ask_on("/").expect("an answer");
        (answer.backend == far).then_some(connection)
    };
    let found = lab.client().enter(|| (0..100).find_map(|_| open()));
    let mut connection = found.expect("one of 100 is on the far backend");
    assert!(daemon.waggle(&["backend", "drain", far]).ok());
    wait_until(DEADLINE, "new ones go to the other", || {
        connect_many(lab.client(), WEB, 20).share(near) == 1.0
    });
    assert_eq!(connection.ask_on("/").expect("an answer").backend, far);
}

#[test]
fn connections_come_from_the_address_and_the_ports_that_are_set_for_them() {
    let lab = lab();
    let _servers = hosts(&lab).map(|host| Nginx::start(host, PORT));
    lab.edge().ip(&["address add 198.51.100.77/24 dev eth0"]);
    let edge = "nat_source = [\"198.51.100.77\"]\nnat_ports = \"2000-2999\"";
    let daemon = start(&lab, edge);
    wait_up(&lab, &daemon);
    let _open: Vec<_> = lab.client().enter(|| {
        let open = |_| {
            let mut connection = Connection::open(WEB, None).expect("a connection");
            connection.ask_on("/").expect("an answer");
            connection
        };
        (0..20).map(open).collect()
    });
    let mut seen = 0;
    for peer in hosts(&lab).into_iter().flat_map(peers) {
        if peer.ip().octets() == [198, 51, 100, 77] {
            assert!((2000..3000).contains(&peer.port()), "{peer}");
            seen += 1;
        }
    }
    assert_eq!(seen, 20);
}

#[test]
fn ports_that_the_edge_itself_may_use_are_warned_of_until_they_are_reserved() {
    let lab = lab();
    lab.edge()
        .sysctl(&[("ipv4/ip_local_port_range", "32768 60999")]);
    let daemon = start(&lab, "nat_ports = \"60000-60999\"");
    let warned = || {
        let text = daemon.waggle(&["status"]).stdout;
        let warnings = status(&daemon)["warnings"]
            .as_array()
            .expect("a list")
            .len();
        assert_eq!(
            text.contains("WARNING edge.nat_ports: "),
            warnings == 1,
            "{text}"
        );
        warnings == 1
    };
    assert!(warned());
    lab.edge()
        .sysctl(&[("ipv4/ip_local_reserved_ports", "60000-60999")]);
    assert!(!warned());
}
