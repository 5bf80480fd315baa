use serde::{Deserialize, Serialize};

use super::standing::{Standing, in_a_row};
use crate::model::{ConsecutiveRule, Health};

/// Failures in a row bring a member down, good probes in a row bring it up (D29).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Consecutive {
    pub(super) rule: ConsecutiveRule,
    pub(super) standing: Standing,
}

impl Consecutive {
    pub(super) fn record(&mut self, good: bool) {
        self.standing.take(good);
        if self.standing.bad_in_a_row() >= self.rule.fall.get().into() {
            self.standing.health = Health::Down;
        } else if self.standing.good_in_a_row() >= self.rule.rise.get().into() {
            self.standing.health = Health::Up;
        }
    }

    pub(super) fn why(&self) -> String {
        let ConsecutiveRule { fall, rise } = self.rule;
        self.standing.why(rise.get(), || {
            let failures = in_a_row(self.standing.bad_in_a_row(), "failure");
            format!("{failures}, down at {fall}")
        })
    }
}
