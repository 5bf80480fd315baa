//! Explicit `stages`.

use std::{collections::BTreeSet, time::Duration};

use toml::Value;

use super::{
    leaf,
    raw::{Found, Table},
    report::Wrong,
};
use crate::{
    model::{
        AllDown, LatencySource, NoProximity, NoRegion, NoSubnet, Percent, Spread, Stage,
        StoppedRegion, UnhealthyRegion, UnhealthySubnet,
    },
    refusal,
};

/// Reads the list of a group.
pub(super) fn read(group: &mut Table<'_>) -> Vec<Stage> {
    group.require(
        "stages",
        "add `stages = [{ stage = \"available\" }, { stage = \"weight\" }]`",
    );
    let stages = group.tables("stages", stage);
    check_order(group, &stages);
    stages.into_iter().map(|found| found.value).collect()
}

fn stage(table: &mut Table<'_>) -> Option<Stage> {
    const STAGES: [&str; 9] = [
        "available",
        "subnet",
        "geo",
        "prefer",
        "proximity",
        "priority",
        "latency",
        "subset",
        "weight",
    ];
    let stage = table.required(
        "stage",
        "\"available\"",
        leaf::one_of(&STAGES.map(|it| (it, it))),
    )?;
    Some(match stage {
        "available" => Stage::Available {
            all_down: table.or("all_down", AllDown::AsIfHealthy, all_down),
            min_healthy_weight: table.optional("min_healthy_weight", percent),
        },
        "subnet" => subnet(table),
        "geo" => geo(table),
        "prefer" => Stage::Prefer,
        "proximity" => {
            let words = [
                ("continue", NoProximity::Continue),
                ("no-answer", NoProximity::NoAnswer),
            ];
            Stage::Proximity {
                on_no_match: table.or("on_no_match", NoProximity::Continue, leaf::one_of(&words)),
            }
        }
        "priority" => Stage::Priority,
        "latency" => {
            let words = [
                ("client", LatencySource::Client),
                ("probe", LatencySource::Probe),
            ];
            let window = leaf::duration(Duration::ZERO..=Duration::from_secs(10));
            Stage::Latency {
                source: table.or("source", LatencySource::Probe, leaf::one_of(&words)),
                window: table.or("window", Duration::ZERO, window),
            }
        }
        "subset" => Stage::Subset {
            take: table.required("take", "2", leaf::within(1..=1000_u16))?,
        },
        _ => {
            let words = [("client", Spread::Client), ("flow", Spread::Flow)];
            Stage::Weight {
                equal: table.or("equal", false, leaf::truth),
                spread: table.or("spread", Spread::Flow, leaf::one_of(&words)),
            }
        }
    })
}

fn subnet(table: &mut Table<'_>) -> Stage {
    let no_match = [
        ("continue", NoSubnet::Continue),
        ("fallback", NoSubnet::Fallback),
        ("no-answer", NoSubnet::NoAnswer),
    ];
    let unhealthy = [
        ("continue", UnhealthySubnet::Continue),
        ("fallback", UnhealthySubnet::Fallback),
        ("no-answer", UnhealthySubnet::NoAnswer),
        ("serve", UnhealthySubnet::Serve),
    ];
    Stage::Subnet {
        on_no_match: table.or("on_no_match", NoSubnet::Fallback, leaf::one_of(&no_match)),
        on_unhealthy: table.or(
            "on_unhealthy",
            UnhealthySubnet::Fallback,
            leaf::one_of(&unhealthy),
        ),
    }
}

fn geo(table: &mut Table<'_>) -> Stage {
    let no_match = [
        ("continue", NoRegion::Continue),
        ("no-answer", NoRegion::NoAnswer),
    ];
    let unhealthy = [
        ("climb", UnhealthyRegion::Climb),
        ("no-answer", UnhealthyRegion::NoAnswer),
        ("serve", UnhealthyRegion::Serve),
    ];
    let stopped = [
        ("climb", StoppedRegion::Climb),
        ("no-answer", StoppedRegion::NoAnswer),
    ];
    Stage::Geo {
        on_no_match: table.or("on_no_match", NoRegion::NoAnswer, leaf::one_of(&no_match)),
        on_unhealthy: table.or(
            "on_unhealthy",
            UnhealthyRegion::Serve,
            leaf::one_of(&unhealthy),
        ),
        on_stopped: table.or(
            "on_stopped",
            StoppedRegion::NoAnswer,
            leaf::one_of(&stopped),
        ),
    }
}

/// Reads an all-down rule.
pub(super) fn all_down(value: &Value) -> Result<AllDown, Wrong> {
    leaf::one_of(&[
        ("as-if-healthy", AllDown::AsIfHealthy),
        ("backup", AllDown::Backup),
        ("no-answer", AllDown::NoAnswer),
        ("rr-all", AllDown::RoundRobin),
    ])(value)
}

/// Reads a number of per cent.
pub(super) fn percent(value: &Value) -> Result<Percent, Wrong> {
    let number = leaf::within(1..=100_i64)(value)?;
    Percent::new(number).ok_or_else(|| refusal::value::out_of_range(number, "1 to 100"))
}

/// Each stage comes once; after `subset` only `weight` does, and after that none: what is shared out
/// can not be narrowed any more.
fn check_order(group: &Table<'_>, stages: &[Found<Stage>]) {
    let mut seen = BTreeSet::new();
    let mut ended: Option<&str> = None;
    for Found { path, value } in stages {
        let name = value.name();
        let at = format!("{path}.stage");
        if !seen.insert(name) {
            group.wrong_at(at, refusal::group::stage_twice(name));
        } else if let Some(last) = ended
            && (last, name) != ("subset", "weight")
        {
            group.wrong_at(at, refusal::group::stage_after(name, last));
        }
        if matches!(value, Stage::Subset { .. } | Stage::Weight { .. }) {
            ended = Some(name);
        }
    }
}
