//! Answers in the place of a target: for all of a class, or for a part of a ring.

use lb_common::{Answer, Counter, Descriptor, VERDICTS, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, Ran, STATION, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{ACK, CLIENT, CLIENT_V6, FIN, Packet, RST, SYN, data, syn, syn_v6},
    stay_on_one_cpu,
};

/// An edge whose service, the one that `packet` is addressed to, rejects.
fn rejecting(settings: &Settings, packet: &Packet) -> Edge {
    let mut edge = Edge::serving(settings, packet);
    edge.set("RINGS", WEB.row.first(), Descriptor::REJECT);
    edge
}

/// The sum of RFC 1071 over these parts, each of an even length but the last; all ones if a checksum
/// among them is right.
pub(crate) fn sum(parts: &[&[u8]]) -> u64 {
    let words = parts.concat();
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u64 = words.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// What came back: protocol and payload of its IP packet, which is checked as a whole.
fn back(sent: &[u8], ran: &Ran) -> (u8, Vec<u8>) {
    assert_eq!(ran.action, XDP_TX);
    let frame = &ran.frame;
    assert_eq!(frame[..6], sent[6..12], "to the sender's station");
    assert_eq!(frame[6..12], STATION, "from this one");
    assert_eq!(frame[12..14], sent[12..14], "of the same family");
    let (packet, sent) = (&frame[14..], &sent[14..]);
    let (protocol, source, destination, payload) = if packet[0] >> 4 == 4 {
        assert_eq!((packet[0], packet[8]), (0x45, 64), "no options, TTL 64");
        assert_eq!(packet[6..8], [0x40, 0], "do not fragment");
        assert_eq!(sum(&[&packet[..20]]), 0xffff, "header checksum");
        let length = u16::from_be_bytes([packet[2], packet[3]]);
        assert_eq!(usize::from(length), packet.len());
        assert_eq!(packet[12..16], sent[16..20], "from the service");
        assert_eq!(packet[16..20], sent[12..16], "to the client");
        (packet[9], &packet[12..16], &packet[16..20], &packet[20..])
    } else {
        assert_eq!((packet[0], packet[7]), (0x60, 64), "hop limit 64");
        let length = u16::from_be_bytes([packet[4], packet[5]]);
        assert_eq!(usize::from(length) + 40, packet.len());
        assert_eq!(packet[8..24], sent[24..40], "from the service");
        assert_eq!(packet[24..40], sent[8..24], "to the client");
        (packet[6], &packet[8..24], &packet[24..40], &packet[40..])
    };
    let length = u32::try_from(payload.len())
        .expect("a short payload")
        .to_be_bytes();
    let pseudo = [source, destination, &length, &[0, 0, 0, protocol]].concat();
    match protocol {
        1 => assert_eq!(sum(&[payload]), 0xffff, "ICMP checksum"),
        _ => assert_eq!(sum(&[&pseudo, payload]), 0xffff, "checksum"),
    }
    (protocol, payload.to_vec())
}

/// Type, code and number of an ICMP error about a packet, of which it quotes as much as it may.
pub(crate) fn error(sent: &[u8], ran: &Ran) -> (u8, u8, u32) {
    let (protocol, payload) = back(sent, ran);
    let is_v4 = sent[12] == 8;
    let [at, headers, most] = if is_v4 { [16, 0, 548] } else { [18, 40, 1232] };
    let length = usize::from(u16::from_be_bytes([sent[at], sent[at + 1]])) + headers;
    assert_eq!(protocol, if is_v4 { 1 } else { 58 });
    assert_eq!(payload[8..], sent[14..14 + length.min(most)], "the quote");
    let number = u32::from_be_bytes(*payload[4..].first_chunk().expect("four bytes"));
    (payload[0], payload[1], number)
}

/// Sequence number, acknowledgment number and flags of a reset, whose ports are turned around.
fn reset(sent: &Packet, (protocol, payload): (u8, Vec<u8>)) -> (u32, u32, u8) {
    assert_eq!((protocol, payload.len()), (6, 20));
    let ports = sent.tuple().ports;
    let expected = [ports.service(), ports.client()].map(u16::to_be_bytes);
    assert_eq!(payload[..4], *expected.as_flattened());
    assert_eq!(payload[12], 0x50);
    assert_eq!(
        (&payload[14..16], &payload[18..]),
        (&[0; 2][..], &[0; 2][..])
    );
    let number = |at| u32::from_be_bytes(*payload[at..].first_chunk().expect("four bytes"));
    (number(4), number(8), payload[13])
}

#[test]
fn t230_a_rejected_connection_is_reset_and_leaves_no_flow() {
    for packet in [syn(), syn_v6()] {
        let edge = rejecting(&Settings::default(), &packet);
        let mut bytes = 0;
        for (packet, expected) in [
            (packet.clone(), (0, 6, RST | ACK)),
            (packet.clone().padded_to(90), (0, 6, RST | ACK)),
            (
                packet.clone().payload(9).tcp_options(40),
                (0, 15, RST | ACK),
            ),
            (packet.clone().flags(SYN | FIN), (0, 7, RST | ACK)),
            (packet.clone().flags(0), (0, 5, RST | ACK)),
            (packet.clone().flags(ACK).payload(1400), (6, 0, RST)),
            (packet.clone().flags(SYN | ACK), (6, 0, RST)),
        ] {
            let frame = packet.bytes();
            let answer = back(&frame, &edge.run(&frame));
            assert_eq!(reset(&packet, answer), expected);
            bytes += frame.len() as u64;
        }
        let counted = Counter { packets: 7, bytes };
        assert_eq!(edge.entries(), []);
        assert_eq!(edge.verdict(Verdict::Rejected), counted);
        assert_eq!(edge.service(WEB.id), counted);
        for other in VERDICTS.iter().filter(|it| **it != Verdict::Rejected) {
            assert_eq!(edge.verdict(*other).packets, 0, "{other:?}");
        }
    }
}

#[test]
fn options_and_extension_headers_do_not_come_back() {
    let extended = syn_v6().extensions(Some((
        0,
        vec![6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    )));
    for packet in [syn().ip_options(40), extended] {
        let edge = rejecting(&Settings::default(), &packet);
        let frame = packet.bytes();
        let ran = edge.run(&frame);
        assert_eq!(ran.action, XDP_TX);
        let headers = if frame[12] == 8 { 34 } else { 54 };
        assert_eq!(ran.frame.len(), headers + 20);
    }
}

#[test]
fn t231_a_rejected_datagram_is_answered_by_icmp_up_to_the_limit() {
    for (packet, protocol, what, most) in [
        (syn().udp(), 1, [3, 13], 576 - 28),
        (syn_v6().udp(), 58, [1, 1], 1280 - 48),
    ] {
        let edge = rejecting(&Settings::default(), &packet);
        for length in (0..70).chain([519, 520, 521, 522, 1183, 1184, 1185, 1186, 1400]) {
            let frame = packet.clone().payload(length).padded_to(64).bytes();
            let headers = if protocol == 1 { 28 } else { 48 };
            let (found, payload) = back(&frame, &edge.run(&frame));
            assert_eq!((found, &payload[..2]), (protocol, &what[..]));
            assert_eq!(payload[4..8], [0; 4]);
            let quoted = (headers + length).min(most);
            assert_eq!(payload[8..], frame[14..14 + quoted], "{length}");
        }
        assert_eq!(edge.entries(), []);
    }
}

#[test]
fn t231_what_is_over_the_limit_is_dropped_under_its_own_verdict() {
    // The limit is per CPU and tick.
    stay_on_one_cpu();
    for (packet, limit) in [
        (syn(), 0),
        (syn().udp(), 0),
        (syn_v6(), 3),
        (syn_v6().udp(), 3),
    ] {
        let settings = Settings {
            reply_limit: limit,
            ..Settings::default()
        };
        let edge = rejecting(&settings, &packet);
        let frame = packet.bytes();
        let begin = edge::now();
        let dropped = Ran {
            action: XDP_DROP,
            frame: frame.clone(),
        };
        let sent = (0..200).filter(|_| edge.run(&frame) != dropped).count() as u64;
        let ticks = u64::from(edge::now() - begin) + 1;
        assert!(sent >= u64::from(limit) && sent <= ticks * u64::from(limit));
        assert_eq!(edge.verdict(Verdict::Rejected).packets, sent);
        assert_eq!(edge.verdict(Verdict::ReplyLimited).packets, 200 - sent);
        assert_eq!(edge.service(WEB.id).packets, 200);
    }
}

#[test]
fn nobody_is_told_of_a_reset_or_at_an_address_that_is_not_one_host_s() {
    let edge = rejecting(&Settings::default(), &syn());
    let from = |address: [u8; 4]| syn().from((address.into(), 40_000));
    let silent = [
        syn().flags(RST),
        syn().flags(RST | ACK),
        from([0, 0, 0, 0]),
        from([127, 0, 0, 1]),
        from([224, 0, 0, 1]),
        from([255, 255, 255, 255]),
    ];
    for packet in &silent {
        let frame = packet.bytes();
        let action = XDP_DROP;
        assert_eq!(edge.run(&frame), Ran { action, frame });
    }
    let mut frame = syn().bytes();
    frame[6] = 3;
    assert_eq!(edge.run(&frame).action, XDP_DROP, "a multicast station");
    let counted = edge.verdict(Verdict::ReplySilent).packets;
    assert_eq!(counted, silent.len() as u64 + 1);
}

#[test]
fn a_frame_for_another_station_is_not_rejected() {
    let edge = rejecting(&Settings::default(), &syn());
    for packet in [syn(), data(), syn().flags(RST)] {
        let frame = packet.station([2, 0, 0, 0, 0, 9]).bytes();
        let action = XDP_PASS;
        assert_eq!(edge.run(&frame), Ran { action, frame });
    }
    assert_eq!(edge.verdict(Verdict::NotOurs).packets, 3);
    assert_eq!(edge.service(WEB.id).packets, 0);
}

#[test]
fn a_slot_of_a_ring_can_be_an_answer() {
    for packet in [syn(), syn_v6()] {
        for (answer, verdict, action) in [
            (Answer::DROP, Verdict::PolicyDropped, XDP_DROP),
            (Answer::PASS, Verdict::PolicyPassed, XDP_PASS),
            (Answer::REJECT, Verdict::Rejected, XDP_TX),
        ] {
            let mut edge = Edge::serving(&Settings::default(), &packet);
            edge.set_ring(WEB.row, 200, &[1, answer.slot()]);
            let address = if packet.tuple().client.is_v4() {
                CLIENT.0
            } else {
                CLIENT_V6.0
            };
            let flow = |port| packet.clone().from((address, port));
            let sent = (10_000..10_200).filter(|port| edge.backend(&flow(*port)) == Some(1));
            let sent = sent.count();
            assert!((50..150).contains(&sent), "{sent} of 200");
            assert_eq!(edge.entries().len(), sent);
            assert_eq!(edge.verdict(verdict).packets, 200 - sent as u64);
            let others = (10_000..10_200).filter(|port| {
                let ran = edge.run(&flow(*port).bytes());
                ran.action == action && ran.frame[..6] != edge::target(1).next_hop
            });
            assert_eq!(others.count(), 200 - sent, "{answer:?}");
        }
    }
}

#[test]
fn t233_and_t234_a_flow_stays_when_its_service_answers_new_ones() {
    let mut edge = Edge::with_web(&Settings::default());
    assert_eq!(edge.backend(&syn()), Some(1));
    edge.set("RINGS", WEB.row.first(), Descriptor::REJECT);
    assert_eq!(edge.backend(&data()), Some(1), "running");
    let frame = syn().from(("192.0.2.2".parse().unwrap(), 5)).bytes();
    back(&frame, &edge.run(&frame));
    assert_eq!(edge.verdict(Verdict::Rejected).packets, 1);
}
