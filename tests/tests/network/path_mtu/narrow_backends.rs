//! Backends behind a link that takes less than the edge's own.

use super::{tunnels::growth, *};

/// A near client, and a far backend behind a link that takes packets of so many bytes.
fn lab(takes: usize) -> Lab {
    let lab = Lab::new(Topology {
        backends: 0,
        far_backends: 1,
        ..Topology::default()
    });
    narrow(&lab, takes);
    lab
}

/// An upload of the client, which learns meanwhile how much the way takes.
#[track_caller]
fn upload(client: &Host, service: SocketAddr, takes: usize) {
    let mut connection = client
        .enter(|| Connection::open(service, None))
        .expect("a connection");
    let answer = connection.put(MEGABYTE).expect("an answer");
    assert_eq!(answer.status, 200);
    assert_eq!(told_mtu(client, service.ip()), Some(takes));
}

#[test]
fn a_client_is_told_of_the_narrow_link_to_backends_that_its_packets_are_translated_for() {
    let lab = lab(NARROW);
    let _servers = serve(&lab.far_backends);
    let _daemon = start(lab.edge(), TRANSLATED, &lab.far_backends);
    for service in services() {
        upload(lab.client(), service, NARROW);
    }
}

/// Nobody is told of what is lost in a tunnel, but the edge's routes can say how much it takes.
#[test]
fn a_client_is_told_of_the_narrow_link_to_the_end_of_a_tunnel_if_the_edge_s_route_knows_it() {
    // Less would be too little for IPv6 in the largest envelope (RFC 8200, 5).
    const TAKES: usize = 1340;
    let lab = lab(TAKES);
    let _servers = serve(&lab.far_backends);
    let _end = lab.far_backends[0].decapsulate();
    let [v4, v6] = lab.router.as_ref().unwrap().addresses();
    lab.edge().ip(&[
        &format!("route change 192.0.2.0/24 via {v4} mtu {TAKES}"),
        &format!("route change 2001:db8:192::/64 via {v6} mtu {TAKES}"),
    ]);
    for way in TUNNELS {
        let _daemon = start(lab.edge(), way, &lab.far_backends);
        for (i, service) in services().into_iter().enumerate() {
            upload(lab.client(), service, TAKES - growth(way, i));
        }
        forget(&lab.clients);
    }
}
