//! Latency from probe to ring: noise moves nothing, a change shows.

use std::time::Duration;

use lb_tests::lab::{DEADLINE, Daemon, Settings, WebServer, now, wait_until};

use super::rig::{PORT, lab, member, reload, status, tables, wait_all_up};

/// The tables of the rig with no latency window, so that only the fastest backend is chosen, and with
/// these settings of the probes' latency.
fn only_the_fastest(latency: &str) -> String {
    tables(&[1, 1])
        .replace("latency_window = \"500ms\"\n", "")
        .replace("kind = \"http\"", &format!("kind = \"http\", {latency}"))
}

fn ring(daemon: &Daemon<'_>) -> String {
    let hash = &status(daemon)["groups"][0]["ring_hash"];
    hash.as_str().expect("a ring").to_owned()
}

/// The backend that gets all new flows.
fn chosen(daemon: &Daemon<'_>) -> usize {
    let share = |n: usize| member(daemon, &format!("backend-{n}"))["share_value"].as_f64();
    usize::from(share(1) != Some(1.0))
}

/// The backends are really 1 ms apart, and whatever a busy machine adds, often some ms. So the dead
/// band of the first minute is as much larger than the default as that noise is than the noise of a
/// network; unit tests have the defaults. Without it the ring would change all the time, as only the
/// fastest of the two is in it. The second half is by the defaults: there noise could only move the
/// ring, and what it must do in the end is the same.
#[test]
fn two_backends_1_ms_apart_keep_their_ring_for_a_minute_and_30_ms_show_within_4_probes() {
    let lab = lab(2);
    let servers =
        [0, 1].map(|i| WebServer::start(&lab.backends[i], &format!("backend-{}", i + 1), PORT));
    let slow = Duration::from_millis(5);
    servers[0].delay(slow);
    servers[1].delay(slow + Duration::from_millis(1));
    let calm = only_the_fastest("latency = { smoothing = 8, dead_band = \"50ms\" }");
    let settings = Settings {
        rest: &calm,
        ..Settings::default()
    };
    let daemon = Daemon::start(lab.edge(), settings);
    wait_all_up(&daemon, 2);
    // What the start itself put in the way of the first probes is gone then.
    let probes = |i: usize| servers[i].requests("/");
    wait_until(DEADLINE, "the first probes", || {
        probes(0).min(probes(1)) > 10
    });

    let (first, begin, before) = (ring(&daemon), now(), probes(0));
    while begin.elapsed() < Duration::from_secs(60) {
        wait_until(DEADLINE, "another probe", {
            let seen = probes(0);
            move || probes(0) > seen
        });
        assert_eq!(ring(&daemon), first, "after {:?}", begin.elapsed());
    }
    assert!(probes(0) - before > 60, "it is probed all the time");

    let default = only_the_fastest("latency = {}");
    let outcome = reload(&daemon, &default);
    assert!(outcome.ok(), "{outcome:?}");
    let fastest = chosen(&daemon);
    servers[fastest].delay(slow + Duration::from_millis(30));
    let before = probes(fastest);
    wait_until(DEADLINE, "the other backend in the ring", || {
        chosen(&daemon) != fastest
    });
    // By the defaults the second probe shows it. One is under way already, and one more may go
    // out until it is seen here; a busy machine may lose a place by noise.
    let probes = probes(fastest) - before;
    assert!(probes <= 4, "{probes} probes");
}
