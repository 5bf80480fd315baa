use serde::{Deserialize, Serialize};

use crate::model::Health;

/// What the rules that wait for good probes in a row have in common: the verdict, and the newest results
/// that are alike.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Standing {
    pub(super) health: Health,
    /// Probes so far.
    seen: u32,
    /// What the newest result was.
    good: bool,
    /// How many of the newest ones were so.
    run: u32,
}

impl Default for Standing {
    fn default() -> Self {
        Self::of(Health::Checking)
    }
}

impl Standing {
    /// A verdict that was found in another way.
    pub(super) fn of(health: Health) -> Self {
        Self {
            health,
            seen: 0,
            good: false,
            run: 0,
        }
    }

    /// Takes the next result.
    pub(super) fn take(&mut self, good: bool) {
        self.seen = self.seen.saturating_add(1);
        self.run = match good == self.good {
            true => self.run.saturating_add(1),
            false => 1,
        };
        self.good = good;
    }

    /// How many of the newest results were good.
    pub(super) fn good_in_a_row(&self) -> u32 {
        if self.good { self.run } else { 0 }
    }

    /// How many of the newest results were bad.
    pub(super) fn bad_in_a_row(&self) -> u32 {
        if self.good { 0 } else { self.run }
    }

    /// Whether there is a verdict, or were `first` probes.
    pub(super) fn decided(&self, first: usize) -> bool {
        self.health != Health::Checking || self.seen as usize >= first
    }

    /// What stands behind the health; `bad` says it where the last probe was bad, and `up` is how many
    /// good ones in a row bring it up.
    pub(super) fn why(&self, up: u8, bad: impl FnOnce() -> String) -> String {
        let why = match (self.health, self.good) {
            (Health::Checking, _) if self.run == 0 => "no probe so far".to_owned(),
            _ if self.run == 0 => "no probe since its rule was changed".to_owned(),
            (Health::Up, true) => "the last probe was good".to_owned(),
            (_, true) => format!("{}, up at {up}", in_a_row(self.run, "good probe")),
            (_, false) => bad(),
        };
        match self.health {
            Health::Checking => format!("checking: {why}"),
            Health::Down | Health::Up => why,
        }
    }
}

/// `1 failure in a row`, `2 failures in a row`.
pub(super) fn in_a_row(count: u32, what: &str) -> String {
    format!("{} in a row", counted(count, what))
}

/// `1 failure`, `2 failures`.
pub(super) fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
