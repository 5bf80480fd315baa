//! From probe results to health: one file per rule. Pure.

mod burst;
mod consecutive;
mod leaky;
mod standing;
mod window;

use serde::{Deserialize, Serialize};

use self::{
    burst::Burst, consecutive::Consecutive, leaky::Leaky, standing::Standing, window::Window,
};
use crate::model::{BurstRule, ConsecutiveRule, Health, HealthRule, LeakyRule};

/// What the probes of one member said so far, as far as its rule looks back, and what the rule makes of
/// it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct History(Kind);

/// In the state file the names of their numbers tell them apart; earlier daemons wrote windows alike.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
enum Kind {
    Burst(Burst),
    Consecutive(Consecutive),
    Leaky(Leaky),
    Window(Window),
}

impl History {
    /// One that has seen nothing.
    pub fn new(rule: HealthRule) -> Self {
        Self::from_standing(rule, Standing::default())
    }

    /// The same history under another rule. Between windows the newest samples that fit are kept, so that a
    /// larger one can be undecided again. Else the verdict stands, as if it had long been so.
    pub fn under(self, rule: HealthRule) -> Self {
        if self.rule() == rule {
            return self;
        }
        let standing = match (self.0, rule) {
            (Kind::Window(window), HealthRule::Window(rule)) => {
                return Self(Kind::Window(window.under(rule)));
            }
            (Kind::Burst(burst), HealthRule::Burst(_)) => burst.standing,
            (Kind::Consecutive(run), HealthRule::Consecutive(_)) => run.standing,
            (Kind::Leaky(count), HealthRule::Leaky(_)) => count.standing,
            (other, _) => Standing::of(Self(other).health()),
        };
        Self::from_standing(rule, standing)
    }

    fn from_standing(rule: HealthRule, standing: Standing) -> Self {
        Self(match rule {
            HealthRule::Burst(rule) => Kind::Burst(Burst::new(rule, standing)),
            HealthRule::Consecutive(rule) => Kind::Consecutive(Consecutive { rule, standing }),
            HealthRule::Leaky(rule) => Kind::Leaky(Leaky::new(rule, standing)),
            HealthRule::Window(rule) => Kind::Window(Window::new(rule, standing.health)),
        })
    }

    fn rule(&self) -> HealthRule {
        match &self.0 {
            Kind::Burst(burst) => HealthRule::Burst(burst.rule),
            Kind::Consecutive(run) => HealthRule::Consecutive(run.rule),
            Kind::Leaky(count) => HealthRule::Leaky(count.rule),
            Kind::Window(window) => HealthRule::Window(window.rule),
        }
    }

    /// Takes the next result.
    pub fn record(&mut self, good: bool) {
        match &mut self.0 {
            Kind::Burst(burst) => burst.record(good),
            Kind::Consecutive(run) => run.record(good),
            Kind::Leaky(count) => count.record(good),
            Kind::Window(window) => window.record(good),
        }
    }

    /// What the rule says. A member is [`Health::Checking`] until there is a verdict.
    pub fn health(&self) -> Health {
        match &self.0 {
            Kind::Burst(burst) => burst.standing.health,
            Kind::Consecutive(run) => run.standing.health,
            Kind::Leaky(count) => count.standing.health,
            Kind::Window(window) => window.health(),
        }
    }

    /// Whether there is a verdict, or there were [so many probes](first_probes) that nobody need wait for
    /// one any more. Under one rule what is decided stays decided.
    pub fn decided(&self) -> bool {
        let first = first_probes(self.rule());
        match &self.0 {
            Kind::Burst(burst) => burst.standing.decided(first),
            Kind::Consecutive(run) => run.standing.decided(first),
            Kind::Leaky(count) => count.standing.decided(first),
            Kind::Window(window) => window.decided(),
        }
    }

    /// What stands behind the health, for people: `3 failures in a row, down at 4`.
    pub fn why(&self) -> String {
        match &self.0 {
            Kind::Burst(burst) => burst.why(),
            Kind::Consecutive(run) => run.why(),
            Kind::Leaky(count) => count.why(),
            Kind::Window(window) => window.why(),
        }
    }
}

/// Probes after which every rule is [decided](History::decided), and says what they say, whatever it held
/// before: as many good ones in a row as it takes bring a member up, and as many bad ones down.
///
/// An empty window is decided when x good or x bad samples are among 2x - 1. One that an earlier daemon
/// left is overruled: x good samples make it up, and n - x + 1 bad ones down, even a full good one. By
/// the other rules good and bad probes can take turns for ever; so they have the probes in which one of
/// both could have come to its end.
pub(super) fn first_probes(rule: HealthRule) -> usize {
    let either = |bad: u8, good: u8| usize::from(bad) + usize::from(good) - 1;
    match rule {
        HealthRule::Burst(rule) => burst_probes(rule),
        HealthRule::Consecutive(ConsecutiveRule { fall, rise }) => either(fall.get(), rise.get()),
        HealthRule::Leaky(LeakyRule { down, up, .. }) => either(down.get(), up.get()),
        HealthRule::Window(rule) => {
            let (window, required) = (rule.window(), rule.required());
            (2 * required - 1).min(window).max(window - required + 1)
        }
    }
}

fn burst_probes(rule: BurstRule) -> usize {
    usize::from(rule.retries()) + usize::from(rule.rise().get()) - 1
}

#[cfg(test)]
mod tests;
