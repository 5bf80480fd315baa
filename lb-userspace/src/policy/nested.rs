//! The health of a group that is a member of another one.

use std::time::Duration;

use super::{
    Client, Scene, available,
    candidate::{self, Candidate, Standing},
    enabled,
};
use crate::model::{MinHealthy, Name, Stage, Who};

/// What a group looks like from outside.
pub(super) struct Health {
    pub(super) standing: Standing,
    pub(super) why: String,
    /// That of the fastest available member.
    pub(super) latency: Option<Duration>,
    /// Whether one of its members suits the client's family.
    pub(super) suits: bool,
}

/// The health of a group by that of its members (D58): stopped if it is disabled, or none of its
/// members takes part; healthy if enough members are; unchecked if enough are together with those
/// without a verdict that get traffic; else not healthy. Not healthy either while too little of its
/// weight is (D103).
pub(super) fn health(scene: &Scene<'_>, name: &Name, min: MinHealthy, client: &Client) -> Health {
    let group = &scene.groups[name];
    let all = candidate::all(scene, name, client);
    let suits = all.iter().any(|it| it.suits);
    let members: Vec<_> = all
        .into_iter()
        .filter(|it| enabled::may_take_part(it) && it.standing != Standing::Stopped)
        .collect();
    let available = || members.iter().filter(|it| it.standing.is_available());
    let latency = available().filter_map(|it| it.probed).min();
    let (standing, why) = if !group.enabled {
        let why = format!("group {name} is disabled");
        (Standing::Stopped, why)
    } else if members.is_empty() {
        (
            Standing::Stopped,
            format!("nobody in group {name} takes part"),
        )
    } else {
        judge(scene, &members, min, &group.stages)
    };
    Health {
        standing,
        why,
        latency,
        suits,
    }
}

fn judge(
    scene: &Scene<'_>,
    members: &[Candidate<'_>],
    min: MinHealthy,
    stages: &[Stage],
) -> (Standing, String) {
    let up = Count::of(scene, members, |it| it == Standing::Up);
    let serving = Count::of(scene, members, Standing::is_available);
    let count = members.len();
    let why = format!(
        "{} of its {count} members healthy, {} needed",
        up.all,
        needed(min)
    );
    let standing = if up.suffices(min) {
        Standing::Up
    } else if serving.suffices(min) {
        Standing::Unchecked
    } else {
        Standing::Down
    };
    for stage in stages {
        if let Stage::Available {
            min_healthy_weight: Some(least),
            ..
        } = stage
            && let Some(why) = available::too_little(members, *least)
        {
            return (Standing::Down, why);
        }
    }
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
    fn of(scene: &Scene<'_>, members: &[Candidate<'_>], counts: impl Fn(Standing) -> bool) -> Self {
        let mut count = Self::default();
        for member in members.iter().filter(|it| counts(it.standing)) {
            count.all += 1;
            if let Who::Backend(name) = &member.member.who {
                if scene.backends[name].address.is_ipv4() {
                    count.v4 += 1;
                } else {
                    count.v6 += 1;
                }
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
