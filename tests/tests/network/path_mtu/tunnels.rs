//! Packets that are too large once they are in a tunnel.

use super::*;

/// The family of the outer header around packets of a family.
fn outer((_, is_mixed): Way, family: usize) -> usize {
    family ^ usize::from(is_mixed)
}

/// Bytes of the headers around packets of a family.
pub(super) fn growth(way: Way, family: usize) -> usize {
    HEADER[outer(way, family)] + if way.0 == "gue" { 12 } else { 0 }
}

/// Near and far clients, and a far backend at the end of tunnels.
fn lab() -> Lab {
    Lab::new(Topology {
        backends: 0,
        far_clients: 1,
        far_backends: 1,
        ..Topology::default()
    })
}

#[test]
fn an_upload_through_a_tunnel_comes_through_in_smaller_packets() {
    let lab = lab();
    let _servers = serve(&lab.far_backends);
    let end = lab.far_backends[0].decapsulate();
    let clients = [lab.client(), &lab.far_clients[0]];
    for way in TUNNELS {
        let daemon = start(lab.edge(), way, &lab.far_backends);
        for client in clients {
            for (i, service) in services().into_iter().enumerate() {
                let outer = outer(way, i);
                let packets = || end.packets()[outer][i] + end.datagrams()[outer][i];
                let before = (verdict(&daemon, "too_big"), packets());
                let mut connection = client.enter(|| Connection::open(service, None)).unwrap();
                assert_eq!(connection.put(MEGABYTE).unwrap().status, 200);
                assert!(verdict(&daemon, "too_big") > before.0);
                let told = told_mtu(client, service.ip());
                assert_eq!(told, Some(1500 - growth(way, i)), "{way:?}");
                assert!(packets() - before.1 > MEGABYTE / 1500, "{way:?}");
            }
        }
        forget(clients);
    }
}

#[test]
fn the_sender_of_a_datagram_that_is_too_big_for_a_tunnel_gets_emsgsize() {
    let lab = lab();
    let _servers = serve(&lab.far_backends);
    let _end = lab.far_backends[0].decapsulate();
    let clients = [lab.client(), &lab.far_clients[0]];
    for way in TUNNELS {
        let daemon = start(lab.edge(), way, &lab.far_backends);
        for (client, i) in clients.into_iter().flat_map(|it| [(it, 0), (it, 1)]) {
            let (service, own) = (services()[i], client.addresses()[i]);
            let growth = growth(way, i);
            let socket = client.enter(|| UdpSocket::bind((own, 0))).unwrap();
            socket.connect(service).unwrap();
            socket.set_read_timeout(Some(DEADLINE)).unwrap();
            never_fragment(&socket, service).unwrap();
            let is_too_big =
                |error: io::Error| error.raw_os_error() == Some(Errno::EMSGSIZE as i32);
            let too_big = verdict(&daemon, "too_big");
            let datagram = [b'1'; 1500];
            let largest = 1500 - HEADER[i] - 8;

            assert_eq!(largest_packet(&socket, service), Ok(1500));
            socket.send(&datagram[..largest]).unwrap();
            assert!(is_too_big(socket.recv(&mut [0; 2048]).unwrap_err()));
            let told = largest_packet(&socket, service);
            assert_eq!(told, Ok(1500 - growth as i32), "{way:?}");
            assert_eq!(verdict(&daemon, "too_big"), too_big + 1);

            let one_more = socket.send(&datagram[..=largest - growth]);
            assert!(is_too_big(one_more.unwrap_err()));
            socket.send(&datagram[..largest - growth]).unwrap();
            let answered = socket.recv(&mut [0; 2048]).unwrap();
            assert_eq!(answered, "far-backend-1 ".len() + largest - growth);
            assert_eq!(verdict(&daemon, "too_big"), too_big + 1);
        }
        forget(clients);
    }
}
