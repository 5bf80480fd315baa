use std::time::Duration;

use super::{Split, Step, candidate::Candidate};
use crate::model::LatencySource;

/// Keeps members whose latency is at most `window` above the lowest (S7, S12, S68, D87). A member
/// without a latency is left out while another one has one; when none has, all go on (R4).
pub(super) fn run(
    source: LatencySource,
    window: Duration,
    candidates: Vec<Candidate<'_>>,
) -> Step<'_> {
    let latency = |it: &Candidate<'_>| match source {
        LatencySource::Client => it.measured,
        LatencySource::Probe => it.probed,
    };
    let known = candidates.iter().filter_map(|it| Some((latency(it)?, it)));
    let lowest = known.min_by_key(|(latency, it)| (*latency, it.member.name()));
    let Some((lowest, fastest)) = lowest.map(|(latency, it)| (latency, it.member.name().clone()))
    else {
        let note = match source {
            LatencySource::Client => {
                "no latency is known between the client and a member: all go on"
            }
            LatencySource::Probe => "no member has a latency yet: all go on",
        };
        return Step::Narrowed(Split::all(candidates).with_note(note.to_owned()));
    };
    Step::Narrowed(Split::new(candidates, |it| {
        let Some(latency) = latency(it) else {
            let lowest = millis(lowest);
            return Some(match source {
                LatencySource::Client => format!("no latency known, and {fastest} has {lowest}"),
                LatencySource::Probe => format!("no latency yet, and {fastest} has {lowest}"),
            });
        };
        let gap = latency - lowest;
        (gap > window).then(|| {
            let (gap, window) = (millis(gap), millis(window));
            format!("{gap} slower than {fastest}, the window is {window}")
        })
    }))
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
