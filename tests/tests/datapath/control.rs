//! ICMP messages to a service: errors about its flows, and echo requests.

use std::net::IpAddr;

use lb_common::{Address, Affinity, Descriptor, FlowEvent, Scope, Target, TargetState, Verdict};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Ran, STATION, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
    packet::{Packet, data, first_of_each, syn, syn_v6},
};

use super::answers::sum;

/// A router on the way to clients, in both families.
pub(crate) const ROUTER: [&str; 2] = ["192.0.2.254", "2001:db8:99::fe"];

pub(crate) fn octets(address: Address, is_v4: bool) -> Vec<u8> {
    match is_v4 {
        true => address.octets()[12..].to_vec(),
        false => address.octets().to_vec(),
    }
}

/// The checksum of a message with what it covers in front, in which it is 0.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    (!(sum(parts) as u16)).to_be_bytes()
}

/// An IP packet of protocol `protocol` in a frame to the edge.
fn framed(from: &[u8], to: &[u8], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&STATION[..], &[2, 0, 0, 0, 0, 2]].concat();
    let length = payload.len() as u16;
    if from.len() == 4 {
        let [high, low] = (length + 20).to_be_bytes();
        let mut header = vec![0x45, 0, high, low, 0, 7, 0, 0, 60, protocol, 0, 0];
        header.extend([from, to].concat());
        let sum = checksum(&[&header]);
        header[10..12].copy_from_slice(&sum);
        frame.extend([0x08, 0x00]);
        frame.extend(header);
    } else {
        let [high, low] = length.to_be_bytes();
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, protocol, 60]);
        frame.extend([from, to].concat());
    }
    frame.extend(payload);
    frame
}

/// An ICMP message with its checksum.
pub(crate) fn message(from: &[u8], to: &[u8], what: [u8; 2], number: u32, rest: &[u8]) -> Vec<u8> {
    let protocol = if from.len() == 4 { 1 } else { 58 };
    let mut message = [&what[..], &[0, 0], &number.to_be_bytes(), rest].concat();
    let length = (message.len() as u32).to_be_bytes();
    let pseudo = [from, to, &length, &[0, 0, 0, protocol]].concat();
    let sum = match protocol {
        1 => checksum(&[&message]),
        _ => checksum(&[&pseudo, &message]),
    };
    message[2..4].copy_from_slice(&sum);
    framed(from, to, protocol, &message)
}

/// What a backend sends back to the client of `packet`: the first `bytes` behind the IP header.
fn quoted(packet: &Packet, bytes: usize) -> Vec<u8> {
    let tuple = packet.tuple();
    let is_v4 = tuple.client.is_v4();
    let [client, service] = [tuple.client, tuple.service].map(|it| octets(it, is_v4));
    let ports = [tuple.ports.service(), tuple.ports.client()].map(u16::to_be_bytes);
    let mut segment = ports.concat();
    segment.extend([0x11; 1400]);
    let whole = framed(&service, &client, tuple.protocol.0, &segment);
    whole[14..][..if is_v4 { 20 } else { 40 } + bytes].to_vec()
}

/// An error from the router about a packet of the flow.
fn error(packet: &Packet, what: [u8; 2], number: u32, quoted: &[u8]) -> Vec<u8> {
    let tuple = packet.tuple();
    let is_v4 = tuple.client.is_v4();
    let router: IpAddr = ROUTER[usize::from(!is_v4)].parse().expect("an address");
    let router = octets(router.into(), is_v4);
    message(&router, &octets(tuple.service, is_v4), what, number, quoted)
}

/// Errors about the flow of a packet that must come to its backend.
fn errors(packet: &Packet) -> Vec<Vec<u8>> {
    let shortest = quoted(packet, 8);
    match packet.tuple().client.is_v4() {
        true => vec![
            error(packet, [3, 4], 1300, &shortest),
            error(packet, [3, 1], 0, &quoted(packet, 520)),
            error(packet, [11, 0], 0, &shortest),
            error(packet, [12, 0], 0, &shortest),
        ],
        false => vec![
            error(packet, [2, 0], 1300, &shortest),
            error(packet, [1, 0], 0, &quoted(packet, 1180)),
            error(packet, [3, 0], 0, &shortest),
            error(packet, [4, 1], 0, &shortest),
        ],
    }
}

/// One of them.
pub(crate) fn error_about(packet: &Packet) -> Vec<u8> {
    errors(packet).remove(0)
}

#[test]
fn case_6_and_7_an_error_goes_to_the_backend_of_its_flow_with_an_entry_or_without() {
    for packet in first_of_each() {
        for (mode, through) in edge::THROUGH {
            let target = through(edge::target(1));
            let mut edge = Edge::serving(&Settings::default(), &packet);
            edge.set_target(1, target);
            for known in [false, true] {
                let entries = edge.entries();
                for frame in errors(&packet) {
                    let expected = Ran {
                        action: XDP_TX,
                        frame: edge::forwarded(&frame, &target),
                    };
                    assert_eq!(edge.run(&frame), expected, "{mode}, known: {known}");
                }
                assert_eq!(edge.entries(), entries, "an error is no packet of its flow");
                edge.run(&packet.bytes());
            }
            assert_eq!(edge.verdict(Verdict::Forwarded).packets, 10);
            assert_eq!(edge.service(WEB.id).packets, 10);
            assert_eq!(edge.events(FlowEvent::Miss), 1);
        }
    }
}

#[test]
fn an_error_goes_by_the_flow_s_entry_then_by_the_client_s_pin_then_by_the_ring() {
    let mut edge = Edge::with_web(&Settings::default());
    edge.run(&syn().bytes());
    for id in 2..=3 {
        edge.set_target(id, edge::target(id as u8));
    }
    let affinity = Affinity::new(120, 32, 128, Scope::Healthy).within(GROUP);
    edge.set_pinning_ring(WEB.row, 1024, affinity, &[2; 64]);
    let about = |port| {
        let flow = syn().from((syn().tuple().client.into(), port));
        error(&flow, [3, 4], 1300, &quoted(&flow, 8))
    };
    let backend = |edge: &Edge, port| edge.run(&about(port)).frame[5];
    assert_eq!(backend(&edge, 40_000), 1, "by its entry");
    assert_eq!(backend(&edge, 50_000), 2, "by the ring");
    assert_eq!(edge.pins(), [], "it pins nobody");
    edge.run(&syn().from((syn().tuple().client.into(), 50_001)).bytes());
    edge.set_pinning_ring(WEB.row, 2048, affinity, &[3; 64]);
    assert_eq!(backend(&edge, 50_000), 2, "by the pin");
    assert_eq!(edge.events(FlowEvent::Pinned), 0);
}

#[test]
fn nobody_is_told_of_an_error_that_can_not_go_on() {
    for (ring, mtu) in [(None, 1500), (Some(Descriptor::REJECT), 1500), (None, 40)] {
        let mut edge = Edge::with_web(&Settings::default());
        let frame = match (ring, mtu) {
            (None, 1500) => {
                let mut frame = errors(&syn()).remove(0);
                frame[22] = 1;
                frame
            }
            _ => errors(&syn()).remove(0),
        };
        if let Some(ring) = ring {
            edge.set("RINGS", WEB.row.first(), ring);
        }
        edge.set_target(
            1,
            Target {
                mtu,
                ..edge::target(1)
            },
        );
        let action = XDP_DROP;
        assert_eq!(edge.run(&frame), Ran { action, frame });
        assert_eq!(edge.verdict(Verdict::ReplySilent).packets, 1);
    }
}

#[test]
fn messages_about_others_and_of_other_kinds_pass_untouched() {
    for packet in first_of_each() {
        let edge = Edge::serving(&Settings::default(), &packet);
        let tuple = packet.tuple();
        let is_v4 = tuple.client.is_v4();
        let [client, service] = [tuple.client, tuple.service].map(|it| octets(it, is_v4));
        let elsewhere = packet.clone().to((IpAddr::from(tuple.service), 81));
        let unreachable = if is_v4 { [3, 1] } else { [1, 0] };
        let mut other = service.clone();
        *other.last_mut().expect("bytes") ^= 1;
        let quote = quoted(&packet, 8);
        let mut later_fragment = quote.clone();
        let mut of_icmp = quote.clone();
        let mut foreign = quote.clone();
        if is_v4 {
            later_fragment[7] = 5;
            of_icmp[9] = 1;
            foreign[15] ^= 1;
        } else {
            later_fragment[6] = 44;
            of_icmp[6] = 58;
            foreign[23] ^= 1;
        }
        for frame in [
            error(&packet, unreachable, 0, &quoted(&elsewhere, 8)),
            error(&packet, unreachable, 0, &later_fragment),
            error(&packet, unreachable, 0, &of_icmp),
            error(&packet, unreachable, 0, &foreign),
            error(&packet, unreachable, 0, &quoted(&packet, 3)),
            error(&packet, unreachable, 0, &[]),
            // Redirect and router advertisement, router solicitation and neighbour solicitation.
            error(&packet, if is_v4 { [5, 1] } else { [133, 0] }, 0, &quote),
            error(&packet, if is_v4 { [9, 0] } else { [135, 0] }, 0, &quote),
            // An answer to an echo request of this host's.
            error(&packet, if is_v4 { [0, 0] } else { [129, 0] }, 7, &quote),
            // To another address, though it quotes the service.
            message(&client, &other, unreachable, 0, &quote),
            message(
                &client,
                &other,
                if is_v4 { [8, 0] } else { [128, 0] },
                0,
                &quote,
            ),
        ] {
            let action = XDP_PASS;
            assert_eq!(edge.run(&frame), Ran { action, frame });
        }
        assert_eq!(edge.verdict(Verdict::NotOurs).packets, 11);
        assert_eq!(edge.service(WEB.id).packets, 0);
    }
}

#[test]
fn an_echo_request_to_a_service_comes_back_as_its_answer() {
    for (packet, request, reply) in [(syn(), [8, 0], [0, 0]), (syn_v6(), [128, 0], [129, 0])] {
        let tuple = packet.tuple();
        let is_v4 = tuple.client.is_v4();
        let [client, service] = [tuple.client, tuple.service].map(|it| octets(it, is_v4));
        let edge = Edge::serving(&Settings::default(), &packet);
        let ping = |number: u32, length: usize| {
            let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
            message(&client, &service, request, number, &data)
        };
        // All sums of the message, so that every carry is met.
        for number in (0..0x1_0000).step_by(13).chain([0xffff, 0xf7ff, 0x0800]) {
            let frame = ping(number << 16 | 1, 3);
            let ran = edge.run(&frame);
            assert_eq!(ran.action, XDP_TX);
            let ttl = if is_v4 { 22 } else { 21 };
            assert_eq!(ran.frame[ttl], 64);
            let expected = message(&service, &client, reply, number << 16 | 1, &[0, 1, 2]);
            let headers = if is_v4 { 34 } else { 54 };
            assert_eq!(ran.frame[headers..], expected[headers..], "{number:x}");
            assert_eq!(ran.frame[..6], frame[6..12]);
            assert_eq!(ran.frame[6..12], STATION);
        }
        for length in [0, 1, 56, 1400] {
            let frame = ping(7, length);
            let ran = edge.run(&frame);
            assert_eq!(ran.frame.len(), frame.len());
            if is_v4 {
                assert_eq!(sum(&[&ran.frame[14..34]]), 0xffff, "header checksum");
                assert_eq!(sum(&[&ran.frame[34..]]), 0xffff, "checksum");
            }
        }
        let answered = edge.verdict(Verdict::EchoAnswered).packets;
        assert!(answered > 5000);
        let off = Settings {
            answer_echo: false,
            ..Settings::default()
        };
        let edge = Edge::serving(&off, &packet);
        let frame = ping(7, 56);
        let action = XDP_PASS;
        assert_eq!(edge.run(&frame), Ran { action, frame });
    }
}

#[test]
fn an_echo_request_that_may_not_be_answered_passes() {
    let edge = Edge::with_web(&Settings::default());
    let service = [203, 0, 113, 10];
    let ping = |from: [u8; 4]| message(&from, &service, [8, 0], 7, &[1; 56]);
    let client = [192, 0, 2, 1];
    let mut elsewhere = ping(client);
    elsewhere[5] = 9;
    let mut of_many = ping(client);
    of_many[6] |= 1;
    let mut fragment = ping(client);
    fragment[20] = 0x20;
    for frame in [
        ping([0; 4]),
        ping([127, 0, 0, 1]),
        ping([224, 0, 0, 1]),
        ping([255; 4]),
        elsewhere,
        of_many,
        fragment,
        message(&client, &service, [8, 1], 7, &[1; 56]),
    ] {
        let action = XDP_PASS;
        assert_eq!(edge.run(&frame), Ran { action, frame });
    }
    assert_eq!(edge.verdict(Verdict::EchoAnswered).packets, 0);
}

#[test]
fn a_message_cut_anywhere_is_none() {
    for packet in [syn(), syn_v6()] {
        let edge = Edge::serving(&Settings::default(), &packet);
        for frame in errors(&packet) {
            for length in 14..frame.len().min(120) {
                let frame = frame[..length].to_vec();
                assert_eq!(edge.run(&frame).action, XDP_PASS, "{length}");
            }
        }
    }
}

#[test]
fn an_error_about_a_flow_of_a_dead_backend_goes_where_the_flow_goes() {
    let mut edge = Edge::with_web(&Settings::default());
    edge.run(&syn().bytes());
    edge.set_target(
        1,
        Target {
            state: TargetState(TargetState::DEAD),
            ..edge::target(1)
        },
    );
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 1024, &[2; 64]);
    let frame = errors(&syn()).remove(0);
    assert_eq!(edge.backend(&data()), Some(1));
    assert_eq!(edge.run(&frame).frame[5], 1);
}
