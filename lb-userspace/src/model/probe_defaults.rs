use std::{ops::RangeInclusive, time::Duration};

use super::{BurstRule, ConsecutiveRule, HealthRule, Initial, Method, WindowRule};

/// What holds of a probe where the file says nothing; a group's policy says which (semantics.md 4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProbeDefaults {
    /// Request method.
    pub method: Method,
    /// Time from one probe to the next.
    pub interval: Duration,
    /// Deadline over a probe; a shorter interval bounds it.
    pub timeout: Duration,
    /// How results become health.
    pub rule: HealthRule,
    /// What a member without a verdict gets.
    pub initial: Initial,
    /// Whether certificates are looked at.
    pub verify: bool,
    /// Which of the possible settings are allowed.
    pub limits: ProbeLimits,
}

/// Which settings of probes are allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProbeLimits {
    /// Every one.
    Any,
    /// Those of Traffic Manager (D26, D27, D28).
    TrafficManager,
}

impl ProbeDefaults {
    /// S34, S37, S42, D6.
    pub const FRONT_DOOR: Self = Self {
        method: Method::Head,
        interval: Duration::from_secs(30),
        timeout: Duration::from_secs(5),
        rule: HealthRule::Window(WindowRule::DEFAULT),
        initial: Initial::Down,
        verify: true,
        limits: ProbeLimits::Any,
    };
    /// D97; there a new service is down until a probe is good.
    pub const NETSCALER: Self = Self {
        method: Method::Head,
        interval: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        rule: HealthRule::Burst(BurstRule::DEFAULT),
        initial: Initial::Down,
        verify: true,
        limits: ProbeLimits::Any,
    };
    /// D20, D26 to D29, D38.
    pub const TRAFFIC_MANAGER: Self = Self {
        method: Method::Get,
        interval: Duration::from_secs(30),
        timeout: Duration::from_secs(10),
        rule: HealthRule::Consecutive(ConsecutiveRule::DEFAULT),
        initial: Initial::Checking,
        verify: false,
        limits: ProbeLimits::TrafficManager,
    };
}

/// Most failures in a row that Traffic Manager can be told to wait for: it tolerates 0 to 9 (D27).
pub const TRAFFIC_MANAGER_FALL: u8 = 10;

/// The timeouts that Traffic Manager allows with an interval; none if it does not allow that interval
/// (D26, D28).
pub fn traffic_manager_timeouts(interval: Duration) -> Option<RangeInclusive<Duration>> {
    let most = match (interval.as_secs(), interval.subsec_nanos()) {
        (10, 0) => 9,
        (30, 0) => 10,
        _ => return None,
    };
    Some(Duration::from_secs(5)..=Duration::from_secs(most))
}
