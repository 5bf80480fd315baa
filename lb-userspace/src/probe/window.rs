use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::{Health, HealthRule};

/// The newest probe results of one member, and what its rule makes of them (S37, S38).
///
/// Results that are still missing count as failures (R3), so a new member is healthy as soon as it
/// has the required number of good ones, not before.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub struct Window {
    rule: HealthRule,
    /// Oldest first, at most `rule.window()`.
    samples: VecDeque<bool>,
}

impl Window {
    /// A window that has seen nothing.
    pub fn new(rule: HealthRule) -> Self {
        Self {
            rule,
            samples: VecDeque::with_capacity(rule.window()),
        }
    }

    /// The same history under another rule: the newest samples that fit into its window.
    ///
    /// A larger window can be undecided again, as the samples that it asks for were never taken or
    /// are forgotten.
    pub fn under(mut self, rule: HealthRule) -> Self {
        self.rule = rule;
        self.forget();
        self
    }

    /// Takes the next result.
    pub fn record(&mut self, good: bool) {
        self.samples.push_back(good);
        self.forget();
    }

    /// What the rule says. A member is [`Health::Checking`] until the window is
    /// [decided](Self::decided).
    pub fn health(&self) -> Health {
        if self.good() >= self.rule.required() {
            Health::Up
        } else if self.decided() {
            Health::Down
        } else {
            Health::Checking
        }
    }

    /// Whether there is a first verdict: as many good samples as required, or as many bad ones, or
    /// a full window. Under one rule a decided window stays decided.
    pub fn decided(&self) -> bool {
        let (seen, good) = (self.samples.len(), self.good());
        good >= self.rule.required()
            || seen - good >= self.rule.required()
            || seen == self.rule.window()
    }

    /// What stands behind the health, for people.
    pub fn why(&self) -> String {
        let (seen, good, required) = (self.samples.len(), self.good(), self.rule.required());
        if !self.decided() {
            return format!("checking: {good} of {required} good probes so far");
        }
        match (seen, good) {
            (1, 0) => "the last probe was bad".to_owned(),
            (1, _) => "the last probe was good".to_owned(),
            (_, 1) => format!("1 of the last {seen} probes was good, {required} needed"),
            _ => format!("{good} of the last {seen} probes were good, {required} needed"),
        }
    }

    fn good(&self) -> usize {
        self.samples.iter().filter(|good| **good).count()
    }

    fn forget(&mut self) {
        let excess = self.samples.len().saturating_sub(self.rule.window());
        self.samples.drain(..excess);
    }
}

/// The form in the state directory.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    window: u8,
    required: u8,
    samples: VecDeque<bool>,
}

impl From<Window> for Kept {
    fn from(Window { rule, samples }: Window) -> Self {
        Self {
            // A rule holds bytes: neither conversion saturates.
            window: u8::try_from(rule.window()).unwrap_or(u8::MAX),
            required: u8::try_from(rule.required()).unwrap_or(u8::MAX),
            samples,
        }
    }
}

impl TryFrom<Kept> for Window {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, String> {
        let rule = HealthRule::new(kept.window.into(), kept.required.into())
            .map_err(|error| error.to_string())?;
        if kept.samples.len() > rule.window() {
            return Err("more samples than `window`".to_owned());
        }
        Ok(Self {
            rule,
            samples: kept.samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::vector;

    fn window(window: i64, required: i64, samples: &[u8]) -> Window {
        let mut result = Window::new(HealthRule::new(window, required).unwrap());
        samples.iter().for_each(|good| result.record(*good == 1));
        result
    }

    /// Plays the samples of a vector; `U` is everything that is not up.
    fn replay(id: &str, rule: HealthRule) {
        let mut window = Window::new(rule);
        let samples = vector(id, "obs");
        let samples = samples.split('(').next().unwrap();
        let states: String = (samples.chars().filter(|c| matches!(c, '0' | '1')))
            .map(|sample| {
                window.record(sample == '1');
                if window.health() == Health::Up {
                    'H'
                } else {
                    'U'
                }
            })
            .collect();
        assert_eq!(states, vector(id, "expected"));
    }

    #[test]
    fn t160_three_of_the_last_five() {
        replay("T160", HealthRule::new(5, 3).unwrap());
    }

    #[test]
    fn t161_two_of_the_last_four() {
        replay("T161", HealthRule::DEFAULT);
    }

    #[test]
    fn t162_three_of_the_last_four() {
        replay("T162", HealthRule::new(4, 3).unwrap());
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
        let small = HealthRule::new(3, 2).unwrap();
        assert_eq!(old.clone().under(small), window(3, 2, &[0, 0, 1]));
        let large = HealthRule::new(10, 8).unwrap();
        assert_eq!(old.clone().under(large).health(), Health::Checking);
        assert_eq!(
            old.clone().under(large).why(),
            "checking: 4 of 8 good probes so far"
        );
        assert_eq!(old.clone().under(HealthRule::new(6, 3).unwrap()), old);
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
                "`window` is 1 to 64",
            ),
            (
                r#"{"window":65,"required":2,"samples":[]}"#,
                "`window` is 1 to 64",
            ),
            (
                r#"{"window":4,"required":5,"samples":[]}"#,
                "`required` is 1 to `window`",
            ),
            (r#"{"window":256,"required":2,"samples":[]}"#, "expected u8"),
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
}
