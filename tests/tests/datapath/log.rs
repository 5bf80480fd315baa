//! The packet log.

use std::sync::{Arc, Mutex};

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
    let mut edge = edge(true);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&lines);
    let mut log = edge.log(move |line| heard.lock().expect("lines").push(line.to_owned()));
    let elsewhere = syn().to((SERVICE.0, 81));
    edge.backend(&elsewhere);
    edge.backend(&syn());
    edge.backend(&syn().payload(1600));
    log.flush();
    let flow = "192.0.2.1:40000 -> 203.0.113.10:80, target";
    let expected = [format!("forwarded: {flow} 1"), format!("too_big: {flow} 0")];
    assert_eq!(*lines.lock().expect("lines"), expected);
}
