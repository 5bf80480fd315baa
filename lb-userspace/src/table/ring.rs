//! Rings of slots: weighted Maglev (Eisenbud et al., "Maglev: A fast and reliable software network
//! load balancer", NSDI 2016, 3.4), with another order of turns.

#[cfg(test)]
mod tests;

use lb_common::Answer;
use num_bigint::BigInt;
use sha2::{Digest, Sha256};

use super::{
    image::{Ring, TargetKey},
    race::{first_words, race},
    rows,
    spread::{Destination, Shares, Spread},
    weights::Weights,
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
///
/// With 50 of the weights 1 to 20 in turn it is 0.51 and 0.80 here.
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
    let (destinations, weights) = Weights::of(shares.iter().map(|(it, share)| (*it, share)));
    if let [Destination::Answer(answer)] = destinations[..] {
        return Ring {
            slots: [answer.slot()].into(),
            ..Ring::default()
        };
    }
    if destinations.is_empty() {
        return Ring::default();
    }
    let length = weights.length(&LENGTHS, FEWEST);
    let entrants = weights.entrants(destinations.iter().map(seed), length);
    made(group, &destinations, race(&entrants, length), columns)
}

/// What chooses a destination's order of slots.
pub(super) fn seed(destination: &Destination) -> (u64, u64) {
    first_words(Sha256::new().chain_update(destination.bytes()))
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
        slots: slots.into(),
        columns,
    }
}

/// The number of slots of a ring whose smallest share is `smallest`.
pub fn ring_length(smallest: &Share) -> usize {
    let slots = |length: usize| (smallest * BigInt::from(length)).to_integer();
    let enough = |length: &usize| slots(*length) >= FEWEST.into();
    LENGTHS.into_iter().find(enough).unwrap_or(LONGEST)
}
