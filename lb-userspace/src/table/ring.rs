//! Rings of slots: weighted Maglev (Eisenbud et al., "Maglev: A fast and reliable software network
//! load balancer", NSDI 2016, 3.4), with another order of turns.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use lb_common::Answer;
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use sha2::{Digest, Sha256};

use super::{
    image::{Ring, TargetKey},
    race::{Entrant, first_words, race},
    rows,
    spread::{Destination, Shares, Spread},
};
use crate::model::{Name, Share};

/// Slots of a ring, unless its smallest share needs more.
pub const DEFAULT_LENGTH: usize = LENGTHS[0];

/// The lengths that a ring can have. All are prime, as a race wants it.
const LENGTHS: [usize; 4] = [16_381, 65_521, 262_139, LONGEST];

/// The most slots of a ring.
pub(super) const LONGEST: usize = 1_048_573;

/// A share gets at least this many slots, as long as there is a ring that is long enough.
const FEWEST: usize = 10;

/// The ring of a group whose traffic is spread like this; a share of 0 gets no slot, and no share
/// above 0 an empty ring. If all of it meets one answer, so do all slots of a ring of one slot. It
/// depends on destinations and shares only: rings with equal slots stand in groups of any name, on
/// every host.
///
/// By flow or by client, slots are apportioned exactly: what a destination gets differs from its share
/// by less than one slot. The length is the first of 16,381, 65,521, 262,139 and 1,048,573 that has
/// at least 10 slots for the smallest share. If a share has no whole slot even in the longest, every
/// destination gets one first, and the rest is apportioned.
///
/// Which slots a destination gets is decided by a race. Each walks over all slots, in an order that its
/// identity chooses, and takes each free one until it has as many as it should. A step takes a time of
/// 1 / (share * slots it has not seen): the mean gaps between sorted draws from an exponential
/// distribution. So the race is rendezvous hashing by weight, in which a backend that leaves moves no
/// slot but its own; only that each must end with an exact number moves others. In Maglev a turn ends
/// when a free slot is found, and a lost claim shifts all claims after it. Slots that move beyond those
/// that must, in per cent of the ring, when one backend leaves (mean, and worst over the backends):
///
/// | backends | Maglev | this |
/// |---|---|---|
/// | 10 equal | 0.42, 0.48 | 0.31, 0.38 |
/// | 50 equal | 1.01, 1.20 | 0.55, 0.68 |
/// | 500 equal (every tenth leaves) | 1.05, 1.18 | 0.61, 0.72 |
/// | 50 with weights 1 to 20 | 0.95, 1.25 | 0.47, 0.73 |
///
/// A ring of another length moves nearly every slot.
///
/// In rows, a row is a part of the clients, and its columns are parts of their flows:
///
/// - There are 37, 67, 131, 257, 521 or 1,021 columns: the first that has at least 16 for the smallest
///   share of any row; one if no row has two destinations. What a destination has of a row differs from
///   its share there by at most one column, and the differences of many rows even out.
/// - There are as many rows as buckets. For other parts of the clients there are 1,021, 4,093, 16,381
///   or 65,521: the first that has at least 10 rows for the smallest part, as long as the ring keeps to
///   1,048,573 slots. What a part gets differs by less than one row. They are raced for like slots,
///   in an order that the destinations choose: a part whose shares change keeps its clients.
///
/// So a destination's share of all traffic is off by at most 1 / columns, and for other parts than
/// buckets by the number of parts with it / rows besides.
///
/// # Panics
///
/// With more than 65,533 backends: the slots above are answers. With more than 28,339 buckets.
pub fn ring(group: &Name, spread: &Spread) -> Ring {
    match spread {
        Spread::Flows(shares) => in_one_row(group, shares, 0),
        Spread::Clients(shares) => in_one_row(group, shares, 1),
        Spread::Buckets(buckets) => rows::of_buckets(group, buckets),
        Spread::Rows(rows) => rows::of_parts(group, rows),
    }
}

fn in_one_row(group: &Name, shares: &Shares, columns: u32) -> Ring {
    let (destinations, shares) = positive(shares.iter().map(|(it, share)| (*it, share)));
    let Some(smallest) = shares.iter().min() else {
        return Ring::default();
    };
    if let [Destination::Answer(answer)] = destinations[..] {
        return Ring {
            slots: vec![answer.slot()],
            ..Ring::default()
        };
    }
    let length = ring_length(smallest);
    let seed = |it: &Destination| first_words(Sha256::new().chain_update(it.bytes()));
    let seeds = destinations.iter().map(seed);
    let slots = race(&entrants(seeds, &shares, length), length);
    made(group, &destinations, slots, columns)
}

/// Who takes part in a race for `length` places with these shares, which sum to 1.
pub(super) fn entrants(
    seeds: impl Iterator<Item = (u64, u64)>,
    shares: &[Share],
    length: usize,
) -> Vec<Entrant> {
    let largest = shares.iter().max().cloned().unwrap_or_default();
    let quotas = quotas(shares, length);
    let all = seeds.zip(shares).zip(quotas);
    all.map(|((seed, share), quota)| Entrant {
        seed,
        quota,
        interval: interval(&largest / share),
    })
    .collect()
}

/// The ring whose slots are indices into `destinations`, which are in order.
pub(super) fn made(
    group: &Name,
    destinations: &[Destination],
    mut slots: Vec<u16>,
    columns: u32,
) -> Ring {
    let target = |identity| TargetKey {
        group: group.clone(),
        identity,
    };
    let identities = destinations.iter().filter_map(Destination::identity);
    let targets: Vec<_> = identities.map(target).collect();
    // Answers come after all backends.
    let answers: Vec<u16> = destinations[targets.len()..]
        .iter()
        .filter_map(Destination::answer)
        .map(Answer::slot)
        .collect();
    assert!(
        targets.len() <= usize::from(Answer::DROP.slot()),
        "a ring has at most 65,533 targets"
    );
    if !answers.is_empty() {
        for slot in &mut slots {
            let answer = usize::from(*slot).checked_sub(targets.len());
            *slot = answer.map_or(*slot, |answer| answers[answer]);
        }
    }
    Ring {
        targets,
        slots,
        columns,
    }
}

/// What has a share above 0, with its part of their sum.
pub(super) fn positive<'a, T>(
    shares: impl Iterator<Item = (T, &'a Share)> + Clone,
) -> (Vec<T>, Vec<Share>) {
    let positive = shares.filter(|(_, share)| **share > Share::zero());
    let sum: Share = positive.clone().map(|(_, share)| share).sum();
    positive.map(|(of, share)| (of, share / &sum)).unzip()
}

/// The number of slots of a ring whose smallest share is `smallest`.
pub fn ring_length(smallest: &Share) -> usize {
    LENGTHS
        .into_iter()
        .find(|length| whole_slots(smallest, *length) >= FEWEST)
        .unwrap_or(LONGEST)
}

/// The number of places for each share; they sum to `length`. None is left out as long as there is one
/// for each.
fn quotas(shares: &[Share], length: usize) -> Vec<usize> {
    let quotas = apportion(shares, length);
    if quotas.iter().all(|quota| *quota > 0) || shares.len() > length {
        return quotas;
    }
    let rest = apportion(shares, length - shares.len());
    rest.into_iter().map(|quota| quota + 1).collect()
}

/// Largest remainder; among equal ones the first wins.
fn apportion(shares: &[Share], length: usize) -> Vec<usize> {
    let mut quotas: Vec<usize> = shares.iter().map(|it| whole_slots(it, length)).collect();
    let remainder = |&index: &usize| Reverse((&shares[index] * BigInt::from(length)).fract());
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_cached_key(remainder);
    let left = length - quotas.iter().sum::<usize>();
    for index in order.into_iter().take(left) {
        quotas[index] += 1;
    }
    quotas
}

pub(super) fn whole_slots(share: &Share, length: usize) -> usize {
    let slots = (share * BigInt::from(length)).to_integer();
    slots.to_usize().unwrap_or(length)
}

/// The inverse of a share, as a number that the time of a step is made of. Shares that are
/// smaller by more than 2^26 race as if by 2^26.
pub(super) fn interval(ratio: Share) -> u64 {
    const MOST: u64 = 1 << 58;
    let interval = (ratio * BigInt::from(1u64 << 32)).to_integer();
    interval.to_u64().unwrap_or(MOST).min(MOST)
}
