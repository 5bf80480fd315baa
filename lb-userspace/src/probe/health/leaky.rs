use serde::{Deserialize, Serialize};

use super::standing::{Standing, counted};
use crate::model::{Health, LeakyRule};

/// Failures add up until good probes in a row clear them; when the count is full the member is down
/// (D104).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leaky {
    pub(super) rule: LeakyRule,
    pub(super) standing: Standing,
    /// Failures that are not cleared, of a member that is not down.
    failures: u8,
}

impl Leaky {
    pub(super) fn new(rule: LeakyRule, standing: Standing) -> Self {
        Self {
            rule,
            standing,
            failures: 0,
        }
    }

    pub(super) fn record(&mut self, good: bool) {
        self.standing.take(good);
        let LeakyRule { down, ok, up } = self.rule;
        let good_in_a_row = self.standing.good_in_a_row();
        if !good && self.standing.health != Health::Down {
            self.failures = self.failures.saturating_add(1);
        }
        if good_in_a_row >= ok.get().into() {
            self.failures = 0;
        }
        if self.failures >= down.get() {
            self.turn(Health::Down);
        } else if self.standing.health != Health::Up && good_in_a_row >= up.get().into() {
            self.turn(Health::Up);
        }
    }

    fn turn(&mut self, health: Health) {
        self.standing.health = health;
        self.failures = 0;
    }

    pub(super) fn why(&self) -> String {
        let LeakyRule { down, ok, up } = self.rule;
        let count = || {
            format!(
                "{}, down at {down}",
                counted(self.failures.into(), "failure")
            )
        };
        match self.standing.health {
            Health::Up if self.failures > 0 => {
                format!("{}, cleared by {ok} good in a row", count())
            }
            Health::Down => self.standing.why(up.get(), || {
                format!("{down} failures added up; the last probe was bad")
            }),
            Health::Checking | Health::Up => self.standing.why(up.get(), count),
        }
    }
}
