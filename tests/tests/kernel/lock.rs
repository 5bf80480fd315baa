use std::fs;

use lb_userspace::{
    dataplane::{Kernel, Lock, detach},
    model::Edge,
};

use crate::host::{Host, key, line};

/// The one line that says why there is no lock.
fn refusal(edge: &Edge) -> String {
    line(Lock::take(edge))
}

#[test]
fn a_second_daemon_is_refused() {
    let host = Host::new();
    let edge = host.edge();
    let first = Lock::take(&edge).unwrap();
    let pid = std::process::id();
    assert_eq!(
        refusal(&edge),
        format!(
            "error[edge-taken]: another waggle daemon runs edge `fra-1` (pid {pid}); end that one \
             first, or give it another configuration with `waggle reload`"
        )
    );
    drop(first);
    Lock::take(&edge).unwrap();
}

#[test]
fn two_edges_whose_pins_would_meet_are_told_apart_by_their_lock() {
    let host = Host::new();
    let edge = |name: &str| {
        let place = Edge::default_pin_dir(name);
        Edge {
            name: name.parse().unwrap(),
            pin_dir: host.bpf().join(place.file_name().unwrap()),
            state_dir: host.dir.path().join(name),
            ..host.edge()
        }
    };
    let first = Lock::take(&edge("a.b")).unwrap();
    let line = refusal(&edge("a_b"));
    assert!(line.starts_with("error[pins-taken]: "), "{line}");
    let place = edge("a_b").pin_dir;
    assert!(
        line.contains(&format!("pins in {}", place.display())),
        "{line}"
    );
    assert!(line.contains("another `edge.pin_dir`"), "{line}");
    Lock::take(&edge("a-b")).unwrap();
    drop(first);
    Lock::take(&edge("a_b")).unwrap();
}

#[test]
fn a_start_in_vain_removes_the_directory_that_the_lock_has_made() {
    let host = Host::new();
    let edge = Edge {
        interfaces: vec!["eth77".into()],
        ..host.edge()
    };
    let _lock = Lock::take(&edge).unwrap();
    assert!(edge.pin_dir.exists());
    assert!(Kernel::start(&edge, key(1)).is_err());
    assert!(!edge.pin_dir.exists());
}

#[test]
fn places_that_can_hold_no_pins_are_refused_before_anything_is_made() {
    let host = Host::new();
    let plain = host.dir.path().join("plain");
    let cases = [
        (plain.clone(), "no-bpf-file-system"),
        (host.bpf().join("fra.1"), "dotted-pins"),
        (host.bpf(), "shared-pins"),
        (host.dir.path().join("state/../bpf"), "shared-pins"),
    ];
    for (pin_dir, code) in cases {
        let edge = Edge {
            pin_dir,
            ..host.edge()
        };
        let refused = refusal(&edge);
        assert!(
            refused.starts_with(&format!("error[{code}]: ")),
            "{refused}"
        );
        assert_eq!(line(Kernel::start(&edge, key(1))), refused);
    }
    assert!(!plain.exists());
    let line = line(detach(&host.bpf()));
    assert!(line.starts_with("error[shared-pins]: "), "{line}");
}

#[test]
fn an_unreachable_state_directory_is_an_error_and_no_panic() {
    let host = Host::new();
    fs::write(host.dir.path().join("state"), "a file").unwrap();
    let line = refusal(&host.edge());
    assert!(line.starts_with("error[unusable-state]: "), "{line}");
    assert!(line.contains("/state/fra-1.lock can not be used"), "{line}");
    assert!(!host.edge().pin_dir.exists());
}
