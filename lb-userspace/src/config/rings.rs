//! How many rings a configuration makes, and how long they can get.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use lb_common::{CHUNK, RING_HEAD};
use num_traits::One as _;

use super::assume::Assumed;
use crate::{
    class::Clients,
    model::{AllDown, Group, Member, MemberState, Model, Name, Share, Spread, Stage, Who},
    policy::{SUBSET_BUCKETS, Scene, decide_all},
    table::{self, Shares, ring_length, rows_length, spread},
};

/// The slots that the ring of a spread takes in the pool.
fn slots_of(spread: &table::Spread) -> u64 {
    let least = |shares: &Shares| shares.values().min().cloned();
    let length = match spread {
        table::Spread::Flows(shares) | table::Spread::Clients(shares) => {
            least(shares).map(|share| ring_length(&share))
        }
        table::Spread::Buckets(buckets) => {
            let share = buckets.iter().filter_map(least).min();
            share.map(|share| rows_length(&Share::one(), &share))
        }
        table::Spread::Rows(rows) => {
            let part = rows.iter().map(|(part, _)| part).min();
            let share = rows.iter().filter_map(|(_, shares)| least(shares)).min();
            part.zip(share)
                .map(|(part, share)| rows_length(part, &share))
        }
    };
    length.unwrap_or_default().next_multiple_of(CHUNK) as u64
}

/// What rings need.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Rings {
    /// Rings that differ, with all members up.
    pub(super) number: usize,
    /// The slots of the pool for them, where the longest ring of each group is as long as any health of the
    /// members makes it, and for those of the group with the most once more: new rings of a group stand all
    /// together beside those that they replace.
    pub(super) slots: u64,
}

/// What the rings of the groups that services name need.
pub(super) fn rings(model: &Model, clients: &Clients) -> Rings {
    let assumed = Assumed::default();
    let groups = model.groups.iter();
    let states = groups.map(|(name, group)| (name.clone(), assumed.states(group)));
    let states: BTreeMap<Name, Vec<MemberState>> = states.collect();
    let scene = Scene {
        groups: &model.groups,
        backends: &model.backends,
        states: &states,
        regions: clients.regions(),
    };
    let mut needs = Rings::default();
    let mut most = 0;
    let mut answers = BTreeSet::new();
    let mut bounds = Bounds::new(&model.groups);
    for root in model.root_groups() {
        let mut spreads = Vec::new();
        for decision in decide_all(&scene, root, &clients.meanings(root).clients).distinct {
            if let Some(answer) = decision.rows.answer() {
                answers.insert(answer);
                continue;
            }
            let spread = spread(&model.backends, &decision);
            if !spreads.contains(&spread) {
                spreads.push(spread);
            }
        }
        needs.number += spreads.len();
        let lengths: Vec<u64> = spreads.iter().map(slots_of).collect();
        let longest = lengths.iter().max().copied().unwrap_or_default();
        let heads = match model.groups[root].affinity {
            Some(_) => lengths.len() * RING_HEAD,
            None => 0,
        };
        let slots = lengths.iter().sum::<u64>() - longest + longest.max(bounds.of(root).slots());
        let slots = slots + heads as u64;
        needs.slots += slots;
        most = most.max(slots);
    }
    needs.number += answers.len();
    needs.slots += most + (answers.len() * CHUNK) as u64;
    needs
}

/// The smallest parts that some health of the members leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Bound {
    /// Of the clients; 1 where all are alike.
    clients: Share,
    /// Of the flows of a client.
    flows: Share,
    /// Several ways to part the clients may lie over each other: their parts get as small as can be.
    overlaid: bool,
    /// If clients are parted, then into equal buckets, which have a row each.
    in_buckets: bool,
}

impl Bound {
    fn whole() -> Self {
        Self {
            clients: Share::one(),
            flows: Share::one(),
            overlaid: false,
            in_buckets: true,
        }
    }

    /// The smaller of two for each part.
    fn least(self, other: &Self) -> Self {
        Self {
            clients: self.clients.min(other.clients.clone()),
            flows: self.flows.min(other.flows.clone()),
            overlaid: self.overlaid || other.overlaid,
            in_buckets: self.in_buckets && other.in_buckets,
        }
    }

    /// The slots that the longest ring takes in the pool. What is left of a spread by clients and flows may
    /// be one by flows or by clients alone.
    fn slots(&self) -> u64 {
        let in_one_row = match self.in_buckets {
            true => ring_length(&self.flows),
            false => ring_length(&self.clients.clone().min(self.flows.clone())),
        };
        let is_mixed = !self.clients.is_one() && !self.flows.is_one();
        let in_rows = if self.overlaid {
            rows_length(&Share::new(1.into(), u32::MAX.into()), &self.flows)
        } else if is_mixed && self.in_buckets {
            rows_length(&Share::one(), &self.flows)
        } else if is_mixed {
            rows_length(&self.clients, &self.flows)
        } else {
            0
        };
        in_one_row.max(in_rows).next_multiple_of(CHUNK) as u64
    }
}

/// The bounds of groups, each found once.
struct Bounds<'a> {
    groups: &'a BTreeMap<Name, Group>,
    found: BTreeMap<&'a Name, Bound>,
}

impl<'a> Bounds<'a> {
    fn new(groups: &'a BTreeMap<Name, Group>) -> Self {
        Self {
            groups,
            found: BTreeMap::new(),
        }
    }

    fn of(&mut self, name: &'a Name) -> Bound {
        if let Some(found) = self.found.get(name) {
            return found.clone();
        }
        let group = &self.groups[name];
        let within = group.members.iter().map(|member| match &member.who {
            Who::Backend(_) => Bound::whole(),
            Who::Group(inner) => self.of(inner),
        });
        let within: Vec<Bound> = within.collect();
        let mut bound = of_members(group, &within);
        if let Some(backup) = &group.backup {
            bound = bound.least(&self.of(backup));
        }
        self.found.insert(name, bound.clone());
        bound
    }
}

/// The bound of a group whose members have these.
fn of_members(group: &Group, within: &[Bound]) -> Bound {
    let shape = Shape::of(group);
    let count = group.members.len();
    let parted = within.iter().filter(|it| !it.clients.is_one()).count();
    let inner = within.iter().fold(Bound::whole(), |all, it| all.least(it));
    let mut bound = Bound {
        in_buckets: parted == 0 && shape.spread == Spread::Flow,
        ..inner.clone()
    };
    for (share, within) in shape.shares(&group.members).into_iter().zip(within) {
        let Some(share) = share else { continue };
        match shape.spread {
            Spread::Client => bound.clients = bound.clients.min(share * &within.clients),
            Spread::Flow => bound.flows = bound.flows.min(share * &within.flows),
        }
    }
    if let Some(take) = shape.take.filter(|take| *take < count) {
        bound.clients *= smallest_set(count, take);
    }
    bound.overlaid |= parted > 1 && shape.spread == Spread::Flow;
    let round_robin = |stage: &Stage| {
        let all_down = AllDown::RoundRobin;
        matches!(stage, Stage::Available { all_down: it, .. } if *it == all_down)
    };
    if count > 0 && group.stages.iter().any(round_robin) {
        let equal = Share::new(1.into(), count.into());
        let flows = equal * &inner.flows;
        let overlaid = parted > 1;
        bound = bound.least(&Bound {
            flows,
            overlaid,
            in_buckets: parted == 0,
            ..inner
        });
    }
    bound
}

/// The smallest part of the clients that gets the same of `count` members, if each gets `take`: sets are
/// drawn for buckets by a hash, and the smallest is taken to be four standard deviations below the mean.
fn smallest_set(count: usize, take: usize) -> Share {
    let factors = (0..take).map(|i| (count - i) as f64 / (take - i) as f64);
    let mean = SUBSET_BUCKETS as f64 / factors.product::<f64>();
    let fewest = (mean - 4.0 * mean.sqrt()).floor().max(1.0);
    Share::new((fewest as u32).into(), SUBSET_BUCKETS.into())
}

/// How members share.
struct Shape {
    by_priority: bool,
    by_weight: bool,
    spread: Spread,
    take: Option<usize>,
    slowly: bool,
}

impl Shape {
    fn of(group: &Group) -> Self {
        let mut shape = Self {
            by_priority: false,
            by_weight: false,
            spread: Spread::Flow,
            take: None,
            slowly: !group.slow_start.is_zero(),
        };
        for stage in &group.stages {
            match stage {
                Stage::Priority => shape.by_priority = true,
                Stage::Subset { take } => shape.take = Some((*take).into()),
                Stage::Weight { equal, spread } => {
                    shape.by_weight = !equal;
                    shape.spread = *spread;
                }
                _ => {}
            }
        }
        shape
    }

    /// The smallest share of each member: beside it are the heaviest that there can be. None for those
    /// that never get one.
    fn shares(&self, members: &[Member]) -> Vec<Option<Share>> {
        let weight = |member: &Member| match self.by_weight {
            true => u64::from(member.weight.value()),
            false => 1,
        };
        let rank = |member: &Member| self.by_priority.then_some(member.priority);
        let mut heaviest: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for member in members {
            heaviest
                .entry(rank(member))
                .or_default()
                .push(weight(member));
        }
        let others = self.take.map_or(usize::MAX, |take| take.saturating_sub(1));
        for weights in heaviest.values_mut() {
            weights.sort_unstable_by(|one, other| other.cmp(one));
        }
        let sums: BTreeMap<_, u64> = heaviest
            .iter()
            .map(|(rank, weights)| (*rank, weights.iter().take(others).sum()))
            .collect();
        let steps = if self.slowly && self.by_weight { 16 } else { 1 };
        let share = |member: &Member| {
            let (own, rank) = (weight(member), rank(member));
            let (weights, sum) = (&heaviest[&rank], sums[&rank]);
            let is_among = |last: usize| own >= weights.get(last).copied().unwrap_or(0);
            let beside = match others.checked_sub(1) {
                // It is not beside itself: the next one is.
                Some(last) if is_among(last) => {
                    sum - own + weights.get(others).copied().unwrap_or(0)
                }
                _ => sum,
            };
            (own > 0).then(|| Share::new(own.into(), (own + steps * beside).into()))
        };
        members.iter().map(share).collect()
    }
}
