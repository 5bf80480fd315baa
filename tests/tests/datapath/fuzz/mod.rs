//! Packets of every shape with random bytes in random places: the program in the kernel and the same code
//! on this host make the same of them.

mod host;
mod translations;

use std::net::IpAddr;

use lb_common::{
    Descriptor, Exit, FlowEvent, FormerRing, ForwardMode, Tags, Target, VERDICTS, Verdict,
};
use lb_ebpf::parse::{Flow, Signal};
use lb_tests::{
    datapath::{
        edge::{self, Edge, Ran, Settings, WEB, XDP_DROP, XDP_PASS, XDP_TX},
        packet::{ACK, FIN, MORE_FRAGMENTS, Packet, RST, first_of_each, syn, syn_v6},
    },
    random::Random,
};

use self::{host::Host, translations::Translations};
use super::{
    control::{ROUTER, message, octets},
    fragments::fragment,
};

/// Packets for each target: 50,000, or as many as `WAGGLE_FUZZ_PACKETS` says.
fn packets() -> usize {
    let given = std::env::var("WAGGLE_FUZZ_PACKETS").ok();
    given.map_or(50_000, |given| given.parse().expect("a number of packets"))
}

/// Well-formed frames of every shape, most of them for a service.
fn shapes() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for packet in [syn(), syn().udp(), syn_v6(), syn_v6().udp()] {
        let first = packet.tuple().protocol.0;
        let data = packet.clone().flags(ACK);
        let extension = |next: u8| vec![next, 0, 1, 4, 0, 0, 0, 0];
        let shapes = [
            packet.clone(),
            data.clone().payload(40),
            data.clone().payload(1460),
            data.clone().payload(1500),
            packet.clone().flags(RST | ACK),
            packet.clone().flags(FIN | ACK).padded_to(90),
            data.clone().tcp_options(12).class(0xb9).label(7),
            data.clone().ip_options(24).payload(3),
            data.clone().extensions(Some((0, extension(first)))),
            data.clone().extensions(Some((44, extension(first)))),
            data.clone().ttl(1).payload(9),
            packet.clone().fragment(MORE_FRAGMENTS).payload(64),
        ];
        frames.extend(shapes.iter().map(Packet::bytes));
        let parts = [(0, true), (8, true), (16, false)];
        let parts = parts.map(|(at, more)| fragment(&data.clone().payload(64), 3, at, more));
        frames.extend(parts);
        frames.extend(messages(&packet));
    }
    frames
}

/// ICMP messages to the service of a packet.
fn messages(packet: &Packet) -> Vec<Vec<u8>> {
    let tuple = packet.tuple();
    let is_v4 = tuple.client.is_v4();
    let [client, service] = [tuple.client, tuple.service].map(|it| octets(it, is_v4));
    let router: IpAddr = ROUTER[usize::from(!is_v4)].parse().expect("an address");
    let router = octets(router.into(), is_v4);
    let back = packet
        .clone()
        .from((tuple.service.into(), tuple.ports.service()));
    let back = back.to((tuple.client.into(), tuple.ports.client()));
    let quoted = back.flags(ACK).payload(200).bytes()[14..].to_vec();
    let shortest = &quoted[..if is_v4 { 28 } else { 48 }];
    let kinds: [[u8; 2]; 3] = match is_v4 {
        true => [[3, 4], [11, 0], [8, 0]],
        false => [[2, 0], [3, 0], [128, 0]],
    };
    kinds
        .iter()
        .flat_map(|kind| {
            [
                message(&router, &service, *kind, 1300, &quoted),
                message(&client, &service, *kind, 7, shortest),
            ]
        })
        .collect()
}

/// The frame with random changes: bytes, its length, or none.
fn mutated(shape: &[u8], random: &mut Random) -> Vec<u8> {
    let mut frame = shape.to_vec();
    let mut below = |end: usize| (random.draw() % end as u64) as usize;
    let tags = [
        &[0x81, 0, 0xa0, 100][..],
        &[0x88, 0xa8, 0x20, 7],
        &[0x81, 0, 0, 200],
    ];
    for tag in tags.iter().take(below(8).saturating_sub(4)) {
        frame.splice(12..12, tag.iter().copied());
    }
    for _ in 0..below(4) {
        // Most in the headers, where they mean something.
        let end = if below(4) == 0 { 2000 } else { 80 };
        let at = below(frame.len().min(end));
        frame[at] = match below(3) {
            0 => below(256) as u8,
            1 => frame[at] ^ 1 << below(8),
            _ => [0, 1, 6, 17, 44, 58, 0xff][below(7)],
        };
    }
    match below(12) {
        0 => frame.truncate(14 + below(frame.len() - 13)),
        1 => frame.resize(frame.len() + below(40), 0x5a),
        _ => {}
    }
    frame
}

fn action(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::NotOurs => XDP_PASS,
        Verdict::EchoAnswered
        | Verdict::Forwarded
        | Verdict::Returned
        | Verdict::TooBig
        | Verdict::TtlExpired
        | Verdict::Untranslated => XDP_TX,
        _ => XDP_DROP,
    }
}

/// What the backend sends in answer to a flow that begins with `packet`, if it is translated.
fn answers(host: &mut Host, edge: &Edge, packet: &Packet) -> Vec<Vec<u8>> {
    if host.target.forward.mode() != ForwardMode::FULL_NAT {
        return Vec::new();
    }
    let mut frame = packet.bytes();
    host.run(&mut frame);
    assert_eq!(edge.run(&packet.bytes()).frame, frame);
    let flow = Flow {
        tuple: packet.tuple(),
        signal: Signal::Data,
        ip_length: 0,
    };
    let there = host.translations.known(&flow).expect("it is open");
    let [ours, backend] = [there.client, there.service].map(IpAddr::from);
    let ours = (ours, there.ports.client());
    let answer = packet.clone().flags(ACK).from((backend, 80)).to(ours);
    let parts = [(0, true), (8, true), (16, false)];
    let parts = parts.map(|(at, more)| fragment(&answer.clone().payload(64), 3, at, more));
    let whole = [answer.clone(), answer.clone().payload(31).flags(FIN | ACK)];
    let whole = whole.map(|answer| answer.bytes());
    let errors = messages(&answer);
    whole.into_iter().chain(parts).chain(errors).collect()
}

/// The target that the former ring names: the same one where it keeps translations, else another station.
fn former(target: Target) -> Target {
    let next_hop = match target.forward.mode() {
        ForwardMode::FULL_NAT => target.next_hop,
        _ => [2, 0, 0, 0, 0, 0x77],
    };
    Target { next_hop, ..target }
}

/// An edge on which these packets' services lead to `target` now, and led to `former` before.
fn edge_to(settings: &Settings, packets: &[Packet], [target, former]: [Target; 2]) -> Edge {
    let mut edge = Edge::load(settings);
    for (id, packet) in (0..).zip(packets) {
        let address = packet.tuple().service;
        edge.publish(packet, lb_common::Service { address, id, ..WEB });
    }
    edge.set_target(1, target);
    edge.set_target(2, former);
    edge.set_ring(WEB.row, 640, &[2; 10]);
    edge.set_ring(WEB.row, 100, &[1; 10]);
    let until = edge::now().wrapping_add(1 << 20);
    let ring = FormerRing::new(Descriptor::new(640, 10), until);
    edge.set("FORMER_RINGS", WEB.row.first(), ring);
    edge
}

fn agree(through: fn(Target) -> Target, seed: u64) {
    let target = through(edge::target(1));
    let targets = [target, former(target)];
    // So many that no flow loses its entry.
    let settings = Settings {
        buckets: 1 << 17,
        ..Settings::default()
    };
    let packets = first_of_each();
    let edge = edge_to(&settings, &packets, targets);
    let control = edge::control(&settings);
    let translations = Translations::new(target, control, settings.nat_ports);
    let services = packets.iter().map(Packet::tuple).collect();
    let mut host = Host::new(services, targets, translations);
    let (mut shapes, mut random) = (shapes(), Random(seed));
    for packet in &packets {
        shapes.extend(answers(&mut host, &edge, packet));
    }
    let counted = VERDICTS.iter().map(|it| edge.verdict(*it).packets);
    let mut counts: Vec<_> = counted.collect();
    for i in 0..self::packets() {
        let sent = mutated(&shapes[i % shapes.len()], &mut random);
        let mut frame = sent.clone();
        let verdict = host.run(&mut frame);
        counts[verdict as usize] += 1;
        let action = action(verdict);
        let ran = edge.run(&sent);
        assert_eq!(
            ran,
            Ran { action, frame },
            "packet {i}, {verdict:?}: {sent:?}"
        );
    }
    for (verdict, expected) in VERDICTS.iter().zip(&counts) {
        let counted = edge.verdict(*verdict).packets;
        assert_eq!(counted, *expected, "{verdict:?}");
    }
    assert!(host.by_former > 100);
    assert_eq!(edge.events(FlowEvent::Former), host.by_former);
    let translated: &[_] = match target.forward.mode() {
        ForwardMode::FULL_NAT => &[Verdict::Returned, Verdict::Untranslated],
        _ => &[],
    };
    let all = [
        Verdict::EchoAnswered,
        Verdict::Forwarded,
        Verdict::FragmentUnknown,
        Verdict::NotOurs,
        Verdict::TooBig,
        Verdict::TtlExpired,
    ];
    for verdict in all.iter().chain(translated) {
        let verdict = *verdict;
        assert!(counts[verdict as usize] > 100, "{verdict:?}: {counts:?}");
    }
}

#[test]
fn kernel_and_host_agree_on_packets_that_go_directly() {
    agree(|target| target, 1);
}

/// The same target in a VLAN.
fn in_vlan(target: Target) -> Target {
    Target {
        forward: target.forward.elsewhere(),
        exit: Exit {
            tags: Tags::single(Tags::CUSTOMER, 300),
            ..Exit::SAME
        },
        ..target
    }
}

#[test]
fn kernel_and_host_agree_on_packets_that_go_directly_in_a_vlan() {
    agree(in_vlan, 9);
}

#[test]
fn kernel_and_host_agree_on_packets_in_tunnels_in_a_vlan() {
    agree(|target| in_vlan(edge::through_v4(target)), 10);
}

#[test]
fn kernel_and_host_agree_on_packets_that_are_translated_in_a_vlan() {
    agree(|target| in_vlan(edge::translated_v4(target)), 11);
}

#[test]
fn kernel_and_host_agree_on_packets_in_tunnels_of_ipv4() {
    agree(edge::through_v4, 2);
}

#[test]
fn kernel_and_host_agree_on_packets_in_tunnels_of_ipv6() {
    agree(edge::through_v6, 3);
}

#[test]
fn kernel_and_host_agree_on_packets_in_datagrams_over_ipv4() {
    agree(edge::gue_v4, 7);
}

#[test]
fn kernel_and_host_agree_on_packets_in_datagrams_over_ipv6() {
    agree(edge::gue_v6, 8);
}

#[test]
fn kernel_and_host_agree_on_packets_that_are_too_big_for_the_way() {
    agree(|target| Target { mtu: 700, ..target }, 4);
}

#[test]
fn kernel_and_host_agree_on_packets_that_are_translated_to_ipv4() {
    agree(edge::translated_v4, 5);
}

#[test]
fn kernel_and_host_agree_on_packets_that_are_translated_to_ipv6() {
    agree(edge::translated_v6, 6);
}
