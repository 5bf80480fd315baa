//! The lab's other halves: IPv6, UDP, the far network, tunnels.

use std::{
    io::ErrorKind,
    net::{IpAddr, SocketAddr, UdpSocket},
    os::fd::AsRawFd as _,
    time::Duration,
};

use lb_tests::lab::{
    DEADLINE, Host, Lab, Nginx, SERVICE_V6, SERVICES, ServerProcess, Topology, UdpServer, Wrk,
    client::{self, UdpFlow},
    wait_until,
};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};

const PORT: u16 = 80;

/// It sends packets for the service straight to `backend`, as an edge would.
fn steer(host: &Host, backend: &Host) {
    for (service, backend) in SERVICES.into_iter().zip(backend.addresses()) {
        host.ip(&[&format!("route replace {service} via {backend}")]);
    }
}

/// A UDP datagram in its IP packet.
fn udp_packet(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).expect("a short packet");
    let mut udp = Vec::new();
    for field in [from.port(), to.port(), length, 0] {
        udp.extend(field.to_be_bytes());
    }
    udp.extend(payload);
    let sum = !sum(&[
        &octets(from.ip()),
        &octets(to.ip()),
        &[0, 17],
        &length.to_be_bytes(),
        &udp,
    ]);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    ip_packet(from.ip(), to.ip(), 17, &udp)
}

/// A packet in one of the same family.
fn tunnelled(from: IpAddr, to: IpAddr, inner: &[u8]) -> Vec<u8> {
    ip_packet(from, to, if from.is_ipv4() { 4 } else { 41 }, inner)
}

fn ip_packet(from: IpAddr, to: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("a short packet");
    let mut packet = if from.is_ipv4() {
        let [high, low] = (20 + length).to_be_bytes();
        vec![0x45, 0, high, low, 0x12, 0x34, 0, 0, 64, protocol, 0, 0]
    } else {
        let [high, low] = length.to_be_bytes();
        vec![0x60, 0, 0, 0, high, low, protocol, 64]
    };
    packet.extend(octets(from));
    packet.extend(octets(to));
    if from.is_ipv4() {
        let sum = !sum(&[&packet]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The sum of RFC 1071 over pieces of which each begins a word.
fn sum(pieces: &[&[u8]]) -> u16 {
    let words = pieces.iter().flat_map(|piece| piece.chunks(2));
    let mut sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Sends a packet with an IP header of our own.
#[track_caller]
fn send_raw(host: &Host, to: IpAddr, packet: &[u8]) {
    let family = if to.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let to = SockaddrStorage::from(SocketAddr::new(to, 0));
    let sent = host.enter(|| {
        let raw = socket(
            family,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Raw,
        )?;
        sendto(raw.as_raw_fd(), packet, &to, MsgFlags::empty())
    });
    assert_eq!(sent, Ok(packet.len()));
}

#[test]
fn both_families_reach_the_service_from_both_networks() {
    let lab = Lab::new(Topology {
        far_clients: 1,
        far_backends: 1,
        ..Topology::default()
    });
    let backends = [&lab.backends[0], &lab.far_backends[0]];
    let _web = backends.map(|host| Nginx::start(host, PORT));
    let _udp = backends.map(|host| UdpServer::start(host, host.name(), PORT));
    let backend = backends[0];
    // Far packets for the service come to the router, and go on from there.
    let routers = [lab.client(), lab.router.as_ref().unwrap()];
    for host in routers {
        steer(host, backend);
    }
    for client in [lab.client(), &lab.far_clients[0]] {
        for service in SERVICES {
            let service = SocketAddr::new(service, PORT);
            let name = backend.name();
            assert_eq!(client::fetch(client, service, "/").unwrap().backend, name);
            let tally = client::ask_many(client, service, 20);
            assert_eq!(tally.errors, Vec::<String>::new(), "{service}");
            assert_eq!(tally.answers.get(name), Some(&20));
        }
        for address in backends[1].addresses() {
            let far = SocketAddr::new(address, PORT);
            let answer = client::fetch(client, far, "/").unwrap();
            assert_eq!(answer.backend, "far-backend-1");
        }
    }
}

#[test]
fn nobody_answers_neighbour_discovery_for_the_service_address() {
    let lab = Lab::new(Topology::default());
    let on_link = |address: IpAddr| {
        let client = lab.client();
        client.ip(&[&format!("route replace {address} dev eth0")]);
        let silent = client.outcome(&format!("ping -c 1 -W 2 {address}"));
        let neighbour = client.run(&format!("ip neigh show to {address}"));
        (silent.ok(), neighbour.contains("lladdr"))
    };
    assert_eq!(on_link(SERVICE_V6.into()), (false, false));
    // It would be seen: the backend's own address is answered for.
    let own = lab.backends[0].address_v6().into();
    assert_eq!(on_link(own), (true, true));
}

#[test]
fn a_udp_server_counts_and_its_silence_is_bounded() {
    let lab = Lab::new(Topology::default());
    let host = &lab.backends[0];
    let server = UdpServer::start(host, "one", PORT);
    let client = lab.client();
    for (asked, address) in (1..).zip(host.addresses()) {
        let target = SocketAddr::new(address, PORT);
        // A child of another test may hold the last port a moment longer.
        let port = if address.is_ipv4() { 1_234 } else { 1_235 };
        let mut flow = client.enter(|| UdpFlow::open(target, Some(port))).unwrap();
        assert_eq!(flow.ask().unwrap(), "one");
        assert_eq!(flow.ask().unwrap(), "one");
        wait_until(DEADLINE, "counted answers", || {
            server.answers() == 2 * asked
        });
    }
    drop(server);
    let target = SocketAddr::new(host.addresses()[1], PORT);
    let mut refused = client.enter(|| UdpFlow::open(target, None)).unwrap();
    refused.patience(Duration::from_millis(50)).unwrap();
    // A child of another test may hold the port a moment longer.
    wait_until(DEADLINE, "a refusal", || {
        let error = refused.ask().unwrap_err();
        error.kind() == ErrorKind::ConnectionRefused
    });
    // Nobody forwards packets for the service.
    let target = SocketAddr::new(SERVICE_V6.into(), PORT);
    let mut silent = client.enter(|| UdpFlow::open(target, None)).unwrap();
    silent.patience(Duration::from_millis(50)).unwrap();
    assert_eq!(silent.ask().unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(UdpServer::start(host, "again", PORT));

    let mut process = ServerProcess::start_udp(host, "process", PORT);
    let target = SocketAddr::new(host.addresses()[1], PORT);
    let tally = client::ask_many(client, target, 5);
    assert_eq!(tally.answers.get("process"), Some(&5), "{tally:?}");
    process.kill9();
    assert_eq!(client::ask_many(client, target, 1).errors.len(), 1);
}

#[test]
fn tunnels_end_on_a_far_backend_that_answers_directly() {
    let lab = Lab::new(Topology {
        far_backends: 1,
        ..Topology::default()
    });
    let backend = &lab.far_backends[0];
    let _udp = UdpServer::start(backend, "far", PORT);
    let end = backend.decapsulate();
    let [client, edge] = [lab.client(), lab.edge()];
    for (family, service) in SERVICES.into_iter().enumerate() {
        let from = SocketAddr::new(client.addresses()[family], 3_000);
        let inner = udp_packet(from, SocketAddr::new(service, PORT), b"1");
        let [source, target] = [edge.addresses()[family], backend.addresses()[family]];
        let outer = tunnelled(source, target, &inner);

        let socket = client.enter(|| UdpSocket::bind(from)).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        send_raw(edge, target, &outer);
        let mut buffer = [0; 32];
        let (length, answering) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"far 1");
        assert_eq!(answering, SocketAddr::new(service, PORT));
        assert_eq!(end.packets()[family][family], 1);

        // Neither a tunnel that leads elsewhere nor any other packet is taken apart.
        let elsewhere = lab.backends[0].addresses()[family];
        send_raw(edge, elsewhere, &tunnelled(source, elsewhere, &inner));
        let mut plain = client
            .enter(|| UdpFlow::open((target, PORT), None))
            .unwrap();
        assert_eq!(plain.ask().unwrap(), "far");
        assert_eq!(end.packets()[family][family], 1);
    }
    drop(end);
    let port = backend.run("ip link show eth0");
    assert!(!port.contains("xdp"), "{port}");
}

#[test]
fn wrk_loads_over_ipv6_and_a_server_process_speaks_it() {
    let lab = Lab::new(Topology::default());
    let backend = &lab.backends[0];
    steer(lab.client(), backend);
    let _nginx = Nginx::start(backend, PORT);
    let url = format!("http://[{SERVICE_V6}]/");
    let load = Wrk::start(lab.client(), &url, 4, Duration::from_secs(1), true).finish();
    assert_eq!(load.failed, 0, "{load:?}");
    assert!(load.requests > 100, "{load:?}");
    let _server = ServerProcess::start(backend, "process", 81);
    let service = SocketAddr::new(SERVICE_V6.into(), 81);
    let answer = client::fetch(lab.client(), service, "/").unwrap();
    assert_eq!(answer.backend, "process");
    let tally = client::connect_many(lab.client(), service, 50);
    assert_eq!(tally.answers.get("process"), Some(&50), "{tally:?}");
}
