//! The presets: which stages each stands for, and what it allows.

use std::{ops::RangeInclusive, time::Duration};

use toml::Value;

use super::{leaf, raw::Table, report::Wrong, stages};
use crate::{
    model::{
        AllDown, LatencySource, NoProximity, NoRegion, NoSubnet, Percent, Policy, Priority,
        ProbeDefaults, Spread, Stage, StoppedRegion, UnhealthyRegion, UnhealthySubnet, Weight,
    },
    refusal,
};

/// How a group chooses, and what its members may say.
pub(super) struct Choice {
    pub(super) policy: Policy,
    pub(super) stages: Vec<Stage>,
}

/// Reads `policy` with the settings of the preset, or else `stages`.
pub(super) fn read(group: &mut Table<'_>) -> Choice {
    let lists_stages = group.has("stages");
    let names_policy = group.has("policy");
    if lists_stages {
        let beside = refusal::group::beside_stages();
        group.refuse(&["policy"], &beside);
        group.refuse(&SETTINGS, &beside);
        return Choice {
            policy: Policy::Stages,
            stages: stages::read(group),
        };
    }
    let presets = Policy::PRESETS.map(|it| (it.as_str(), it));
    let known = group.optional("policy", leaf::one_of(&presets));
    let policy = known.unwrap_or(Policy::FrontDoor);
    let settings = settings(group, policy);
    if known.is_some() || !names_policy {
        let foreign = refusal::group::foreign_setting(policy.as_str());
        group.refuse(&SETTINGS, &foreign);
    }
    Choice {
        policy,
        stages: expanded(policy, &settings),
    }
}

/// The keys of [`Settings`].
const SETTINGS: [&str; 4] = ["latency_window", "take", "all_down", "min_healthy_weight"];

/// What can be set in a preset.
struct Settings {
    all_down: AllDown,
    min_healthy_weight: Option<Percent>,
    window: Duration,
    take: u16,
}

fn settings(group: &mut Table<'_>, policy: Policy) -> Settings {
    let has_health = !matches!(policy, Policy::Geographic | Policy::Subnet);
    let window = match policy {
        // D6.
        Policy::FrontDoor => Some(Duration::from_secs(1)),
        // D87.
        Policy::DynamicRtt => Some(Duration::from_millis(100)),
        _ => None,
    };
    let mut settings = Settings {
        all_down: all_down_of(policy),
        min_healthy_weight: None,
        window: Duration::ZERO,
        take: 2,
    };
    if has_health {
        settings.all_down = group.or("all_down", settings.all_down, stages::all_down);
        settings.min_healthy_weight = group.optional("min_healthy_weight", stages::percent);
    }
    if let Some(most) = window {
        let range = leaf::duration(Duration::ZERO..=most);
        let limited = |value: &Value| {
            range(value).map_err(|wrong| beyond(wrong, policy, "windows up to 10s"))
        };
        settings.window = group.or("latency_window", Duration::ZERO, limited);
    }
    if policy == Policy::Multivalue {
        let limited = |value: &Value| {
            let take = leaf::within(1..=10_u16)(value);
            take.map_err(|wrong| beyond(wrong, policy, "up to 1000"))
        };
        settings.take = group.or("take", settings.take, limited);
    }
    settings
}

/// S40; D37; D80.
fn all_down_of(policy: Policy) -> AllDown {
    match policy {
        Policy::FrontDoor | Policy::StaticProximity | Policy::DynamicRtt => AllDown::RoundRobin,
        _ => AllDown::AsIfHealthy,
    }
}

/// The stages of a preset (semantics.md 4.2).
fn expanded(policy: Policy, settings: &Settings) -> Vec<Stage> {
    let available = Stage::Available {
        all_down: settings.all_down,
        min_healthy_weight: settings.min_healthy_weight,
    };
    let latency = |source| Stage::Latency {
        source,
        window: settings.window,
    };
    let take = settings.take;
    match policy {
        Policy::Stages => Vec::new(),
        Policy::FrontDoor => {
            let nearest = latency(LatencySource::Probe);
            vec![available, Stage::Priority, nearest, BY_WEIGHT]
        }
        Policy::Priority => vec![available, Stage::Priority],
        Policy::Weighted => vec![available, BY_WEIGHT],
        Policy::Performance => {
            let nearest = latency(LatencySource::Client);
            let first = subnet(NoSubnet::Continue, UnhealthySubnet::Continue);
            vec![first, available, nearest, equal(Spread::Client)]
        }
        Policy::Geographic => {
            let first = subnet(NoSubnet::Continue, UnhealthySubnet::Serve);
            vec![first, BY_REGION]
        }
        Policy::Multivalue => vec![available, Stage::Subset { take }, equal(Spread::Flow)],
        Policy::Subnet => vec![subnet(NoSubnet::Fallback, UnhealthySubnet::Fallback)],
        Policy::StaticProximity => vec![available, Stage::Prefer, NEAREST, BY_WEIGHT],
        Policy::DynamicRtt => {
            let nearest = latency(LatencySource::Client);
            vec![available, Stage::Prefer, nearest, BY_WEIGHT]
        }
    }
}

const BY_REGION: Stage = Stage::Geo {
    on_no_match: NoRegion::NoAnswer,
    on_unhealthy: UnhealthyRegion::Serve,
    on_stopped: StoppedRegion::NoAnswer,
};

const BY_WEIGHT: Stage = Stage::Weight {
    equal: false,
    spread: Spread::Flow,
};

const NEAREST: Stage = Stage::Proximity {
    on_no_match: NoProximity::Continue,
};

fn equal(spread: Spread) -> Stage {
    Stage::Weight {
        equal: true,
        spread,
    }
}

fn subnet(on_no_match: NoSubnet, on_unhealthy: UnhealthySubnet) -> Stage {
    Stage::Subnet {
        on_no_match,
        on_unhealthy,
    }
}

/// What members may have as priority in a preset.
fn priorities(policy: Policy) -> RangeInclusive<i64> {
    match policy {
        Policy::FrontDoor => 1..=5,
        _ => Priority::MIN..=Priority::MAX,
    }
}

/// Reads a priority.
pub(super) fn priority(policy: Policy) -> impl Fn(&Value) -> Result<Priority, Wrong> {
    move |value| {
        let number = ranged(value, policy, priorities)?;
        let wanted = format!("{} to {}", Priority::MIN, Priority::MAX);
        Priority::new(number).ok_or_else(|| refusal::value::out_of_range(number, wanted))
    }
}

/// The weight of a member without one.
pub(super) fn default_weight(policy: Policy) -> Weight {
    match policy {
        Policy::FrontDoor => Weight::FRONT_DOOR,
        _ => Weight::ONE,
    }
}

/// Reads a weight.
pub(super) fn weight(policy: Policy) -> impl Fn(&Value) -> Result<Weight, Wrong> {
    move |value| {
        let range = policy.weights();
        let wanted = format!("{} to {}", range.start(), range.end());
        if value.as_integer() == Some(0) && !range.contains(&0) {
            return Err(refusal::group::zero_weight(policy.as_str(), wanted));
        }
        let number = ranged(value, policy, Policy::weights)?;
        Weight::new(number).ok_or_else(|| refusal::value::out_of_range(number, wanted))
    }
}

/// A number in the range that a preset has for it.
fn ranged(
    value: &Value,
    policy: Policy,
    range: impl Fn(Policy) -> RangeInclusive<i64>,
) -> Result<i64, Wrong> {
    let [own, free] = [policy, Policy::Stages].map(range);
    leaf::within(own.clone())(value).map_err(|wrong| {
        let of_stages = format!("{} to {}", free.start(), free.end());
        match own == free {
            true => wrong,
            false => beyond(wrong, policy, &of_stages),
        }
    })
}

/// What holds of a group's probe where the file says nothing, and what is allowed.
pub(super) fn probe_defaults(policy: Policy) -> ProbeDefaults {
    match policy {
        Policy::FrontDoor | Policy::Stages => ProbeDefaults::FRONT_DOOR,
        Policy::StaticProximity | Policy::DynamicRtt => ProbeDefaults::NETSCALER,
        _ => ProbeDefaults::TRAFFIC_MANAGER,
    }
}

/// Says of a value that is out of range that the range is the preset's: `stages` take `free`.
fn beyond(wrong: Wrong, policy: Policy, free: &str) -> Wrong {
    match wrong.code == "out-of-range" {
        false => wrong,
        true => refusal::group::beyond_preset(wrong.message, policy.as_str(), wrong.mend, free),
    }
}
