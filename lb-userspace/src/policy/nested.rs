//! The health of a group that is a member of another one.

use std::time::Duration;

use super::{
    available,
    candidate::{Candidate, Families, Standing},
    roster::Roster,
};
use crate::model::{Group, MinHealthy, Name, Stage};

/// What a group looks like from outside.
pub(super) struct Health {
    pub(super) standing: Standing,
    pub(super) why: String,
    /// That of the fastest available member.
    pub(super) latency: Option<Duration>,
    /// Those that its members have.
    pub(super) families: Families,
}

/// The health of a group by that of its members, which the roster has (D58): stopped if it is disabled,
/// or none of its members takes part; healthy if enough members are; unchecked if enough are together
/// with those without a verdict that get traffic; else not healthy. Not healthy either while too little
/// of its weight is (D103).
pub(super) fn health(roster: &Roster<'_>, name: &Name, min: MinHealthy) -> Health {
    let (group, all) = (roster.group(name), roster.members(name));
    let takes_part = |it: &&Candidate<'_>| it.takes_part && !it.is_stopped();
    let members: Vec<_> = all.iter().filter(takes_part).collect();
    let available = members.iter().filter(|it| it.is_available());
    let (standing, why) = if !group.enabled {
        (Standing::Stopped, format!("group {name} is disabled"))
    } else if members.is_empty() {
        let why = format!("nobody in group {name} takes part");
        (Standing::Stopped, why)
    } else {
        judge(group, &members, min)
    };
    Health {
        standing,
        why,
        latency: available.filter_map(|it| it.probed).min(),
        families: all
            .iter()
            .map(|it| it.families)
            .fold(Families::default(), Families::with),
    }
}

fn judge(group: &Group, members: &[&Candidate<'_>], min: MinHealthy) -> (Standing, String) {
    for stage in &group.stages {
        if let Stage::Available {
            min_healthy_weight: Some(least),
            ..
        } = stage
            && let Some(why) = available::too_little(members.iter().copied(), *least)
        {
            return (Standing::Down, why.to_string());
        }
    }
    let up = Count::of(members, |it| it == Standing::Up);
    let serving = Count::of(members, Standing::is_available);
    let standing = if up.suffices(min) {
        Standing::Up
    } else if serving.suffices(min) {
        Standing::Unchecked
    } else {
        Standing::Down
    };
    let (count, needed) = (members.len(), needed(min));
    let why = format!("{} of its {count} members healthy, {needed} needed", up.all);
    (standing, why)
}

/// How many members there are of each kind.
#[derive(Default)]
struct Count {
    all: u32,
    v4: u32,
    v6: u32,
}

impl Count {
    fn of(members: &[&Candidate<'_>], counts: impl Fn(Standing) -> bool) -> Self {
        let mut count = Self::default();
        for it in members.iter().filter(|it| counts(it.standing)) {
            count.all += 1;
            if it.member.backend().is_some() {
                count.v4 += u32::from(it.families.v4);
                count.v6 += u32::from(it.families.v6);
            }
        }
        count
    }

    fn suffices(&self, min: MinHealthy) -> bool {
        self.all >= min.all && self.v4 >= min.v4 && self.v6 >= min.v6
    }
}

fn needed(min: MinHealthy) -> String {
    let mut text = min.all.to_string();
    for (least, family) in [(min.v4, "IPv4"), (min.v6, "IPv6")] {
        if least > 0 {
            text += &format!(", {least} with {family}");
        }
    }
    text
}
