use lb_userspace::dataplane::{Started, detach};

use crate::host::{Host, program_on, run, start};

fn stands(started: &Started) -> bool {
    let [attachment] = &started.attachments[..] else {
        panic!("one interface");
    };
    attachment.stands().unwrap()
}

#[test]
fn a_daemon_sees_that_it_was_detached() {
    let host = Host::new();
    let edge = host.edge();
    let started = start(&edge);
    assert!(stands(&started));
    detach(&edge.pin_dir).unwrap();
    assert!(!stands(&started));

    let next = start(&edge);
    assert!(stands(&next));
    assert!(!stands(&started), "another program with other tables");
}

#[test]
fn a_daemon_sees_that_its_interface_was_deleted_and_that_a_new_one_has_no_program() {
    let host = Host::new();
    let started = start(&host.edge());
    run("ip link del edge0");
    assert!(!stands(&started));
    run("ip link add edge0 type veth peer name peer0");
    assert_eq!(program_on("edge0"), None);
    assert!(!stands(&started));

    let adopted = start(&host.edge());
    assert!(stands(&adopted));
    let again = start(&host.edge());
    assert!(again.adopted && stands(&again));
}
