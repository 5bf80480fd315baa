//! What of their clients groups ask for.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use super::{Address, Input, extend, runs};
use crate::{
    model::{Group, LatencySource, Location, Model, Name, Qualifier, Region, Stage, Who},
    whereabouts::{LatencyRegion, LatencyRow, Table},
};

/// What an input says, by its choices.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Of IPv6, or of IPv4: for groups that serve both.
    Family,
    /// The location, as far as groups with a stage `proximity` can tell.
    Location(Vec<Option<Location>>),
    /// Which member of this group the address is mapped to, counted from 1.
    Members(Name),
    /// The latencies to the regions of members.
    Latency(Vec<Arc<[Option<Duration>]>>),
    /// The region, as far as groups with a stage `geo` can tell.
    Region(Vec<Region>),
}

pub(super) fn maps_addresses(group: &Group) -> bool {
    let has_stage = group
        .stages
        .iter()
        .any(|it| matches!(it, Stage::Subnet { .. }));
    has_stage && group.members.iter().any(|it| !it.clients.is_empty())
}

pub(super) fn asks_region(group: &Group) -> bool {
    group
        .stages
        .iter()
        .any(|it| matches!(it, Stage::Geo { .. }))
}

pub(super) fn asks_location(group: &Group) -> bool {
    group
        .stages
        .iter()
        .any(|it| matches!(it, Stage::Proximity { .. }))
}

pub(super) fn asks_latency(group: &Group) -> bool {
    let by_client = |it: &Stage| matches!(it, Stage::Latency { source, .. } if *source == LatencySource::Client);
    group.stages.iter().any(by_client)
}

pub(super) fn members(group: &Group) -> Input {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for (member, choice) in group.members.iter().zip(1..) {
        for prefix in member.clients.iter().flat_map(|it| it.prefixes()) {
            match prefix.first() {
                IpAddr::V4(_) => v4.push((prefix, choice)),
                IpAddr::V6(_) => v6.push((prefix, choice)),
            }
        }
    }
    Input {
        v4: runs(&v4),
        v6: runs(&v6),
    }
}

pub(super) fn regions(model: &Model, groups: &[&Group]) -> (Input, Kind) {
    let asking = groups.iter().filter(|it| asks_region(it));
    let mapped: BTreeSet<Region> = asking
        .flat_map(|it| &it.members)
        .flat_map(|it| &it.geo)
        .copied()
        .collect();
    let project = |region: Option<&Region>| {
        let mut chain = region.copied().unwrap_or(Region::World).chain();
        chain
            .find(|it| mapped.contains(it))
            .unwrap_or(Region::World)
    };
    let (input, regions) = projected(model.whereabouts.regions(), project);
    (input, Kind::Region(regions))
}

pub(super) fn locations(model: &Model, groups: &[&Group]) -> (Input, Kind) {
    let asking = groups.iter().filter(|it| asks_location(it));
    let members = asking.flat_map(|it| &it.members);
    let places = members.filter_map(|member| match &member.who {
        Who::Backend(name) => model.backends.get(name)?.location.as_ref(),
        Who::Group(_) => member.location.as_ref(),
    });
    let mut told: HashSet<(usize, &Qualifier)> = HashSet::new();
    for place in places {
        let known = place.qualifiers().enumerate();
        told.extend(known.filter_map(|(place, qualifier)| Some((place, qualifier?))));
    }
    let project = |location: Option<&Location>| {
        let known = location?.qualifiers().enumerate();
        let leading = known.map_while(|(place, it)| it.filter(|it| told.contains(&(place, it))));
        let mut qualifiers = [const { None }; Location::MOST_QUALIFIERS];
        for (place, qualifier) in qualifiers.iter_mut().zip(leading) {
            *place = Some(qualifier.clone());
        }
        Some(Location::new(qualifiers)).filter(|it| !it.is_unknown())
    };
    let (input, places) = projected(model.whereabouts.locations(), project);
    (input, Kind::Location(places))
}

/// The regions that members of groups with a stage `latency` stand in, in order.
pub(super) fn latency_regions(model: &Model, groups: &[&Group]) -> Vec<LatencyRegion> {
    let asking = groups.iter().filter(|it| asks_latency(it));
    let members = asking.flat_map(|it| &it.members);
    let regions = members.filter_map(|member| match &member.who {
        Who::Backend(name) => model.backends.get(name)?.region.as_ref(),
        Who::Group(_) => member.region.as_ref(),
    });
    let regions: BTreeSet<&LatencyRegion> = regions.collect();
    regions.into_iter().cloned().collect()
}

pub(super) fn latencies(model: &Model, regions: &[LatencyRegion]) -> (Input, Kind) {
    let project = |row: Option<&Arc<LatencyRow>>| {
        let Some(row) = row.filter(|row| regions.iter().any(|it| row.contains_key(it))) else {
            return Arc::default();
        };
        regions.iter().map(|it| row.get(it).copied()).collect()
    };
    let (input, rows) = projected(model.whereabouts.latencies(), project);
    (input, Kind::Latency(rows))
}

/// A table by what makes a difference of its values, and that by choice. What is said where nothing is
/// known is choice 0.
fn projected<T, V: Clone + Eq + Hash>(
    table: &Table<T>,
    project: impl Fn(Option<&T>) -> V,
) -> (Input, Vec<V>) {
    let unknown = project(None);
    let mut known = HashMap::from([(unknown.clone(), 0)]);
    let mut values = vec![unknown];
    let choices = table.values().iter().map(|value| {
        let value = project(Some(value));
        *known.entry(value).or_insert_with_key(|value| {
            values.push(value.clone());
            values.len() - 1
        })
    });
    let choices: Vec<usize> = std::iter::once(0).chain(choices).collect();
    let input = Input {
        v4: mapped(table.v4(), &choices),
        v6: mapped(table.v6(), &choices),
    };
    (input, values)
}

fn mapped<A: Address>(runs: &[(A, usize)], choices: &[usize]) -> Vec<(A, usize)> {
    let mut all = Vec::with_capacity(runs.len());
    for (first, choice) in runs {
        extend(&mut all, (*first, choices[*choice]));
    }
    all
}
