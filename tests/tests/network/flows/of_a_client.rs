//! The flows of one client with one service, and nobody else's.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    ops::Range,
};

use lb_tests::lab::{Host, Lab, SERVICES, Topology, client::UdpFlow};

use super::{super::rig::detach_line, *};
use crate::network::by_way::{self, DIRECT, FAMILIES, TRANSLATED, TUNNELS, serve, services};

/// State and backend by the client's port.
type Ports = BTreeMap<u16, (&'static str, String)>;

/// What `waggle flows` lists of a client; every flow was seen within the last minute.
#[track_caller]
fn listed(daemon: &Daemon<'_>, client: IpAddr, service: &str, words: &[&str]) -> Ports {
    let client = client.to_string();
    let asked = ["--client", &client, "--service", service];
    let all = flows(daemon, &[&asked[..], words].concat());
    assert_eq!(all["client"], client);
    let [found] = &all["services"].as_array().expect("a list")[..] else {
        panic!("{all:#}");
    };
    let row = |row: &Value| {
        assert!(row["idle_s"].as_u64().expect("a time") < 60, "{row}");
        let states = ["opening", "established", "closing", "datagram"];
        let state = states.into_iter().find(|it| row["state"] == *it);
        let backend = row["backend"].as_str().expect("a name").to_owned();
        let port = row["client_port"].as_u64().expect("a port");
        (port as u16, (state.expect("a state"), backend))
    };
    found["flows"]
        .as_array()
        .expect("a list")
        .iter()
        .map(row)
        .collect()
}

/// Connections from these ports, each with an answer, and what is to be listed of them.
fn connect(client: &Host, service: SocketAddr, ports: Range<u16>) -> (Vec<Connection>, Ports) {
    let open = |port| {
        let mut connection = Connection::open(service, Some(port)).expect("a connection");
        let backend = connection.ask_on("/").expect("an answer").backend;
        (connection, (port, ("established", backend)))
    };
    client.enter(|| ports.map(open).unzip())
}

/// Datagrams from these ports: one from each of the first half, two from the others.
fn ask(client: &Host, service: SocketAddr, ports: Range<u16>) -> Ports {
    let half = ports.start + ports.len() as u16 / 2;
    let ask = |port| {
        let mut flow = UdpFlow::open(service, Some(port)).expect("a flow");
        let backend = flow.ask().expect("an answer");
        if port < half {
            return (port, ("opening", backend));
        }
        assert_eq!(flow.ask().expect("an answer"), backend);
        (port, ("datagram", backend))
    };
    client.enter(|| ports.map(ask).collect())
}

/// With the backends' names as the tables of `family` have them.
fn named(ports: &Ports, family: &str) -> Ports {
    let name =
        |(port, (state, host)): (&u16, &(_, String))| (*port, (*state, format!("{host}-{family}")));
    ports.iter().map(name).collect()
}

fn lab() -> Lab {
    Lab::new(Topology {
        clients: 2,
        ..Topology::default()
    })
}

#[test]
fn they_are_exactly_its_open_ports_in_both_families_and_protocols() {
    let lab = lab();
    let _servers = serve(&lab.backends);
    let _ends: Vec<_> = lab.backends.iter().map(Host::decapsulate).collect();
    let [one, other] = [&lab.clients[0], &lab.clients[1]];
    for (from, way) in (3_000..)
        .step_by(1_000)
        .zip([DIRECT, TRANSLATED, TUNNELS[1]])
    {
        let daemon = by_way::start(lab.edge(), way, &lab.backends);
        for (i, family) in FAMILIES.into_iter().enumerate() {
            let [one_s, other_s] = [one, other].map(|it| it.addresses()[i]);
            let [tcp, udp] = ["tcp", "udp"].map(|it| format!("{it}-{family}"));
            let list = |client, service: &str| listed(&daemon, client, service, &[]);
            let service = services()[i];
            assert_eq!(list(one_s, &tcp), Ports::new());

            // Some ports are both clients', or of both protocols.
            let (mut open, mut expected) = connect(one, service, from..from + 20);
            let (_open, other_expected) = connect(other, service, from + 10..from + 25);
            let datagrams = ask(one, service, from + 15..from + 35);
            let [other_expected, datagrams] =
                [other_expected, datagrams].map(|it| named(&it, family));
            assert_eq!(list(one_s, &tcp), named(&expected, family), "{way:?}");
            assert_eq!(list(other_s, &tcp), other_expected, "{way:?}");
            assert_eq!(list(one_s, &udp), datagrams, "{way:?}");
            assert_eq!(list(other_s, &udp), Ports::new());

            open.drain(..5);
            let closed = expected.values_mut().take(5);
            closed.for_each(|(state, _)| *state = "closing");
            let expected = named(&expected, family);
            wait_until(DEADLINE, "the ends are seen", || {
                list(one_s, &tcp) == expected
            });
            assert_eq!(list(other_s, &tcp), other_expected, "{way:?}");
        }
        assert_eq!(flows(&daemon, &[])["live"], 2 * (20 + 15 + 20));
    }
}

#[test]
fn they_are_listed_by_backend_and_address_and_without_a_daemon() {
    let lab = lab();
    let _servers = serve(&lab.backends);
    let mut daemon = by_way::start(lab.edge(), DIRECT, &lab.backends);
    let (client, service) = (lab.client(), services()[0]);
    let own = client.address().into();
    let (_open, expected) = connect(client, service, 3_000..3_020);
    let datagrams = named(&ask(client, service, 4_000..4_002), "v4");
    let mut expected = named(&expected, "v4");
    for words in [["--backend", "backend-1-v4"], ["--backend", "backend-2-v4"]] {
        let mut part = expected.clone();
        part.retain(|_, (_, backend)| backend == words[1]);
        assert_eq!(listed(&daemon, own, "tcp-v4", &words), part);
    }
    assert_eq!(
        listed(&daemon, own, "tcp-v4", &["--group", "v6"]),
        Ports::new()
    );
    let endpoint = service.to_string();
    let of_udp = listed(&daemon, own, &format!("{endpoint}/udp"), &[]);
    assert_eq!(of_udp, datagrams);
    let client = own.to_string();
    let both = flows(&daemon, &["--client", &client, "--service", &endpoint]);
    assert_eq!(both["services"].as_array().unwrap().len(), 2, "{both:#}");

    daemon.kill9();
    let config = daemon.config();
    let words = ["--config", config.to_str().unwrap()];
    assert_eq!(listed(&daemon, own, "tcp-v4", &words), expected);
    let said = daemon.waggle(
        &[
            &["flows", "--client", &client, "--service", "tcp-v4"],
            &words[..],
        ]
        .concat(),
    );
    let (port, (state, backend)) = expected.pop_first().expect("a flow");
    let line = said
        .stdout
        .lines()
        .find(|line| line.starts_with(&format!("  {port} ")));
    let line = line.unwrap_or_else(|| panic!("{said:?}"));
    assert!(line.contains(state) && line.contains(&backend), "{line}");
}

#[test]
fn what_can_not_be_asked_for_is_refused() {
    let lab = lab();
    let _servers = serve(&lab.backends);
    let daemon = by_way::start(lab.edge(), DIRECT, &lab.backends);
    let [v4, v6] = lab.client().addresses().map(|it| it.to_string());
    let refused = |client: &str, service: &str, code: &str| {
        let said = daemon.waggle(&["flows", "--client", client, "--service", service]);
        let start = format!("error[{code}]: ");
        assert!(
            said.status == Some(1) && said.stderr.starts_with(&start),
            "{said:?}"
        );
    };
    refused(&v4, "none", "no-such-service");
    refused(&v4, &format!("{}:81", SERVICES[0]), "no-such-service");
    refused(&v6, "tcp-v4", "client-of-other-family");
    refused(&v4, "tcp-v6", "client-of-other-family");
    assert!(lab.edge().outcome(&detach_line(&daemon)).ok());
    refused(&v4, "tcp-v4", "no-pinned-tables");
}
