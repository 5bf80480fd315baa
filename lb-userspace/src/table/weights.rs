use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use super::race::Entrant;
use crate::model::Share;

/// Shares as whole numbers above 0, which sum to what they are parts of.
pub(super) struct Weights {
    pub(super) weights: Vec<u64>,
    sum: u128,
}

impl Weights {
    /// What has a share above 0, and the weights of that: exact with a common denominator of 64 bits,
    /// else to 2^-62.
    pub(super) fn of<'a, T>(shares: impl Iterator<Item = (T, &'a Share)>) -> (Vec<T>, Self) {
        let positive = shares.filter(|(_, share)| **share > Share::zero());
        let (of, shares): (Vec<T>, Vec<&Share>) = positive.unzip();
        let weights = exact(&shares).unwrap_or_else(|| rounded(&shares));
        let sum = weights.iter().map(|weight| u128::from(*weight)).sum();
        (of, Self { weights, sum })
    }

    /// The first of these lengths at which the smallest weight has at least `fewest` whole places; else
    /// the last.
    pub(super) fn length(&self, lengths: &[usize], fewest: usize) -> usize {
        let smallest = self.weights.iter().min().copied().unwrap_or_default();
        let enough = |length: &&usize| self.whole(smallest, **length).0 >= fewest;
        let found = lengths.iter().find(enough).or(lengths.last());
        found.copied().unwrap_or_default()
    }

    /// Who takes part in a race for `length` places.
    pub(super) fn entrants(
        &self,
        seeds: impl Iterator<Item = (u64, u64)>,
        length: usize,
    ) -> Vec<Entrant> {
        let all = seeds.zip(self.intervals()).zip(self.quotas(length));
        all.map(|((seed, interval), quota)| Entrant {
            seed,
            quota,
            interval,
        })
        .collect()
    }

    /// The inverse of each weight, as a number that the time of a step is made of. Weights that are
    /// smaller by more than 2^26 race as if by 2^26.
    pub(super) fn intervals(&self) -> Vec<u64> {
        const MOST: u128 = 1 << 58;
        let largest = self.weights.iter().max().copied().unwrap_or_default();
        let inverse = |weight: &u64| (u128::from(largest) << 32) / u128::from(*weight);
        let inverses = self.weights.iter().map(inverse);
        inverses.map(|inverse| inverse.min(MOST) as u64).collect()
    }

    /// Where each ends if they stand one after the other on a line of `length` places, in 2^-32 places.
    pub(super) fn ends(&self, length: usize) -> Vec<u64> {
        let mut end = 0;
        let weights = self.weights.iter();
        weights
            .map(|weight| {
                end += u128::from(*weight);
                // Both factors fit: sums have at most 80 bits, of weights of 64, and lengths 11.
                let whole = end * length as u128;
                let sum = self.sum.max(1);
                (((whole / sum) << 32) | (((whole % sum) << 32) / sum)) as u64
            })
            .collect()
    }

    /// The number of places for each weight; they sum to `length`. None is left out as long as there is
    /// one for each.
    fn quotas(&self, length: usize) -> Vec<usize> {
        let quotas = self.apportioned(length);
        let count = self.weights.len();
        if count > length || quotas.iter().all(|quota| *quota > 0) {
            return quotas;
        }
        let rest = self.apportioned(length - count);
        rest.into_iter().map(|quota| quota + 1).collect()
    }

    /// Largest remainder; among equal ones the first wins.
    fn apportioned(&self, length: usize) -> Vec<usize> {
        let weights = self.weights.iter();
        let (mut quotas, remainders): (Vec<_>, Vec<_>) =
            weights.map(|weight| self.whole(*weight, length)).unzip();
        let mut order: Vec<usize> = (0..quotas.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(remainders[*index]));
        let left = length - quotas.iter().sum::<usize>();
        for index in order.into_iter().take(left) {
            quotas[index] += 1;
        }
        quotas
    }

    /// The whole places of `length` that a weight stands for, and what remains.
    fn whole(&self, weight: u64, length: usize) -> (usize, u128) {
        let (places, sum) = (u128::from(weight) * length as u128, self.sum.max(1));
        ((places / sum) as usize, places % sum)
    }
}

fn exact(shares: &[&Share]) -> Option<Vec<u64>> {
    let mut common = 1_u64;
    for share in shares {
        let denominator = share.denom().to_u64()?;
        common = (common / gcd(common, denominator)).checked_mul(denominator)?;
    }
    let weight = |share: &&Share| {
        let factor = common / share.denom().to_u64()?;
        share.numer().to_u64()?.checked_mul(factor)
    };
    shares.iter().map(weight).collect()
}

fn rounded(shares: &[&Share]) -> Vec<u64> {
    let sum: Share = shares.iter().copied().sum();
    let scale = Share::from_integer(BigInt::from(1_u64 << 62)) / sum;
    let weight = |share: &&Share| (*share * &scale).to_integer().to_u64();
    shares
        .iter()
        .map(|it| weight(it).unwrap_or(0).max(1))
        .collect()
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}
