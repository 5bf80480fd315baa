//! Rings of slots: weighted Maglev (Eisenbud et al., "Maglev: A fast and reliable software network
//! load balancer", NSDI 2016, 3.4), with another order of turns.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, binary_heap::PeekMut},
};

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use sha2::{Digest, Sha256};

use super::image::{Ring, TargetKey};
use crate::model::{Identity, Name, Share};

/// Slots of a ring, unless its smallest share needs more.
pub const DEFAULT_LENGTH: usize = LENGTHS[0];

/// The lengths that a ring can have. All are prime: every skip then visits every slot.
const LENGTHS: [usize; 4] = [16_381, 65_521, 262_139, LONGEST];

const LONGEST: usize = 1_048_573;

/// A share gets at least this many slots, as long as there is a ring that is long enough.
const FEWEST: usize = 10;

/// No target yet.
const FREE: u16 = u16::MAX;

/// The ring of a group whose members have these `shares`; a share of 0 gets no slot, and no share
/// above 0 an empty ring. It depends on the identities and shares only: rings with equal slots
/// stand in groups of any name, on every host.
///
/// Slots are apportioned exactly: what a backend gets differs from its share by less than one slot.
/// The length is the first of 16,381, 65,521, 262,139 and 1,048,573 that has at least 10 slots
/// for the smallest share. If a share has no whole slot even in the longest, every backend gets one
/// first, and the rest is apportioned.
///
/// Which slots a backend gets is decided by a race. Every backend walks over all slots, in an order
/// that its identity chooses, and takes each free one until it has as many as it should. A step
/// takes a time of 1 / (share * slots it has not seen): the mean gaps between sorted draws from an
/// exponential distribution. So the race is rendezvous hashing by weight, in which a backend that
/// leaves moves no slot but its own; only that each must end with an exact number moves others. In
/// Maglev a turn ends when a free slot is found, and a lost claim shifts all claims after it. Slots
/// that move beyond those that must, in per cent of the ring, when one backend leaves (mean, and
/// worst over the backends):
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
/// # Panics
///
/// With more than 65,535 shares above 0: target ids have 16 bits.
pub fn ring(group: &Name, shares: &BTreeMap<Identity, Share>) -> Ring {
    let (identities, shares) = positive(shares);
    let (Some(smallest), Some(largest)) = (shares.iter().min(), shares.iter().max()) else {
        return Ring::default();
    };
    let length = ring_length(smallest);
    let mut lanes = BTreeMap::<u64, Vec<Walker>>::new();
    let quotas = quotas(&shares, length);
    for (target, quota) in quotas.into_iter().enumerate() {
        let walker = Walker::new(target, &identities[target], quota, length);
        let interval = interval(largest / &shares[target]);
        lanes.entry(interval).or_default().push(walker);
    }
    let slots = race(lanes, length);
    let target = |identity| TargetKey {
        group: group.clone(),
        identity,
    };
    Ring {
        targets: identities.into_iter().map(target).collect(),
        slots,
    }
}

/// A number that is equal for rings with the same identity in every slot, whatever their groups are
/// called and in which order their targets stand.
pub fn ring_hash(ring: &Ring) -> u64 {
    let slots = ring.slots.iter();
    slots_hash(slots.map(|slot| ring.targets[usize::from(*slot)].identity))
}

/// The same for the identities in the slots, one after the other.
pub fn slots_hash(slots: impl IntoIterator<Item = Identity>) -> u64 {
    let mut hash = Sha256::new();
    for identity in slots {
        hash.update(identity.bytes());
    }
    first_words(hash).0
}

/// The shares above 0, as parts of their sum.
fn positive(shares: &BTreeMap<Identity, Share>) -> (Vec<Identity>, Vec<Share>) {
    let positive = || shares.iter().filter(|(_, share)| **share > Share::zero());
    let sum: Share = positive().map(|(_, share)| share).sum();
    positive()
        .map(|(identity, share)| (*identity, share / &sum))
        .unzip()
}

/// The number of slots of a ring whose smallest share is `smallest`.
pub fn ring_length(smallest: &Share) -> usize {
    LENGTHS
        .into_iter()
        .find(|length| whole_slots(smallest, *length) >= FEWEST)
        .unwrap_or(LONGEST)
}

/// The number of slots for each share; they sum to `length`.
fn quotas(shares: &[Share], length: usize) -> Vec<usize> {
    let quotas = apportion(shares, length);
    if quotas.iter().all(|quota| *quota > 0) {
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

fn whole_slots(share: &Share, length: usize) -> usize {
    let slots = (share * BigInt::from(length)).to_integer();
    slots.to_usize().unwrap_or(length)
}

/// The inverse of a share, as a number that the time of a step is made of. Shares that are
/// smaller by more than 2^26 race as if by 2^26.
fn interval(ratio: Share) -> u64 {
    const MOST: u64 = 1 << 58;
    let interval = (ratio * BigInt::from(1u64 << 32)).to_integer();
    interval.to_u64().unwrap_or(MOST).min(MOST)
}

/// A backend on its way over the slots `place`, `place + skip`, ... modulo the length.
struct Walker {
    target: u16,
    place: usize,
    skip: usize,
    /// Slots that it still has to take.
    quota: usize,
}

impl Walker {
    fn new(target: usize, identity: &Identity, quota: usize, length: usize) -> Self {
        let target = u16::try_from(target).ok().filter(|it| *it != FREE);
        let (place, skip) = first_words(Sha256::new().chain_update(identity.bytes()));
        let length = length as u64;
        Self {
            target: target.expect("a ring has at most 65,535 targets"),
            place: (place % length) as usize,
            skip: (1 + skip % (length - 1)) as usize,
            quota,
        }
    }

    fn step(&mut self, slots: &mut [u16]) {
        if slots[self.place] == FREE {
            slots[self.place] = self.target;
            self.quota -= 1;
        }
        self.place += self.skip;
        if self.place >= slots.len() {
            self.place -= slots.len();
        }
    }
}

/// Lets all walkers run until every slot is taken. Those with the same interval step at the same
/// times, so that equal weights, the usual case, need no queue.
fn race(lanes: BTreeMap<u64, Vec<Walker>>, length: usize) -> Vec<u16> {
    let mut slots = vec![FREE; length];
    let mut lanes: Vec<Lane> = (lanes.into_iter())
        .map(|(interval, walkers)| Lane {
            interval,
            unseen: length as u64,
            walkers,
        })
        .collect();
    let first = |(index, lane): (usize, &Lane)| Reverse((lane.pause(), index));
    let mut queue: BinaryHeap<_> = lanes.iter().enumerate().map(first).collect();
    while let Some(mut next) = queue.peek_mut() {
        let Reverse((time, index)) = *next;
        let lane = &mut lanes[index];
        lane.walkers.retain_mut(|walker| {
            walker.step(&mut slots);
            walker.quota > 0
        });
        lane.unseen -= 1;
        if lane.walkers.is_empty() {
            PeekMut::pop(next);
        } else {
            *next = Reverse((time + lane.pause(), index));
        }
    }
    slots
}

/// Walkers that step at the same times.
struct Lane {
    interval: u64,
    /// Slots that its walkers have not looked at: as many for each.
    unseen: u64,
    walkers: Vec<Walker>,
}

impl Lane {
    /// The time until the next step. Whoever has seen every slot has all that it should have, so
    /// that `unseen` is not 0 here.
    fn pause(&self) -> u64 {
        self.interval / self.unseen
    }
}

fn first_words(hash: Sha256) -> (u64, u64) {
    let digest: [u8; 32] = hash.finalize().into();
    let (words, _) = digest.as_chunks();
    (u64::from_be_bytes(words[0]), u64::from_be_bytes(words[1]))
}
