use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The clock that the packet program judges the age of flows by, and that heartbeats are in:
/// nanoseconds.
pub fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE);
    let time = time.map_or(Duration::ZERO, Into::into);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
