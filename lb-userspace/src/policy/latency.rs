use std::time::Duration;

use super::{Step, candidate::Candidate, step::Candidates};
use crate::model::{LatencySource, Name};

/// Keeps members whose latency is at most `window` above the lowest (S7, S12, S68, D87). A member
/// without a latency is left out while another one has one; when none has, all go on (R4). `measured` has
/// the client's latency for each region of the scene.
pub(super) fn run<'a>(
    source: LatencySource,
    window: Duration,
    measured: &[Option<Duration>],
    candidates: Candidates<'a>,
) -> Step<'a> {
    let latency = |it: &Candidate<'_>| match source {
        LatencySource::Client => *measured.get(it.region?)?,
        LatencySource::Probe => it.probed,
    };
    let Some(lowest) = candidates.iter().filter_map(latency).min() else {
        return Step::Narrowed(candidates.keep_all().with_note(match source {
            LatencySource::Client => {
                format_args!("no latency is known between the client and a member: all go on")
            }
            LatencySource::Probe => format_args!("no member has a latency yet: all go on"),
        }));
    };
    let is_fastest = |it: &&Candidate<'_>| latency(it) == Some(lowest);
    let fastest = candidates.asked(|all| all.filter(is_fastest).map(|it| it.member.name()).min());
    let fastest = fastest.flatten().map_or("", Name::as_str);
    let highest = lowest.saturating_add(window);
    Step::Narrowed(candidates.keep(
        |it| latency(it).is_some_and(|latency| latency <= highest),
        |it| match (latency(it), source) {
            (Some(latency), _) => {
                let (gap, window) = (millis(latency - lowest), millis(window));
                format!("{gap} slower than {fastest}, the window is {window}")
            }
            (None, LatencySource::Client) => {
                format!("no latency known, and {fastest} has {}", millis(lowest))
            }
            (None, LatencySource::Probe) => {
                format!("no latency yet, and {fastest} has {}", millis(lowest))
            }
        },
    ))
}

/// `45 ms`, `0.125 ms`: rounded up to microseconds, so that what is above a window looks so.
fn millis(duration: Duration) -> String {
    let micros = duration.as_nanos().div_ceil(1_000);
    let (whole, part) = (micros / 1_000, micros % 1_000);
    if part == 0 {
        return format!("{whole} ms");
    }
    let part = format!("{part:03}");
    format!("{whole}.{} ms", part.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_milliseconds_without_trailing_zeros() {
        for (nanos, text) in [
            (0, "0 ms"),
            (45_000_000, "45 ms"),
            (100_000_000, "100 ms"),
            (1_500_000, "1.5 ms"),
            (20_000, "0.02 ms"),
            (1_234_000, "1.234 ms"),
            (30_000_001, "30.001 ms"),
            (999_999_999, "1000 ms"),
        ] {
            assert_eq!(millis(Duration::from_nanos(nanos)), text);
        }
        assert_eq!(millis(Duration::MAX), "18446744073709551616000 ms");
    }
}
