use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Each sample moves the smoothed latency by one part in this many of the distance.
const SMOOTHING: u32 = 4;
/// Least move of the smoothed latency that is published.
const DEAD_BAND: Duration = Duration::from_millis(1);
/// Least move that is published, as a part of the published latency; the larger of the two counts.
const DEAD_BAND_PART: u32 = 10;

/// Latency of one stream of probes, steady enough to route by.
///
/// Good samples go into an exponentially weighted moving average (weight 1/4). What is published
/// follows it only when the two are more than 1 ms and more than 10 % apart, so noise does not move
/// traffic. A step shows with the first sample after it, and two thirds of it within four.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    values: Option<Values>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Values {
    smoothed: Duration,
    published: Duration,
}

impl Latency {
    /// Takes the latency of the next good sample. Failed ones say nothing about it.
    pub fn record(&mut self, sample: Duration) {
        let Some(Values {
            smoothed,
            published,
        }) = &mut self.values
        else {
            self.values = Some(Values {
                smoothed: sample,
                published: sample,
            });
            return;
        };
        *smoothed = if sample > *smoothed {
            *smoothed + (sample - *smoothed) / SMOOTHING
        } else {
            *smoothed - (*smoothed - sample) / SMOOTHING
        };
        let dead_band = DEAD_BAND.max(*published / DEAD_BAND_PART);
        if smoothed.abs_diff(*published) > dead_band {
            *published = *smoothed;
        }
    }

    /// The latency that policies see; none before the first good sample.
    pub fn published(&self) -> Option<Duration> {
        self.values.map(|values| values.published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn after(samples: impl IntoIterator<Item = Duration>) -> Latency {
        let mut latency = Latency::default();
        samples
            .into_iter()
            .for_each(|sample| latency.record(sample));
        latency
    }

    #[test]
    fn nothing_is_published_before_the_first_sample() {
        assert_eq!(Latency::default().published(), None);
        assert_eq!(after([us(700)]).published(), Some(us(700)));
    }

    #[test]
    fn noise_on_two_backends_1_ms_apart_changes_nothing_over_60_samples() {
        for base in [10_000, 11_000] {
            // Up to 500 us to both sides, from a linear congruential generator.
            let mut noise = 1_u32;
            let mut latency = after([us(base)]);
            for sample in 0..60 {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                latency.record(us(base - 500 + u64::from(noise >> 16) % 1_001));
                assert_eq!(latency.published(), Some(us(base)), "sample {sample}");
            }
        }
    }

    #[test]
    fn a_step_of_30_ms_shows_at_once_and_by_two_thirds_within_4_samples() {
        for (from, to) in [(10_000, 40_000_u64), (40_000, 10_000)] {
            let mut latency = after([us(from); 20]);
            latency.record(us(to));
            assert_ne!(latency.published(), Some(us(from)));
            (0..3).for_each(|_| latency.record(us(to)));
            let left = latency.published().unwrap().abs_diff(us(to));
            assert!(left < us(10_000), "{left:?}");
        }
    }

    #[test]
    fn the_published_value_is_never_off_by_more_than_the_dead_band() {
        let mut latency = after([us(50_000)]);
        for step in 0..200_u64 {
            latency.record(us(step * 7_919 % 90_000));
            let Values {
                smoothed,
                published,
            } = latency.values.unwrap();
            let off = smoothed.abs_diff(published);
            assert!(off <= DEAD_BAND.max(published / 10), "{off:?} at {step}");
        }
    }

    #[test]
    fn it_comes_back_as_it_was_kept() {
        for latency in [Latency::default(), after([us(10_000), us(10_300)])] {
            let text = serde_json::to_string(&latency).unwrap();
            assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        }
    }

    #[test]
    fn garbage_is_refused_or_harmless() {
        for text in [
            "[1]",
            r#"{"values":{"smoothed":1}}"#,
            r#"{"values":{"smoothed":{"secs":-1,"nanos":0},"published":{"secs":0,"nanos":0}}}"#,
            r#"{"values":null,"more":1}"#,
        ] {
            assert!(serde_json::from_str::<Latency>(text).is_err(), "{text}");
        }
        let mut latency = Latency {
            values: Some(Values {
                smoothed: Duration::MAX,
                published: Duration::ZERO,
            }),
        };
        for sample in [Duration::MAX, Duration::ZERO, us(1)] {
            latency.record(sample);
        }
        assert!(latency.published() < Some(Duration::MAX));
    }
}
