use serde::{Deserialize, Serialize};

use super::standing::{Standing, counted};
use crate::model::{BurstRule, Health};

/// A bad probe begins a burst; when enough of it are bad the member is down (D97).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Burst {
    pub(super) rule: BurstRule,
    pub(super) standing: Standing,
    /// Probes of the burst that is under way, of a member that is not down; 0 if none is.
    sent: u8,
    /// How many of them were bad.
    failed: u8,
}

impl Burst {
    pub(super) fn new(rule: BurstRule, standing: Standing) -> Self {
        Self {
            rule,
            standing,
            sent: 0,
            failed: 0,
        }
    }

    pub(super) fn record(&mut self, good: bool) {
        self.standing.take(good);
        if self.standing.health != Health::Down && (!good || self.sent > 0) {
            self.count(good);
        }
        let is_up = self.standing.good_in_a_row() >= self.rule.rise().get().into();
        if self.standing.health != Health::Up && is_up {
            self.turn(Health::Up);
        }
    }

    /// Takes a result into the burst. It is over when so many were good that the rest can not be enough.
    fn count(&mut self, good: bool) {
        self.sent = self.sent.saturating_add(1);
        self.failed = self.failed.saturating_add(u8::from(!good));
        let spare = self.rule.retries() - self.rule.failures();
        if self.failed >= self.rule.failures() {
            self.turn(Health::Down);
        } else if self.sent.saturating_sub(self.failed) > spare {
            self.turn(self.standing.health);
        }
    }

    fn turn(&mut self, health: Health) {
        self.standing.health = health;
        (self.sent, self.failed) = (0, 0);
    }

    pub(super) fn why(&self) -> String {
        let (failures, retries) = (self.rule.failures(), self.rule.retries());
        let failed = counted(self.failed.into(), "failure");
        let burst = format!(
            "{failed} in {} of a burst, down at {failures} in {retries}",
            counted(self.sent.into(), "probe")
        );
        match self.standing.health {
            Health::Up if self.sent > 0 => burst,
            Health::Down => self.standing.why(self.rule.rise().get(), || {
                format!(
                    "a burst had {failures} failures in {retries} probes; the last probe was bad"
                )
            }),
            Health::Checking | Health::Up => self.standing.why(self.rule.rise().get(), || burst),
        }
    }
}
