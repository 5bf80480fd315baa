use lb_userspace::dataplane::detach;

use crate::host::{Host, program_on, run, start};

#[test]
fn a_daemon_sees_that_it_was_detached() {
    let host = Host::new();
    let edge = host.edge();
    let started = start(&edge);
    assert!(started.attachment.stands().unwrap());
    detach(&edge.pin_dir).unwrap();
    assert!(!started.attachment.stands().unwrap());

    let next = start(&edge);
    assert!(next.attachment.stands().unwrap());
    assert!(
        !started.attachment.stands().unwrap(),
        "another program with other tables"
    );
}

#[test]
fn a_daemon_sees_that_its_interface_was_deleted_and_that_a_new_one_has_no_program() {
    let host = Host::new();
    let started = start(&host.edge());
    run("ip link del edge0");
    assert!(!started.attachment.stands().unwrap());
    run("ip link add edge0 type veth peer name peer0");
    assert_eq!(program_on("edge0"), None);
    assert!(!started.attachment.stands().unwrap());

    let adopted = start(&host.edge());
    assert!(adopted.attachment.stands().unwrap());
    let again = start(&host.edge());
    assert!(again.adopted && again.attachment.stands().unwrap());
}
