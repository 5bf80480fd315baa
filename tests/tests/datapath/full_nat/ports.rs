//! The ports of the edge that flows have at their targets.

use std::{collections::BTreeSet, net::IpAddr};

use lb_common::{Entry, FlowState, Protocol, Translation, TranslationKey, Verdict, tick};
use lb_tests::datapath::{
    edge::{Edge, Settings, XDP_DROP, XDP_TX},
    packet::{ACK, SYN, syn},
};

use super::{CLIENT_STATION, SECOND, edge, ends, leaving, packet_service, sent};

#[test]
fn every_flow_has_a_port_of_its_own_and_its_answers_go_to_its_client() {
    let packet = syn();
    let edge = edge(&Settings::default(), &packet);
    let [ours, backend] = ends(&packet);
    let mut ports = BTreeSet::new();
    for flow in 0..1000_u16 {
        let [high, low] = flow.to_be_bytes();
        let client = (IpAddr::from([192, 0, 2, 1 + high]), 1024 + u16::from(low));
        let there = edge.run(&packet.clone().from(client).bytes());
        let port = u16::from_be_bytes([there.frame[34], there.frame[35]]);
        assert!((61_000..65_096).contains(&port) && ports.insert(port));
        let answer = packet.clone().from((backend, 80)).to((ours, port));
        let back = edge.run(&answer.flags(SYN | ACK).bytes());
        let expected = packet.clone().from(packet_service(&packet)).to(client);
        let expected = expected.flags(SYN | ACK).ttl(63);
        assert_eq!(back, sent(leaving(expected, CLIENT_STATION)));
    }
}

#[test]
fn a_flow_keeps_its_port_whatever_others_before_it_in_its_probes_do() {
    let packet = syn().udp();
    let settings = Settings {
        nat_ports: [61_000, 64],
        ..Settings::default()
    };
    let mut edge = edge(&settings, &packet);
    let flow = |port: u16| packet.clone().from(("192.0.2.1".parse().unwrap(), port));
    let there = |edge: &Edge, port: u16| edge.run(&flow(port).bytes()).frame[34..36].to_vec();
    let before: Vec<_> = (1..=30).map(|port| there(&edge, port)).collect();
    let flows: BTreeSet<_> = before.iter().collect();
    assert_eq!(flows.len(), 30);
    // Each second one ends; the others, some of which stood behind it, go on as they were.
    for (key, translation) in edge.translations() {
        if translation.back(Protocol::UDP).ports.service() % 2 == 0 {
            edge.remove::<TranslationKey, Translation>("TRANSLATIONS", key);
        }
    }
    for port in (1..=30).step_by(2) {
        assert_eq!(there(&edge, port), before[usize::from(port) - 1], "{port}");
    }
}

#[test]
fn when_all_ports_of_a_flow_are_taken_it_is_dropped_until_one_gives_way() {
    let packet = syn();
    let settings = Settings {
        nat_ports: [61_000, 64],
        ..Settings::default()
    };
    let mut edge = edge(&settings, &packet);
    let flow = |port: u16| packet.clone().from(("192.0.2.1".parse().unwrap(), port));
    let mut refused: Vec<u16> = (1..=400)
        .filter(|port| edge.run(&flow(*port).bytes()).action == XDP_DROP)
        .collect();
    assert_eq!(edge.translations().len() + refused.len(), 400);
    assert_eq!(edge.translations().len(), 64, "every port is used");
    assert_eq!(edge.verdict(Verdict::NoPort).packets, refused.len() as u64);
    for (state, holds) in [
        (FlowState::ESTABLISHED, 7440),
        (FlowState::OPENING, 10),
        (FlowState::CLOSING, 2),
        (FlowState::DATAGRAM, 10),
    ] {
        for (ago, action) in [(holds - 1, XDP_DROP), (holds + 1, XDP_TX)] {
            let life = Entry::life(edge::now().wrapping_sub(tick(ago * SECOND)), state);
            for (key, translation) in edge.translations() {
                let aged = Translation {
                    life,
                    ..translation
                };
                edge.insert("TRANSLATIONS", key, aged);
            }
            edge.forget_flows();
            let new = flow(refused.pop().expect("another flow"));
            let ran = edge.run(&new.bytes());
            assert_eq!(ran.action, action, "{state:?}, {ago}");
            assert_eq!(edge.translations().len(), 64);
        }
    }
}

#[test]
fn beyond_the_insert_limit_no_flow_is_translated_and_those_that_are_go_on() {
    let packet = syn();
    let settings = Settings {
        insert_limit: 20,
        ..Settings::default()
    };
    let edge = edge(&settings, &packet);
    let flow = |port: u16| packet.clone().from(("192.0.2.1".parse().unwrap(), port));
    for port in 1..=200 {
        edge.run(&flow(port).bytes());
    }
    let limited = edge.verdict(Verdict::TranslationLimited).packets;
    assert!(limited > 100, "{limited}");
    assert_eq!(limited + edge.verdict(Verdict::Forwarded).packets, 200);
    let first = edge.run(&flow(1).flags(ACK).bytes());
    assert_eq!(first.action, XDP_TX);
}
