//! Two ways to cut the address spaces, laid over each other.

use std::{
    cmp,
    collections::{BTreeMap, btree_map},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use num_bigint::BigInt;

use crate::{
    class::{Address, Partition, laid},
    model::{Clients, Prefix},
};

/// For each family the addresses that are of one class before and of one after.
pub(super) struct Overlay {
    v4: Pairs,
    v6: Pairs,
}

/// Addresses by their classes before and after.
pub(super) struct Pairs {
    pairs: BTreeMap<(usize, usize), Addresses>,
    total: BigInt,
}

/// Some addresses of one family.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Addresses {
    /// How many: of IPv6 there may be 2^128.
    pub(super) count: BigInt,
    /// The first of the largest prefixes of them.
    pub(super) sample: Prefix,
}

impl Addresses {
    /// Takes others of the same family in.
    pub(super) fn join(&mut self, other: &Self) {
        self.count += &other.count;
        self.sample = cmp::min_by_key(self.sample, other.sample, size_and_place);
    }
}

fn size_and_place(prefix: &Prefix) -> (u8, Prefix) {
    (prefix.length(), *prefix)
}

impl Overlay {
    pub(super) fn of(old: &Partition, new: &Partition) -> Self {
        let v4 = |bits: u128| Ipv4Addr::from_bits(bits as u32).into();
        let v6 = |bits: u128| Ipv6Addr::from_bits(bits).into();
        Self {
            v4: Pairs::of([&old.v4, &new.v4], u32::MAX, v4),
            v6: Pairs::of([&old.v6, &new.v6], u128::MAX, v6),
        }
    }

    pub(super) fn of_family(&self, v4: bool) -> &Pairs {
        if v4 { &self.v4 } else { &self.v6 }
    }
}

impl Pairs {
    fn of<A: Address + Into<u128>>(
        layers: [&[(A, usize)]; 2],
        highest: A,
        address: impl Fn(u128) -> IpAddr,
    ) -> Self {
        let runs = laid(layers, |[before, after]| (before, after));
        let mut pairs = BTreeMap::<_, Addresses>::new();
        for (place, (first, classes)) in runs.iter().enumerate() {
            let first: u128 = (*first).into();
            let next = runs.get(place + 1);
            let last: u128 = next.map_or(highest.into(), |(next, _)| (*next).into() - 1);
            let prefixes = Clients::new(address(first), address(last)).into_iter();
            let largest = prefixes.flat_map(Clients::prefixes);
            let Some(sample) = largest.min_by_key(size_and_place) else {
                continue;
            };
            let run = Addresses {
                count: BigInt::from(last - first) + 1,
                sample,
            };
            let known = pairs.entry(*classes);
            known.and_modify(|it| it.join(&run)).or_insert(run);
        }
        Self {
            pairs,
            total: BigInt::from(highest.into()) + 1,
        }
    }

    /// How many addresses the family has.
    pub(super) fn total(&self) -> &BigInt {
        &self.total
    }
}

impl<'a> IntoIterator for &'a Pairs {
    type IntoIter = btree_map::Iter<'a, (usize, usize), Addresses>;
    type Item = (&'a (usize, usize), &'a Addresses);

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.iter()
    }
}
