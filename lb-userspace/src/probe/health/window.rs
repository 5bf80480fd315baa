use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::{Health, WindowRule};

/// The newest probe results of one member, and what its rule makes of them (S37, S38).
///
/// Results that are still missing count as failures (R3), so a new member is healthy as soon as it
/// has the required number of good ones, not before.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub(super) struct Window {
    pub(super) rule: WindowRule,
    /// Oldest first, at most `rule.window()`.
    samples: VecDeque<bool>,
}

impl Window {
    /// A window full of what makes a member so; an empty one for [`Health::Checking`].
    pub(super) fn new(rule: WindowRule, health: Health) -> Self {
        let samples = match health {
            Health::Checking => VecDeque::with_capacity(rule.window()),
            Health::Down | Health::Up => vec![health == Health::Up; rule.window()].into(),
        };
        Self { rule, samples }
    }

    /// The same history under another rule: the newest samples that fit into its window.
    ///
    /// A larger window can be undecided again, as the samples that it asks for were never taken or
    /// are forgotten.
    pub(super) fn under(mut self, rule: WindowRule) -> Self {
        self.rule = rule;
        self.forget();
        self
    }

    /// Takes the next result.
    pub(super) fn record(&mut self, good: bool) {
        self.samples.push_back(good);
        self.forget();
    }

    /// What the rule says. A member is [`Health::Checking`] until the window is
    /// [decided](Self::decided).
    pub(super) fn health(&self) -> Health {
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
    pub(super) fn decided(&self) -> bool {
        let (seen, good) = (self.samples.len(), self.good());
        good >= self.rule.required()
            || seen - good >= self.rule.required()
            || seen == self.rule.window()
    }

    /// What stands behind the health, for people.
    pub(super) fn why(&self) -> String {
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
    window: i64,
    required: i64,
    samples: VecDeque<bool>,
}

impl From<Window> for Kept {
    fn from(Window { rule, samples }: Window) -> Self {
        Self {
            window: rule.window() as i64,
            required: rule.required() as i64,
            samples,
        }
    }
}

impl TryFrom<Kept> for Window {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, String> {
        let rule =
            WindowRule::new(kept.window, kept.required).map_err(|error| error.to_string())?;
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
mod tests;
