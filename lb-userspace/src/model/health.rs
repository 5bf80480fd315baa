use std::time::Duration;

use super::Ramp;

/// What the operator wants of a member, the stricter the greater.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    serde::Deserialize,
    serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Admin {
    /// Takes part.
    #[default]
    Enable,
    /// No new flows; running ones go on to their end; probes go on.
    Drain,
    /// No new flows; running TCP flows end by themselves, others move; probes stop.
    Disable,
}

/// What the probes say of a member.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// No verdict yet; see [`Initial`](super::Initial) for what follows (R3).
    Checking,
    /// Not healthy.
    Down,
    /// Healthy.
    Up,
}

/// Everything about one member that a policy may look at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MemberState {
    /// Configuration and operator together.
    pub admin: Admin,
    /// Why packets can not reach it, if they can not. Such a member is never used, not even by an
    /// all-down rule.
    pub unreachable: Option<String>,
    /// What the probes say.
    pub health: Health,
    /// Whether it gets traffic while it is [`Health::Checking`] (D38).
    pub serves_unchecked: bool,
    /// How much of its weight counts: less than all while it starts slowly.
    pub ramp: Ramp,
    /// The published latency, if there is one.
    pub latency: Option<Duration>,
    /// What stands behind `health`, for people: `1 of the last 4 probes was good, 2 needed`. It may be empty
    /// where nobody asks why.
    pub why: String,
}

impl MemberState {
    /// Whether, as far as its health goes, it may get traffic (S5, D38).
    pub fn is_available(&self) -> bool {
        match self.health {
            Health::Checking => self.serves_unchecked,
            Health::Down => false,
            Health::Up => true,
        }
    }
}
