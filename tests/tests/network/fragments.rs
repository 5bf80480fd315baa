use lb_tests::lab::{DEADLINE, Nginx, client::connect_many, wait_until};

use super::{
    raw::{MORE_FRAGMENTS, send_syn},
    rig::{PORT, WEB, lab, start, status, verdict, wait_all_up},
};

#[test]
fn fragments_to_the_service_are_dropped_under_their_own_verdict() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);

    const MIDDLE: u16 = MORE_FRAGMENTS | 185;
    const LAST: u16 = 370;
    for (port, fragment) in (3_000..).zip([MORE_FRAGMENTS, MIDDLE, LAST]) {
        send_syn(lab.client(), port, WEB, fragment);
    }
    wait_until(DEADLINE, "three fragments counted", || {
        verdict(&daemon, "fragment_unsupported") == 3
    });
    assert_eq!(verdict(&daemon, "forwarded"), 0);
    assert_eq!(status(&daemon)["edge"]["flows"], 0);
    let shown = daemon.waggle(&["status"]).stdout;
    assert!(shown.contains("fragment_unsupported 3"), "{shown}");

    let tally = connect_many(lab.client(), WEB, 20);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    assert_eq!(verdict(&daemon, "fragment_unsupported"), 3);
}
