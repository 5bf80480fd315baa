//! Members of groups.

use toml::Value;

use super::{
    clients::clients,
    group::Surroundings,
    leaf::{self, shown},
    preset,
    raw::Table,
    report::Wrong,
    whereabouts,
};
use crate::{
    model::{Member, MinHealthy, Policy, Region, Who},
    refusal,
};

/// Keys that speak of a member as a group.
const OF_GROUPS: [&str; 5] = [
    "location",
    "region",
    "min_healthy",
    "min_healthy_v4",
    "min_healthy_v6",
];

/// Reads a member. Where no priority is given, that is told by the second value.
pub(super) fn read(
    member: &mut Table<'_>,
    around: &Surroundings<'_>,
    policy: Policy,
) -> Option<(Member, bool)> {
    let is_group = member.has("group");
    let who = who(member, around);
    let enabled = member.or("enabled", true, leaf::truth);
    let stopped = member.or("stopped", false, leaf::truth);
    let has_priority = member.has("priority");
    let priority = member.optional("priority", preset::priority(policy));
    let weight = member.optional("weight", preset::weight(policy));
    let given = [member.length("clients"), member.length("geo")];
    let clients = member.list("clients", clients).unwrap_or_default();
    let geo = member.list("geo", region).unwrap_or_default();
    let is_whole = given == [clients.len(), geo.len()] && has_priority == priority.is_some();
    let (location, region, min_healthy, always_serve) = if is_group {
        member.refuse(&["always_serve"], &refusal::group::group_always_serves());
        let location = member.optional("location", whereabouts::location);
        let region = member.optional("region", whereabouts::latency_region);
        (location, region, min_healthy(member), false)
    } else {
        let always_serve = member.or("always_serve", false, leaf::truth);
        member.refuse(&OF_GROUPS, &refusal::group::key_of_groups());
        (None, None, MinHealthy::default(), always_serve)
    };
    let found = Member {
        who: who?,
        enabled,
        stopped,
        always_serve,
        priority: priority.unwrap_or_default(),
        weight: weight.unwrap_or(preset::default_weight(policy)),
        clients,
        geo,
        location,
        region,
        min_healthy,
    };
    // With a part of what was given it would be compared with others in vain.
    is_whole.then_some((found, has_priority))
}

fn who(member: &mut Table<'_>, around: &Surroundings<'_>) -> Option<Who> {
    if member.has("group") && member.has("backend") {
        member.wrong("group", refusal::group::two_members_in_one());
        member.optional("backend", |value| around.backends.known(value));
    }
    if member.has("group") {
        let group = member.optional("group", |value| around.groups.known(value));
        return group.map(Who::Group);
    }
    let backend = member.required("backend", "\"a\"", |value| around.backends.known(value));
    backend.map(Who::Backend)
}

fn min_healthy(member: &mut Table<'_>) -> MinHealthy {
    let default = MinHealthy::default();
    MinHealthy {
        all: member.or("min_healthy", default.all, leaf::within(1..=1000_u32)),
        v4: member.or("min_healthy_v4", default.v4, leaf::within(0..=1000_u32)),
        v6: member.or("min_healthy_v6", default.v6, leaf::within(0..=1000_u32)),
    }
}

/// A node of the geographic hierarchy.
pub(super) fn region(value: &Value) -> Result<Region, Wrong> {
    let text = leaf::text(
        value,
        "the code of a region, like \"IE\", \"US-CA\", \"GEO-EU\" or \"WORLD\"",
    )?;
    text.parse().map_err(|_unknown| {
        let known = super::spelling::closest(text, Region::codes());
        let meant = Region::meant_by(text).or(known);
        let mend = match meant {
            Some(code) => format!("did you mean \"{code}\"?"),
            None => "use WORLD, GEO-EU and the like, a country like IE, or a state like US-CA"
                .to_owned(),
        };
        refusal::group::unknown_region(shown(text), mend)
    })
}
