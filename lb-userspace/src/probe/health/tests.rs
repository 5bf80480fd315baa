use std::num::NonZeroU8;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::model::WindowRule;

fn count(number: u8) -> NonZeroU8 {
    NonZeroU8::new(number).unwrap()
}

fn window(window: i64, required: i64) -> HealthRule {
    HealthRule::Window(WindowRule::new(window, required).unwrap())
}

fn consecutive(fall: u8, rise: u8) -> HealthRule {
    let [fall, rise] = [fall, rise].map(count);
    HealthRule::Consecutive(ConsecutiveRule { fall, rise })
}

fn burst(retries: u8, failures: u8, rise: u8) -> HealthRule {
    HealthRule::Burst(BurstRule::new(retries, failures, count(rise)).unwrap())
}

fn leaky(down: u8, ok: u8, up: u8) -> HealthRule {
    let [down, ok, up] = [down, ok, up].map(count);
    HealthRule::Leaky(LeakyRule { down, ok, up })
}

fn after(rule: HealthRule, samples: &[u8]) -> History {
    let mut history = History::new(rule);
    samples.iter().for_each(|good| history.record(*good == 1));
    history
}

/// The health after each sample: `c`hecking, `d`own or `u`p.
fn course(rule: HealthRule, samples: &str) -> String {
    let mut history = History::new(rule);
    let step = |sample| {
        history.record(sample == '1');
        match history.health() {
            Health::Checking => 'c',
            Health::Down => 'd',
            Health::Up => 'u',
        }
    };
    samples.chars().map(step).collect()
}

#[test]
fn runs_of_the_right_length_turn_a_member_and_shorter_ones_do_not() {
    let rule = consecutive(3, 2);
    assert_eq!(course(rule, "1100100011"), "cuuuuuuddu");
    assert_eq!(course(rule, "101010"), "cccccc");
    assert_eq!(course(consecutive(1, 1), "1010"), "udud");
}

#[test]
fn enough_of_a_burst_brings_a_member_down_though_some_of_it_are_good() {
    let rule = burst(5, 3, 1);
    assert_eq!(
        course(rule, "1011010"),
        "uuuuuuu",
        "a burst with 3 good ones is over"
    );
    assert_eq!(course(rule, "101010"), "uuuuud");
    assert_eq!(
        course(rule, "10111000"),
        "uuuuuuud",
        "the next one counts anew"
    );
    // The example of the documentation: 6 of 10.
    let rule = burst(10, 6, 1);
    assert_eq!(course(rule, "10101010101"), "uuuuuuuuuuu");
    assert_eq!(course(rule, "1010100100100"), "uuuuuuuuuduuu");
    assert_eq!(course(rule, "1010100000"), "uuuuuuuudd");
}

#[test]
fn failures_add_up_until_good_probes_in_a_row_clear_them() {
    let rule = leaky(3, 2, 2);
    assert_eq!(course(rule, "110101100100"), "cuuuuuuuuudd");
    assert_eq!(course(rule, "11010100"), "cuuuuudd");
    // Being up takes more than clearing.
    assert_eq!(course(leaky(1, 1, 3), "0110111"), "ddddddu");
    assert_eq!(
        course(leaky(2, 5, 1), "10110"),
        "uuuud",
        "one good probe brings up, and clears nothing"
    );
}

#[track_caller]
fn says(rule: HealthRule, samples: &[u8], why: &str) {
    let history = after(rule, samples);
    assert_eq!(history.why(), why);
    let is_checking = history.health() == Health::Checking;
    assert_eq!(why.starts_with("checking: "), is_checking, "{why}");
}

#[test]
fn why_counts_what_is_in_a_row() {
    let rule = consecutive(4, 2);
    says(rule, &[], "checking: no probe so far");
    says(rule, &[0], "checking: 1 failure in a row, down at 4");
    says(rule, &[0, 1], "checking: 1 good probe in a row, up at 2");
    says(rule, &[0, 1, 1], "the last probe was good");
    says(rule, &[1, 1, 0, 0, 0], "3 failures in a row, down at 4");
    says(rule, &[0; 5], "5 failures in a row, down at 4");
    says(
        consecutive(1, 3),
        &[0, 1, 1],
        "2 good probes in a row, up at 3",
    );
    let changed = after(rule, &[1, 1]).under(burst(3, 0, 1));
    assert_eq!(changed.why(), "no probe since its rule was changed");
}

#[test]
fn why_tells_of_a_burst() {
    let under_way = "2 failures in 3 probes of a burst, down at 6 in 10";
    says(burst(10, 6, 1), &[1, 0, 1, 0], under_way);
    let begun = "checking: 1 failure in 1 probe of a burst, down at 3 in 3";
    says(burst(3, 0, 1), &[0], begun);
    says(burst(3, 0, 1), &[0, 0, 1], "the last probe was good");
    let down = "a burst had 2 failures in 3 probes; the last probe was bad";
    says(burst(3, 2, 2), &[0, 0, 0], down);
    says(burst(3, 2, 2), &[0, 0, 1], "1 good probe in a row, up at 2");
}

#[test]
fn why_tells_what_has_added_up() {
    says(
        leaky(9, 9, 9),
        &[0, 1, 0],
        "checking: 2 failures, down at 9",
    );
    let counting = "1 failure, down at 3, cleared by 2 good in a row";
    says(leaky(3, 2, 1), &[1, 0], counting);
    says(leaky(3, 2, 1), &[1, 0, 1, 1], "the last probe was good");
    let down = "2 failures added up; the last probe was bad";
    says(leaky(2, 2, 2), &[0, 0], down);
    says(leaky(2, 2, 2), &[0, 0, 1], "1 good probe in a row, up at 2");
}

#[test]
fn the_first_probes_decide_every_outcome_and_overrule_every_kept_verdict() {
    for rule in [
        consecutive(4, 1),
        consecutive(2, 3),
        burst(3, 0, 1),
        burst(5, 3, 3),
        leaky(3, 2, 4),
        window(1, 1),
        window(4, 1),
        window(4, 2),
        window(5, 3),
        window(6, 6),
    ] {
        let first = first_probes(rule);
        let bits = |bits: u32, count: usize| (0..count).map(move |bit| bits >> bit & 1 == 1);
        let played = |kept: Health, bits: &mut dyn Iterator<Item = bool>| {
            let mut history = History::from_standing(rule, Standing::of(kept));
            bits.for_each(|good| history.record(good));
            history
        };
        let decides = |count: usize| {
            let mut all = 0..1_u32 << count;
            all.all(|it| played(Health::Checking, &mut bits(it, count)).decided())
        };
        assert!(decides(first), "{rule:?}");
        let good = played(Health::Down, &mut bits(u32::MAX, first));
        let bad = played(Health::Up, &mut bits(0, first));
        assert_eq!(
            (good.health(), bad.health()),
            (Health::Up, Health::Down),
            "{rule:?}"
        );
        let too_few = |count: usize| {
            let good = played(Health::Down, &mut bits(u32::MAX, count)).health() == Health::Up;
            let bad = played(Health::Up, &mut bits(0, count)).health() == Health::Down;
            !decides(count) || !good || !bad
        };
        assert!(too_few(first - 1), "{rule:?} asks for too many");
    }
}

#[test]
fn a_changed_rule_keeps_the_verdict_and_counts_anew() {
    let rules = [
        consecutive(4, 1),
        burst(3, 0, 1),
        leaky(3, 2, 2),
        window(5, 3),
    ];
    for (old, new) in rules.iter().flat_map(|old| rules.map(|new| (*old, new))) {
        for samples in [&[0; 9], &[1; 9]] {
            let before = after(old, samples);
            let history = before.clone().under(new);
            assert_eq!(history.health(), before.health(), "{old:?} {new:?}");
            assert_eq!(history.rule(), new);
        }
        let undecided = History::new(old).under(new);
        assert_eq!(undecided, History::new(new));
    }
    // One failure too few, under the rule before and after.
    let stricter = after(consecutive(4, 1), &[1, 0, 0]).under(consecutive(3, 1));
    assert_eq!(stricter.health(), Health::Up);
    assert_eq!(stricter.why(), "2 failures in a row, down at 3");
}

#[test]
fn windows_of_earlier_daemons_are_read() {
    let text = r#"{"window":4,"required":2,"samples":[true,false,true]}"#;
    let history: History = serde_json::from_str(text).unwrap();
    assert_eq!(history, after(window(4, 2), &[1, 0, 1]));
}

#[test]
fn no_rule_is_read_that_can_not_be() {
    let good = serde_json::to_string(&after(burst(3, 2, 1), &[0])).unwrap();
    assert!(serde_json::from_str::<History>(&good).is_ok());
    for (part, instead) in [
        ("\"burst\":3", "\"burst\":0"),
        ("\"burst\":3", "\"burst\":128"),
        ("\"failures\":2", "\"failures\":4"),
        ("\"rise\":1", "\"rise\":0"),
        ("\"health\":\"checking\"", "\"health\":\"odd\""),
        ("\"sent\":1", "\"sent\":-1"),
        ("\"sent\":1", "\"sent\":1,\"more\":1"),
    ] {
        assert!(good.contains(part), "{part} in {good}");
        let text = good.replacen(part, instead, 1);
        assert!(serde_json::from_str::<History>(&text).is_err(), "{text}");
    }
}

fn rules() -> impl Strategy<Value = HealthRule> {
    let small = 1_u8..6;
    prop_oneof![
        (small.clone(), small.clone()).prop_map(|(fall, rise)| consecutive(fall, rise)),
        (small.clone(), 0_u8..6, small.clone()).prop_map(|(retries, failures, rise)| burst(
            retries,
            failures.min(retries),
            rise
        )),
        (small.clone(), small.clone(), small.clone())
            .prop_map(|(down, ok, up)| leaky(down, ok, up)),
        (small.clone(), small).prop_map(|(n, x)| window(n.into(), x.min(n).into())),
    ]
}

proptest! {
    #[test]
    fn a_restart_between_two_probes_does_not_show(
        rule in rules(),
        samples in vec(any::<bool>(), 0..40),
        restart in 0..40_usize,
    ) {
        let mut uninterrupted = History::new(rule);
        let mut kept = History::new(rule);
        for (i, good) in samples.into_iter().enumerate() {
            if i == restart {
                let text = serde_json::to_string(&kept).unwrap();
                kept = serde_json::from_str::<History>(&text).unwrap().under(rule);
            }
            uninterrupted.record(good);
            kept.record(good);
            prop_assert_eq!(&kept, &uninterrupted);
        }
    }

    #[test]
    fn what_is_decided_stays_decided(rule in rules(), samples in vec(any::<bool>(), 0..40)) {
        let mut history = History::new(rule);
        let mut decided = false;
        let mut has_verdict = false;
        for good in samples {
            history.record(good);
            prop_assert!(history.decided() || !decided);
            prop_assert!(history.health() != Health::Checking || !has_verdict);
            decided = history.decided();
            has_verdict = history.health() != Health::Checking;
        }
    }

    #[test]
    fn garbage_in_the_counts_of_a_state_file_does_no_harm(
        sent in any::<u8>(),
        failed in any::<u8>(),
        run in any::<u32>(),
        samples in vec(any::<bool>(), 0..20),
    ) {
        let standing = format!(r#"{{"health":"up","seen":{run},"good":false,"run":{run}}}"#);
        for text in [
            format!(r#"{{"rule":{{"burst":3,"failures":2,"rise":1}},"standing":{standing},"sent":{sent},"failed":{failed}}}"#),
            format!(r#"{{"rule":{{"down":3,"ok":2,"up":1}},"standing":{standing},"failures":{failed}}}"#),
            format!(r#"{{"rule":{{"fall":3,"rise":2}},"standing":{standing}}}"#),
        ] {
            let mut history: History = serde_json::from_str(&text).unwrap();
            samples.iter().for_each(|good| history.record(*good));
            let _ = history.why();
        }
    }
}
