use proptest::prelude::*;

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

/// Numbers from 0 to less than `below`, from a linear congruential generator.
fn random(seed: u32) -> impl FnMut(u64) -> u64 {
    let mut state = u64::from(seed);
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn nothing_is_published_before_the_first_sample() {
    assert_eq!(Latency::default().published(), None);
    assert_eq!(after([us(700)]).published(), Some(us(700)));
}

#[test]
fn a_late_first_sample_is_forgotten_with_the_second() {
    let latency = after([us(50_000), us(10_000)]);
    assert_eq!(latency.published(), Some(us(10_000)));
}

/// How often the faster one of two backends with these latencies becomes the slower one over 10,000
/// probes of each, by what is published, from the 20th probe on.
fn changes_of_place(
    seed: u32,
    bases: [u64; 2],
    late: impl Fn(&mut dyn FnMut(u64) -> u64) -> u64,
) -> usize {
    let mut random = random(seed);
    let mut backends = [Latency::default(), Latency::default()];
    let mut order = Vec::new();
    for _ in 0..10_000 {
        for (latency, base) in backends.iter_mut().zip(bases) {
            let noise = random(2_001);
            let late = late(&mut random);
            latency.record(us(base - 1_000 + noise + late));
        }
        order.push(backends[0].published() < backends[1].published());
    }
    order[20..]
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count()
}

#[test]
fn noise_of_1_ms_hardly_ever_changes_the_places_of_two_backends_1_ms_apart() {
    let changes = (0..50).map(|seed| changes_of_place(seed, [10_000, 11_000], |_| 0));
    let changes: Vec<_> = changes.collect();
    assert!(changes.iter().all(|it| *it <= 10), "{changes:?}");
    // So a minute at a probe each 200 ms is quiet.
    let quiet = changes.iter().sum::<usize>() as f64 / 50.0;
    assert!(quiet < 2.0, "{quiet} in 10,000 probes");
}

#[test]
fn a_probe_in_a_hundred_that_is_late_changes_them_seldom() {
    let late = |random: &mut dyn FnMut(u64) -> u64| match random(100) {
        0 => 5_000 + random(45_000),
        _ => 0,
    };
    let changes: Vec<_> = (0..50)
        .map(|seed| changes_of_place(seed, [10_000, 11_000], late))
        .collect();
    assert!(changes.iter().all(|it| *it <= 20), "{changes:?}");
}

#[test]
fn a_lone_outlier_changes_nothing() {
    for outlier in [0, 500_000] {
        let mut latency = after([us(10_000); 20]);
        for sample in [outlier, 10_000, 10_000, 10_000] {
            latency.record(us(sample));
            assert_eq!(latency.published(), Some(us(10_000)));
        }
    }
}

/// After how many samples a step from a latency that was long the same shows.
fn shows_after(rule: Smoothing, from: Duration, to: Duration) -> Option<usize> {
    let mut latency = after([from; 100]).under(rule);
    (1..=100).find(|_| {
        latency.record(to);
        latency.published() != Some(from)
    })
}

#[test]
fn a_step_of_30_ms_shows_within_the_stated_number_of_samples() {
    for (from, samples) in [
        (0, Some(2)),
        (10, Some(2)),
        (74, Some(2)),
        (76, Some(3)),
        (131, Some(3)),
        (132, Some(4)),
        // There 30 ms are within 10 %.
        (300, None),
    ] {
        let from = Duration::from_millis(from);
        let step = Duration::from_millis(30);
        let shown = shows_after(Smoothing::default(), from, from + step);
        assert_eq!(shown, samples, "{from:?}");
    }
}

#[test]
fn two_thirds_of_a_step_of_30_ms_show_within_5_samples() {
    for (from, to) in [(10_000, 40_000_u64), (40_000, 10_000)] {
        let mut latency = after([us(from); 20]);
        (0..5).for_each(|_| latency.record(us(to)));
        let left = latency.published().unwrap().abs_diff(us(to));
        assert!(left < us(10_000), "{left:?}");
    }
}

#[test]
fn the_settings_do_what_they_say() {
    let rule = |parts, dead_band, dead_band_percent| Smoothing {
        parts,
        dead_band: Duration::from_millis(dead_band),
        dead_band_percent,
    };
    let [from, to] = [100, 130].map(Duration::from_millis);
    for (rule, samples) in [
        (rule(1, 0, 0), Some(2)),
        (rule(1, 30, 0), None),
        (rule(1, 29, 0), Some(2)),
        (rule(1, 0, 30), None),
        (rule(1, 0, 29), Some(2)),
        (rule(4, 29, 0), Some(13)),
        (rule(64, 1, 0), Some(4)),
    ] {
        assert_eq!(shows_after(rule, from, to), samples, "{rule:?}");
    }
}

proptest! {
    #[test]
    fn a_step_shows_as_soon_as_its_smoothed_part_leaves_the_dead_band(
        from in 0..1_000_u32,
        step in 1..1_000_u32,
        parts in 1..=64_u32,
        dead_band in 0..100_u32,
        dead_band_percent in 0..=100_u32,
    ) {
        let rule = Smoothing {
            parts,
            dead_band: Duration::from_millis(dead_band.into()),
            dead_band_percent,
        };
        let band = f64::from(dead_band).max(f64::from(from * dead_band_percent) / 100.0);
        // The median is a sample behind.
        let smoothed = |sample: i32| {
            f64::from(step) * (1.0 - (1.0 - 1.0 / f64::from(parts)).powi(sample - 1))
        };
        let [from, step] = [from, step].map(|ms| Duration::from_millis(ms.into()));
        // On the very edge rounding decides.
        let edge = 0.001;
        match shows_after(rule, from, from + step) {
            Some(shown) => {
                let shown = i32::try_from(shown).unwrap();
                prop_assert!(smoothed(shown) > band - edge);
                prop_assert!(smoothed(shown - 1) < band + edge);
            }
            None => prop_assert!(smoothed(100) < band + edge),
        }
    }

    #[test]
    fn the_published_value_is_never_off_by_more_than_the_dead_band(
        samples in proptest::collection::vec(0..90_000_u64, 1..200),
    ) {
        let mut latency = Latency::default();
        for sample in samples {
            latency.record(us(sample));
            let Values { smoothed, published } = latency.values.unwrap();
            let off = smoothed.abs_diff(published);
            prop_assert!(off <= dead_band(Smoothing::default(), published));
        }
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
        r#"{"newest":[],"values":{"smoothed":1}}"#,
        r#"{"newest":[],"values":{"smoothed":{"secs":-1,"nanos":0},"published":{"secs":0,"nanos":0}}}"#,
        r#"{"newest":[],"values":null,"more":1}"#,
    ] {
        assert!(serde_json::from_str::<Latency>(text).is_err(), "{text}");
    }
    let mut latency = Latency {
        rule: Smoothing {
            parts: 0,
            dead_band: Duration::MAX,
            dead_band_percent: 100,
        },
        newest: vec![Duration::MAX; 7].into(),
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
