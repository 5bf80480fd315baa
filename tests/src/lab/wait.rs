use std::{
    thread,
    time::{Duration, Instant},
};

/// Long enough for anything that the lab waits for, however busy the machine is.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not hold within `deadline`, naming `what` was waited for.
#[track_caller]
pub fn wait_until(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let start = now();
    while !condition() {
        assert!(
            start.elapsed() < deadline,
            "waited {deadline:?} in vain for: {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// The time.
#[expect(clippy::disallowed_methods, reason = "the lab measures real time")]
pub fn now() -> Instant {
    Instant::now()
}
