//! The keys of `health`.

use std::num::NonZeroU8;

use super::super::{
    leaf::{self, within},
    raw::Table,
};
use crate::{
    model::{
        BurstRule, ConsecutiveRule, HealthRule, Initial, LeakyRule, ProbeDefaults, ProbeLimits,
        TRAFFIC_MANAGER_FALL, WindowRule,
    },
    refusal,
};

const WINDOW: [&str; 2] = ["window", "required"];
const CONSECUTIVE: [&str; 2] = ["fall", "rise"];
const BURST: [&str; 3] = ["burst", "failures", "rise"];
const LEAKY: [&str; 1] = ["leaky"];

/// Reads a probe's `health`: the keys of one rule, and what a member without a verdict gets.
pub(super) fn read(
    health: &mut Table<'_>,
    defaults: &ProbeDefaults,
) -> Option<(HealthRule, Initial)> {
    let [window, required] = WINDOW.map(|key| health.has(key));
    let [fall, rise] = CONSECUTIVE.map(|key| health.has(key));
    let [burst, failures, _] = BURST.map(|key| health.has(key));
    let rule = if health.has("leaky") {
        keep(health, &LEAKY);
        health.table("leaky", leaky)
    } else if burst || failures {
        keep(health, &BURST);
        read_burst(health)
    } else if fall || rise {
        keep(health, &CONSECUTIVE);
        Some(consecutive(health, defaults))
    } else if window || required {
        read_window(health)
    } else {
        Some(defaults.rule)
    };
    let initials = [("down", Initial::Down), ("checking", Initial::Checking)];
    let initial = health.or("initial", defaults.initial, leaf::one_of(&initials));
    Some((rule?, initial))
}

/// Refuses the keys of other rules than the one that has these.
fn keep(health: &mut Table<'_>, keys: &[&str]) {
    let all = [&WINDOW[..], &CONSECUTIVE, &BURST, &LEAKY].concat();
    let others: Vec<_> = all.into_iter().filter(|key| !keys.contains(key)).collect();
    let own: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    health.refuse(&others, &refusal::probe::other_health_rule(own.join(", ")));
}

/// `required` is at most `window`; that is also its default where the window is below 2.
fn read_window(health: &mut Table<'_>) -> Option<HealthRule> {
    let default = WindowRule::DEFAULT;
    let most = usize::from(u8::MAX);
    let window = health.bound("window", default.window(), most, within(1..=most));
    let required = default.required().min(window);
    let required = health.or("required", required, within(1..=window));
    let [window, required] = [window, required].map(i64::try_from);
    HealthRule::window(window.ok()?, required.ok()?).ok()
}

fn consecutive(health: &mut Table<'_>, defaults: &ProbeDefaults) -> HealthRule {
    let ConsecutiveRule { fall, rise } = ConsecutiveRule::DEFAULT;
    let most = match defaults.limits {
        ProbeLimits::Any => u8::MAX,
        ProbeLimits::TrafficManager => TRAFFIC_MANAGER_FALL,
    };
    HealthRule::Consecutive(ConsecutiveRule {
        fall: count(health, "fall", fall, most),
        rise: count(health, "rise", rise, u8::MAX),
    })
}

/// `failures` is at most `burst`; 0 is all of it.
fn read_burst(health: &mut Table<'_>) -> Option<HealthRule> {
    let default = BurstRule::DEFAULT;
    let most = BurstRule::MOST_RETRIES;
    let retries = health.bound("burst", default.retries(), most, within(1..=most));
    let failures = health.or("failures", 0, within(0..=retries));
    let rise = count(health, "rise", default.rise(), u8::MAX);
    let rule = BurstRule::new(retries, failures, rise).ok()?;
    Some(HealthRule::Burst(rule))
}

fn leaky(leaky: &mut Table<'_>) -> Option<HealthRule> {
    let LeakyRule { down, ok, up } = LeakyRule::DEFAULT;
    Some(HealthRule::Leaky(LeakyRule {
        down: count(leaky, "down", down, u8::MAX),
        ok: count(leaky, "ok", ok, u8::MAX),
        up: count(leaky, "up", up, u8::MAX),
    }))
}

fn count(table: &mut Table<'_>, key: &'static str, default: NonZeroU8, most: u8) -> NonZeroU8 {
    let number = table.or(key, default.get(), within(1..=most));
    NonZeroU8::new(number).unwrap_or(default)
}
