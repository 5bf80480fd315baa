//! Packets that are larger than their way takes, or have no hop left: real kernels are told, and heed it.
//! And a ping of the service.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, INTERFACE, Lab, SERVICES, Settings, Topology,
    client::{Connection, UdpFlow, connect_many},
    wait_until,
};
use nix::{
    errno::Errno,
    sys::socket::SockType,
    unistd::{read, write},
};

use super::{
    by_way::{
        DIRECT, FAMILIES, TRANSLATED, TUNNELS, Way, all_ways, serve, services, start, tables,
        wait_up,
    },
    errors::{Told, largest_packet, never_fragment, probe, wait_told},
    rig::{status, verdict},
};

mod narrow_backends;
mod tunnels;

/// Bytes of an IP header of each family.
const HEADER: [usize; 2] = [20, 40];

/// What the router's link to the far network takes.
const NARROW: usize = 1300;

const MEGABYTE: u64 = 1_000_000;

/// Far clients behind a link that takes less than their own interfaces and everything else.
fn narrow_lab(edges: u8) -> Lab {
    let lab = Lab::new(Topology {
        edges,
        far_clients: 1,
        ..Topology::default()
    });
    narrow(&lab, NARROW);
    lab
}

/// Has the router's link to the far network take only packets of so many bytes.
fn narrow(lab: &Lab, takes: usize) {
    let router = lab.router.as_ref().expect("one is far");
    router.ip(&[&format!("link set eth1 mtu {takes}")]);
}

/// Has hosts forget what they were told of ways.
fn forget<'lab>(hosts: impl IntoIterator<Item = &'lab Host>) {
    for host in hosts {
        for family in ["-4", "-6"] {
            host.run(&format!("ip {family} route flush cache"));
        }
    }
}

/// Whom backends send their answers to a far client to: the edge, which is told for all of its clients,
/// if packets are translated.
fn peers(lab: &Lab, way: Way) -> [IpAddr; 2] {
    match way {
        TRANSLATED => lab.edge().addresses(),
        _ => lab.far_clients[0].addresses(),
    }
}

/// What `host` was told of the way to `to`: bytes of the largest packet.
fn told_mtu(host: &Host, to: IpAddr) -> Option<usize> {
    let route = host.run(&format!("ip route get {to}"));
    let mut words = route.split_whitespace().skip_while(|word| *word != "mtu");
    words.nth(1).and_then(|mtu| mtu.parse().ok())
}

/// A connection that `backend` serves.
#[track_caller]
fn connection_on(client: &Host, service: SocketAddr, backend: &Host) -> Connection {
    let open = || {
        let mut connection = Connection::open(service, None).expect("a connection");
        let answer = connection.ask_on("/").expect("an answer");
        (answer.backend == backend.name()).then_some(connection)
    };
    client
        .enter(|| (0..100).find_map(|_| open()))
        .unwrap_or_else(|| panic!("none of 100 is on {}", backend.name()))
}

#[test]
fn case_7_clients_behind_a_narrow_link_are_served_by_every_backend_in_every_way() {
    let lab = narrow_lab(1);
    let _servers = serve(&lab.backends);
    let _ends: Vec<_> = lab.backends.iter().map(Host::decapsulate).collect();
    for way in all_ways() {
        let daemon = start(lab.edge(), way, &lab.backends);
        for (service, peer) in services().into_iter().zip(peers(&lab, way)) {
            for backend in &lab.backends {
                let mut connection = connection_on(&lab.far_clients[0], service, backend);
                assert_eq!(told_mtu(backend, peer), None);
                connection.begin(MEGABYTE).unwrap();
                connection.finish().unwrap();
                // It can only be told by way of the edge, to which the router sends what is for the service.
                assert_eq!(told_mtu(backend, peer), Some(NARROW), "{way:?}");
            }
        }
        assert_eq!(verdict(&daemon, "reply_silent"), 0);
        forget(&lab.backends);
    }
}

#[test]
fn case_7_an_error_follows_its_flow_to_the_backend_that_gets_no_new_ones() {
    let lab = narrow_lab(1);
    let _servers = serve(&lab.backends);
    let daemon = start(lab.edge(), DIRECT, &lab.backends);
    let client = &lab.far_clients[0];
    let [drained, other] = [0, 1].map(|i| &lab.backends[i]);
    let open: Vec<_> = services()
        .map(|it| connection_on(client, it, drained))
        .into();
    for (service, family) in services().into_iter().zip(FAMILIES) {
        let name = format!("{}-{family}", drained.name());
        assert!(daemon.waggle(&["backend", "drain", &name]).ok());
        wait_until(DEADLINE, "new flows go to the other", || {
            connect_many(client, service, 20).share(other.name()) == 1.0
        });
    }
    for (mut connection, own) in open.into_iter().zip(client.addresses()) {
        connection.begin(MEGABYTE).unwrap();
        connection.finish().unwrap();
        assert_eq!(told_mtu(drained, own), Some(NARROW));
        assert_eq!(told_mtu(other, own), None);
    }
}

/// Without the second edge's program the errors are lost, and everything larger with them.
#[test]
fn case_7_an_edge_that_does_not_know_a_flow_sends_its_errors_to_the_same_backend() {
    let lab = narrow_lab(2);
    let _servers = serve(&lab.backends);
    let _first = start(lab.edge(), DIRECT, &lab.backends);
    let (client, router) = (&lab.far_clients[0], lab.router.as_ref().unwrap());
    let second = &lab.edges[1];
    // What the router itself has to say to the service.
    let [v4, v6] = second.addresses();
    router.run("ip -4 rule add iif lo table 100");
    router.run("ip -6 rule add iif lo table 100");
    router.ip(&[
        &format!("route add 203.0.113.0/24 via {v4} table 100"),
        &format!("route add 2001:db8:203::/64 via {v6} table 100"),
    ]);
    let mut stalled = Vec::new();
    for (service, own) in services().into_iter().zip(client.addresses()) {
        for backend in &lab.backends {
            let mut connection = connection_on(client, service, backend);
            connection.begin(MEGABYTE).unwrap();
            connection.patience(Duration::from_millis(200)).unwrap();
            let silence = connection.read(1).unwrap_err();
            assert_eq!(silence.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(told_mtu(backend, own), None);
            connection.patience(DEADLINE).unwrap();
            stalled.push((connection, backend, own));
        }
    }

    let second = start(second, DIRECT, &lab.backends);
    for (connection, backend, own) in stalled {
        connection.finish().unwrap();
        assert_eq!(told_mtu(backend, own), Some(NARROW));
    }
    assert!(verdict(&second, "forwarded") >= 4);
    assert_eq!(status(&second)["edge"]["flows"], 0);
}

#[test]
fn case_7_a_server_of_datagrams_is_told_of_the_narrow_link_in_every_way() {
    let lab = narrow_lab(1);
    let _servers = serve(&lab.backends);
    let _ends: Vec<_> = lab.backends.iter().map(Host::decapsulate).collect();
    let client = &lab.far_clients[0];
    // The link takes no more in the other direction, and here the client knows that.
    client.ip(&[&format!("link set {INTERFACE} mtu {NARROW}")]);
    for way in all_ways() {
        let _daemon = start(lab.edge(), way, &lab.backends);
        for (i, service) in services().into_iter().enumerate() {
            let mut flow = client.enter(|| UdpFlow::open(service, None)).unwrap();
            let name = flow.ask().unwrap();
            let backend = lab.backends.iter().find(|it| it.name() == name).unwrap();
            // The answer has the server's name in front.
            let largest = NARROW - HEADER[i] - 8;
            flow.patience(Duration::from_millis(50)).unwrap();
            let silence = flow.ask_long(largest).unwrap_err();
            assert_eq!(silence.kind(), io::ErrorKind::WouldBlock, "{way:?}");
            wait_until(DEADLINE, "the backend is told", || {
                told_mtu(backend, peers(&lab, way)[i]) == Some(NARROW)
            });
            flow.patience(DEADLINE).unwrap();
            for bytes in [largest, 3000] {
                assert_eq!(flow.ask_long(bytes).unwrap(), name, "{way:?}");
            }
        }
        forget(&lab.backends);
    }
}

#[test]
fn a_ping_of_the_service_is_answered_unless_the_file_says_otherwise() {
    let lab = Lab::new(Topology {
        far_clients: 1,
        ..Topology::default()
    });
    let _servers = serve(&lab.backends);
    let rest = &tables(DIRECT, &lab.backends);
    let clients = [lab.client(), &lab.far_clients[0]];
    let daemon = Daemon::start(lab.edge(), Settings { edge: "", rest });
    wait_up(&daemon, 4);
    for (count, (client, address)) in (1..).zip(
        clients
            .into_iter()
            .flat_map(|it| SERVICES.map(|to| (it, to))),
    ) {
        let said = client.outcome(&format!("ping -c 3 -i 0.1 -W 10 -s 1400 {address}"));
        assert!(said.stdout.contains(" 3 received"), "{said:?}");
        assert_eq!(verdict(&daemon, "echo_answered"), 3 * count);
    }
    drop(daemon);

    let edge = "answer_echo = false";
    let daemon = Daemon::start(lab.edge(), Settings { edge, rest });
    wait_up(&daemon, 4);
    for (client, address) in clients
        .into_iter()
        .flat_map(|it| SERVICES.map(|to| (it, to)))
    {
        let said = client.outcome(&format!("ping -c 1 -W 0.3 {address}"));
        assert_eq!(said.status, Some(1), "{said:?}");
    }
    assert_eq!(verdict(&daemon, "echo_answered"), 0);
}

#[test]
fn the_service_is_a_hop_of_the_way_to_its_backends() {
    let lab = Lab::new(Topology {
        far_clients: 1,
        ..Topology::default()
    });
    let _servers = serve(&lab.backends);
    let daemon = start(lab.edge(), DIRECT, &lab.backends);
    let (near, far) = (lab.client(), &lab.far_clients[0]);
    let expired = [[11, 0], [3, 0]];
    let routers: [IpAddr; 2] = ["192.0.2.254", "2001:db8:192::254"].map(|it| it.parse().unwrap());
    for (i, service) in services().into_iter().enumerate() {
        for kind in [SockType::Datagram, SockType::Stream] {
            for (client, hops, by) in [
                (near, 1, SERVICES[i]),
                (far, 1, routers[i]),
                (far, 2, SERVICES[i]),
            ] {
                let before = verdict(&daemon, "ttl_expired");
                let socket = probe(client, kind, service, hops).unwrap();
                if kind == SockType::Datagram {
                    write(&socket, b"1").unwrap();
                }
                let told = Told {
                    errno: Errno::EHOSTUNREACH,
                    kind: expired[i],
                    by,
                };
                assert_eq!(wait_told(&socket), told);
                let counted = verdict(&daemon, "ttl_expired") > before;
                assert_eq!(counted, by == SERVICES[i]);
            }
        }
        let enough = probe(near, SockType::Datagram, service, 2).unwrap();
        write(&enough, b"1").unwrap();
        wait_until(DEADLINE, "a backend's answer", || {
            read(&enough, &mut [0; 32]).is_ok()
        });
    }
}
