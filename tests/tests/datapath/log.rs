//! The packet log.

use aya::maps::RingBuf;
use lb_tests::datapath::{
    edge::{Edge, Settings},
    packet::{SERVICE, syn},
};

fn edge(packet_log: bool) -> Edge {
    Edge::with_web(&Settings {
        packet_log,
        ..Settings::default()
    })
}

#[test]
fn a_program_whose_log_is_off_does_not_hold_the_code_for_it() {
    let (off, on) = (edge(false).info(), edge(true).info());
    eprintln!(
        "{:?} {:?} {:?}",
        off.verified_instruction_count(),
        on.verified_instruction_count(),
        on.size_translated()
    );
    assert!(off.verified_instruction_count() < on.verified_instruction_count());
    assert!(off.size_translated() < on.size_translated());
}

#[test]
fn the_log_names_the_verdict_of_every_packet_of_a_service_and_of_no_other() {
    let edge = edge(true);
    let elsewhere = syn().to((SERVICE.0, 81));
    edge.backend(&elsewhere);
    edge.backend(&syn());
    edge.backend(&syn().payload(1600));
    let mut log = RingBuf::try_from(edge.map("AYA_LOGS")).unwrap();
    let mut verdicts = Vec::new();
    while let Some(record) = log.next() {
        let text = String::from_utf8_lossy(&record).into_owned();
        let named = ["forwarded", "too_big"]
            .into_iter()
            .find(|name| text.contains(name));
        verdicts.push(named);
    }
    assert_eq!(verdicts, [Some("forwarded"), Some("too_big")]);
}
