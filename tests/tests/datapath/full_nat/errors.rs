//! ICMP errors about translated packets.

use std::net::IpAddr;

use lb_common::{Address, Verdict};
use lb_tests::datapath::{
    edge::{Edge, Ran, STATION, Settings, XDP_DROP, XDP_PASS},
    packet::{ACK, Packet, set_ip_checksum},
};

use super::{
    super::control::{ROUTER, message, octets},
    CLIENT_STATION, edge, ends, only_port, packet_service, packets, sent, translating,
};

/// The errors that tell of a flow: type and code, number, and how much they quote behind the IP header.
const ERRORS: [[([u8; 2], u32, usize); 5]; 2] = [
    [
        ([3, 4], 1300, 8),
        ([3, 1], 0, 16),
        ([3, 1], 0, 18),
        ([11, 0], 0, 520),
        ([12, 0], 0, 9),
    ],
    [
        ([2, 0], 1300, 8),
        ([1, 0], 0, 16),
        ([1, 0], 0, 18),
        ([3, 0], 0, 1180),
        ([4, 1], 0, 9),
    ],
];

/// An error from `from` to the sender of `packet`, of which it quotes `bytes` behind its IP header.
fn error(from: Address, packet: &Packet, (what, number, bytes): ([u8; 2], u32, usize)) -> Vec<u8> {
    let tuple = packet.tuple();
    let is_v4 = tuple.client.is_v4();
    let whole = packet.clone().flags(ACK).payload(1300).bytes();
    let quote = &whole[14..][..if is_v4 { 20 } else { 40 } + bytes];
    let [from, to] = [from, tuple.client].map(|it| octets(it, is_v4));
    message(&from, &to, what, number, quote)
}

/// The frame as it leaves, one hop further.
fn leaving(mut frame: Vec<u8>, to: [u8; 6]) -> Vec<u8> {
    if frame[12] == 8 {
        frame[22] -= 1;
        set_ip_checksum(&mut frame[14..]);
    } else {
        frame[21] -= 1;
    }
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&STATION);
    frame
}

/// A packet of each family and protocol, with the index of its family and the edge, on which it has a
/// translation to another port.
fn cases() -> impl Iterator<Item = (&'static str, Packet, usize, Edge)> {
    packets().into_iter().map(|(name, packet)| {
        let mut edge = edge(&Settings::default(), &packet);
        let target = edge::target(1);
        edge.set_target(1, translating(target, &packet, 8080));
        edge.run(&packet.bytes());
        let family = usize::from(!packet.tuple().client.is_v4());
        (name, packet, family, edge)
    })
}

fn router(family: usize) -> Address {
    let router: IpAddr = ROUTER[family].parse().expect("an address");
    router.into()
}

#[test]
fn an_error_about_a_packet_to_a_backend_goes_to_its_client_and_quotes_what_that_sent() {
    for (name, packet, family, edge) in cases() {
        let [ours, backend] = ends(&packet);
        let translated = packet
            .clone()
            .from((ours, only_port(&edge)))
            .to((backend, 8080));
        for (i, kind) in ERRORS[family].into_iter().enumerate() {
            for from in [router(family), backend.into()] {
                let expected = error(packet.tuple().service, &packet, kind);
                let expected = sent(leaving(expected, CLIENT_STATION));
                let frame = error(from, &translated, kind);
                assert_eq!(edge.run(&frame), expected, "{name}, {i}");
            }
        }
        assert_eq!(edge.verdict(Verdict::Returned).packets, 10, "{name}");
    }
}

#[test]
fn an_error_about_a_packet_to_a_client_goes_to_its_backend_and_quotes_what_that_sent() {
    for (name, packet, family, edge) in cases() {
        let [ours, backend] = ends(&packet);
        let client = (packet.tuple().client.into(), packet.tuple().ports.client());
        let theirs = packet.clone().from(packet_service(&packet)).to(client);
        let answer = packet
            .clone()
            .from((backend, 8080))
            .to((ours, only_port(&edge)));
        let next_hop = edge::target(1).next_hop;
        let before = edge.translations();
        for (i, kind) in ERRORS[family].into_iter().enumerate() {
            let expected = sent(leaving(error(ours.into(), &answer, kind), next_hop));
            let frame = error(router(family), &theirs, kind);
            assert_eq!(edge.run(&frame), expected, "{name}, {i}");
        }
        assert_eq!(edge.verdict(Verdict::Forwarded).packets, 6, "{name}");
        assert_eq!(edge.translations(), before, "{name}");
    }
}

#[test]
fn errors_that_quote_nothing_of_ours_are_the_host_s_or_dropped() {
    for (name, packet, family, edge) in cases() {
        let [ours, backend] = ends(&packet);
        let port = only_port(&edge);
        let kind = ERRORS[family][0];
        let translated = packet.clone().from((ours, port)).to((backend, 8080));
        let mut other_station = error(router(family), &translated, kind);
        other_station[5] = 7;
        for frame in [
            error(
                router(family),
                &translated.clone().from((ours, port ^ 1)),
                kind,
            ),
            error(router(family), &translated.clone().to((backend, 80)), kind),
            error(router(family), &translated, (kind.0, 0, 7)),
            other_station,
        ] {
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}");
        }
        let client = (
            packet.tuple().client.into(),
            packet.tuple().ports.client() ^ 1,
        );
        let unknown = packet.clone().from(packet_service(&packet)).to(client);
        let frame = error(router(family), &unknown, kind);
        let action = XDP_DROP;
        assert_eq!(edge.run(&frame), Ran { action, frame }, "{name}");
    }
}
