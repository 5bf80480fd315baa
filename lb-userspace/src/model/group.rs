use std::time::Duration;

use super::{HealthRule, Name, Probe};

/// Members that can stand in for each other, and how to choose between them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// What it is called.
    pub name: Name,
    /// The stages that narrow the members down, in order; a preset is a named list of them.
    pub stages: Vec<Stage>,
    /// The members, each backend at most once.
    pub members: Vec<Member>,
    /// How members are probed; none means that they always count as healthy.
    pub probe: Option<Probe>,
    /// How probe results become health.
    pub health: HealthRule,
    /// How long a member takes to its whole share when it comes back, or is new; 0 is at once (D7).
    pub slow_start: Duration,
}

/// A backend in a group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// Which backend.
    pub backend: Name,
    /// Whether the configuration lets it take part.
    pub enabled: bool,
    /// Lower is preferred.
    pub priority: Priority,
    /// Its part of the traffic, relative to the others'.
    pub weight: Weight,
}

/// One step of a decision (semantics.md 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Keep healthy members (S5); when none is, the all-down rule.
    Available(AllDown),
    /// Keep the lowest priority value (S6).
    Priority,
    /// Keep members whose latency is at most the window above the lowest, edge inclusive (S7).
    Latency {
        /// 0 keeps only the fastest (S12).
        window: Duration,
    },
    /// Share traffic in proportion to weight (S8).
    Weight,
}

/// What happens when no member is healthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AllDown {
    /// Equal parts for all enabled members, whatever their priority, latency and weight (S40, R6).
    RoundRobin,
}

/// Rank of a member.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Priority(u16);

/// Relative part of the traffic.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Weight(u16);

/// A number type with the range that the front-door preset allows.
macro_rules! ranged {
    ($ty:ident, $min:literal..=$max:literal, default $default:literal) => {
        impl $ty {
            /// Lowest value.
            pub const MIN: i64 = $min;
            /// Highest value.
            pub const MAX: i64 = $max;
            /// The value where none is given.
            pub const DEFAULT: Self = Self($default);

            /// `value`, if it is in range.
            pub fn new(value: i64) -> Option<Self> {
                let value = u16::try_from(value).ok()?;
                ($min..=$max).contains(&value).then_some(Self(value))
            }

            /// The number.
            pub fn value(self) -> u16 {
                self.0
            }
        }
    };
}

ranged!(Priority, 1..=5, default 1); // S13, S15
ranged!(Weight, 1..=1000, default 50); // S16
