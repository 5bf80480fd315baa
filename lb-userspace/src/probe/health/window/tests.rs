use super::*;
fn window(window: i64, required: i64, samples: &[u8]) -> Window {
    let mut result = Window::new(WindowRule::new(window, required).unwrap(), Health::Checking);
    samples.iter().for_each(|good| result.record(*good == 1));
    result
}

#[test]
fn a_missing_sample_counts_as_failure() {
    assert_eq!(window(5, 3, &[]).health(), Health::Checking);
    assert_eq!(window(5, 3, &[1, 1]).health(), Health::Checking);
    assert_eq!(window(5, 3, &[1, 1, 1]).health(), Health::Up);
}

#[test]
fn enough_of_one_kind_or_a_full_window_decides() {
    for (samples, health) in [
        (&[][..], Health::Checking),
        (&[0], Health::Checking),
        (&[0, 1], Health::Checking),
        (&[0, 0], Health::Down),
        (&[1, 1], Health::Up),
        (&[0, 1, 0], Health::Down),
        (&[0, 1, 1], Health::Up),
    ] {
        let window = window(4, 2, samples);
        assert_eq!(window.health(), health, "{samples:?}");
        assert_eq!(window.decided(), health != Health::Checking, "{samples:?}");
    }
    assert_eq!(window(4, 4, &[1, 0, 1]).health(), Health::Checking);
    assert_eq!(window(4, 4, &[1, 0, 1, 1]).health(), Health::Down);
}

#[test]
fn once_decided_stays_decided() {
    for rule in [(1, 1), (4, 2), (4, 3), (5, 3), (6, 1), (6, 6)] {
        for history in 0..1_u32 << 12 {
            let mut window = window(rule.0, rule.1, &[]);
            let mut decided = false;
            for bit in 0..12 {
                window.record(history >> bit & 1 == 1);
                assert!(window.decided() || !decided, "{rule:?} {history:b} {bit}");
                decided = window.decided();
            }
            assert!(decided);
        }
    }
}

#[test]
fn why_names_the_counts() {
    for (window, why) in [
        (window(4, 2, &[]), "checking: 0 of 2 good probes so far"),
        (window(4, 2, &[1]), "checking: 1 of 2 good probes so far"),
        (
            window(4, 2, &[0, 0, 1, 0, 0]),
            "1 of the last 4 probes was good, 2 needed",
        ),
        (
            window(4, 2, &[1, 1]),
            "2 of the last 2 probes were good, 2 needed",
        ),
        (window(4, 1, &[0]), "the last probe was bad"),
        (window(1, 1, &[0, 1]), "the last probe was good"),
    ] {
        assert_eq!(window.why(), why);
    }
}

#[test]
fn a_kept_window_comes_back_as_it_was() {
    for samples in [&[][..], &[1], &[0, 1, 1, 0, 1, 1]] {
        let window = window(5, 3, samples);
        let text = serde_json::to_string(&window).unwrap();
        assert_eq!(
            serde_json::from_str::<Window>(&text).unwrap(),
            window,
            "{text}"
        );
    }
}

#[test]
fn a_changed_rule_keeps_the_newest_samples_that_fit() {
    let old = window(6, 3, &[1, 1, 1, 0, 0, 1]);
    let small = WindowRule::new(3, 2).unwrap();
    assert_eq!(old.clone().under(small), window(3, 2, &[0, 0, 1]));
    let large = WindowRule::new(10, 8).unwrap();
    assert_eq!(old.clone().under(large).health(), Health::Checking);
    assert_eq!(
        old.clone().under(large).why(),
        "checking: 4 of 8 good probes so far"
    );
    assert_eq!(old.clone().under(WindowRule::new(6, 3).unwrap()), old);
}

#[test]
fn garbage_is_not_adopted() {
    let long = format!(
        r#"{{"window":4,"required":2,"samples":[{}true]}}"#,
        "true,".repeat(4)
    );
    for (text, reason) in [
        (long.as_str(), "more samples than `window`"),
        (
            r#"{"window":0,"required":0,"samples":[]}"#,
            "`window` is 1 to 255",
        ),
        (
            r#"{"window":-1,"required":2,"samples":[]}"#,
            "`window` is 1 to 255",
        ),
        (
            r#"{"window":4,"required":5,"samples":[]}"#,
            "`required` is 1 to `window`",
        ),
        (
            r#"{"window":256,"required":2,"samples":[]}"#,
            "`window` is 1 to 255",
        ),
        (
            r#"{"window":4,"required":2,"samples":[1]}"#,
            "expected a boolean",
        ),
        (
            r#"{"window":4,"required":2,"samples":[],"x":1}"#,
            "unknown field",
        ),
        (r#"{"window":4,"required":2}"#, "missing field"),
        ("[]", "invalid length"),
        ("", "EOF"),
    ] {
        let error = serde_json::from_str::<Window>(text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
