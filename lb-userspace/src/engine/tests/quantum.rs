//! Latency tables whose times are rounded.

use std::fs;

use super::{
    classes::{PROBE, shares, with_groups},
    *,
};

const NEAR: &str = "192.0.2.1";
const FAR: &str = "192.0.2.200";

/// The backends `a` and `b` are 11 ms apart for [`NEAR`], and 9.5 ms for [`FAR`]; the window is 10 ms.
fn parsed(quantum: &str) -> Checked {
    let group = format!(
        "[[group]]\nname = \"web\"\npolicy = \"dynamic-rtt\"\nlatency_window = \"10ms\"\n\
         member = [{{ backend = \"a\" }}, {{ backend = \"b\" }}]\n{PROBE}\n"
    );
    let rest = format!("[latency]\nfiles = [\"latency.csv\"]\n{quantum}");
    let mut text = with_groups(&group, &rest);
    for (backend, region) in [("a", "east"), ("b", "west")] {
        let name = format!("name = \"{backend}\"\n");
        text = text.replacen(&name, &format!("{name}region = \"{region}\"\n"), 1);
    }
    let directory = tempfile::tempdir().unwrap();
    let rows = "192.0.2.0/25,east,10\n192.0.2.0/25,west,21\n\
        192.0.2.128/25,east,11\n192.0.2.128/25,west,20.5\n";
    fs::write(directory.path().join("latency.csv"), rows).unwrap();
    let checked = config::load_text(&directory.path().join("waggle.toml"), &text);
    checked.unwrap_or_else(|refused| panic!("{refused}"))
}

fn rig(quantum: &str) -> Rig {
    let mut rig = Rig::start_with(parsed(quantum), Saved::default(), &[]);
    rig.all_up();
    rig
}

fn classes(rig: &Rig) -> usize {
    rig.image().clients.classes.len()
}

#[test]
fn a_window_is_held_against_rounded_times() {
    let exact = rig("");
    assert_eq!(shares(&exact, NEAR), "a 1");
    assert_eq!(shares(&exact, FAR), "a 1/2, b 1/2");
    let rounded = rig("quantum = \"5ms\"");
    assert_eq!(shares(&rounded, NEAR), "a 1/2, b 1/2");
    assert_eq!(shares(&rounded, FAR), "a 1/2, b 1/2");
    let coarse = rig("quantum = \"7ms\"");
    assert_eq!(shares(&coarse, FAR), "a 1/2, b 1/2", "14 and 21 ms");
    assert_eq!(shares(&coarse, NEAR), "a 1", "7 and 21 ms");
}

#[test]
fn a_reload_with_another_quantum_makes_other_classes_and_decides_anew() {
    let mut rig = rig("");
    assert_eq!(classes(&rig), 3);
    rig.event(Event::Reload(Box::new(parsed("quantum = \"5ms\""))));
    assert_eq!(classes(&rig), 2, "both rows are 10 and 20 ms");
    assert_eq!(shares(&rig, NEAR), "a 1/2, b 1/2");
    assert_eq!(rig.image().rings["web"].len(), 1);
    rig.event(Event::Reload(Box::new(parsed(""))));
    assert_eq!(classes(&rig), 3);
    assert_eq!(shares(&rig, NEAR), "a 1");
}
