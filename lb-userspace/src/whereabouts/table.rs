use std::{collections::HashMap, hash::Hash, net::IpAddr};

use crate::{
    class::{Address, extend, laid, runs},
    model::{Clients, Prefix},
};

/// What is known of addresses.
///
/// Each family is cut into runs of one choice: they stand in ascending order, the first begins at
/// address 0, each ends where the next begins, and neighbours differ. Choice 0 is that nothing is known,
/// choice n the n-th of [`Self::values`], as in [`crate::class::runs`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table<T> {
    v4: Vec<(u32, usize)>,
    v6: Vec<(u128, usize)>,
    values: Vec<T>,
    entries: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            v4: vec![(0, 0)],
            v6: vec![(0, 0)],
            values: Vec::new(),
            entries: 0,
        }
    }
}

/// Two entries that say something of exactly the same addresses: their indices, the first one first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Twice {
    /// The addresses.
    pub prefix: Prefix,
    /// The entry that comes first.
    pub first: usize,
    /// The one that repeats it.
    pub again: usize,
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// The table of these entries. A range is its smallest cover (T220), and of all prefixes that an
    /// address is in the longest holds (R10).
    ///
    /// # Errors
    /// Every prefix that two entries have.
    pub fn new(entries: &[(Clients, T)]) -> Result<Self, Vec<Twice>> {
        let mut values = Values::default();
        let choices: Vec<usize> = entries
            .iter()
            .map(|(_, value)| values.choice(value))
            .collect();
        let ranges = entries.iter().enumerate();
        let ranges = ranges.map(|(entry, (clients, _))| (*clients, entry));
        let (v4, v6): (Vec<_>, Vec<_>) = ranges.partition(|(clients, _)| clients.first().is_ipv4());
        match (family(v4, &choices), family(v6, &choices)) {
            (Ok(v4), Ok(v6)) => Ok(Self {
                v4,
                v6,
                values: values.list,
                entries: entries.len(),
            }),
            (v4, v6) => {
                let twice = [v4.err(), v6.err()].into_iter().flatten();
                Err(twice.flatten().collect())
            }
        }
    }

    /// This table where it knows an address, and the other one where it does not.
    pub fn over(self, below: Self) -> Self {
        if below.entries == 0 {
            return self;
        }
        if self.entries == 0 {
            return below;
        }
        let mut values = Values::default();
        let mut choices = |table: &Self| -> Vec<usize> {
            let known = table.values.iter().map(|value| values.choice(value));
            std::iter::once(0).chain(known).collect()
        };
        let [upper, lower] = [choices(&self), choices(&below)];
        let choose = |[over, under]: [usize; 2]| match over {
            0 => lower[under],
            known => upper[known],
        };
        Self {
            v4: laid([&self.v4, &below.v4], choose),
            v6: laid([&self.v6, &below.v6], choose),
            values: values.list,
            entries: self.entries + below.entries,
        }
    }
}

impl<T> Table<T> {
    /// First addresses of the runs of IPv4, and their choices.
    pub fn v4(&self) -> &[(u32, usize)] {
        &self.v4
    }

    /// The same for IPv6.
    pub fn v6(&self) -> &[(u128, usize)] {
        &self.v6
    }

    /// The values, each once.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// What a choice stands for; none for 0.
    pub fn value(&self, choice: usize) -> Option<&T> {
        self.values.get(choice.checked_sub(1)?)
    }

    /// What is known of an address.
    pub fn at(&self, address: IpAddr) -> Option<&T> {
        self.value(match address.to_canonical() {
            IpAddr::V4(v4) => choice_at(&self.v4, v4.to_bits()),
            IpAddr::V6(v6) => choice_at(&self.v6, v6.to_bits()),
        })
    }

    /// Number of entries that it was made of.
    pub fn entries(&self) -> usize {
        self.entries
    }
}

/// Values, each once, with their numbers.
struct Values<T> {
    list: Vec<T>,
    choices: HashMap<T, usize>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            choices: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Values<T> {
    fn choice(&mut self, value: &T) -> usize {
        if let Some(choice) = self.choices.get(value) {
            return *choice;
        }
        self.list.push(value.clone());
        self.choices.insert(value.clone(), self.list.len());
        self.list.len()
    }
}

/// The runs of entries of one family, each a range with its index. `choices` has those of the entries.
fn family<A: Address>(
    mut ranges: Vec<(Clients, usize)>,
    choices: &[usize],
) -> Result<Vec<(A, usize)>, Vec<Twice>> {
    ranges.sort_unstable_by_key(|(clients, entry)| (clients.first(), *entry));
    let mut pairs = ranges.windows(2);
    if pairs.all(|pair| pair[0].0.last() < pair[1].0.first()) {
        return Ok(disjoint(&ranges, choices));
    }
    let prefixes = |(clients, entry): &(Clients, usize)| {
        let entry = *entry;
        clients.prefixes().map(move |prefix| (prefix, entry))
    };
    let mut prefixes: Vec<_> = ranges.iter().flat_map(prefixes).collect();
    let twice = twice(&mut prefixes);
    if !twice.is_empty() {
        return Err(twice);
    }
    for (_, entry) in &mut prefixes {
        *entry = choices[*entry];
    }
    Ok(runs(&prefixes))
}

/// The runs of ranges in ascending order that have no address in common. Databases are such, and some
/// have millions of ranges, of which the prefixes would be many times as many.
fn disjoint<A: Address>(ranges: &[(Clients, usize)], choices: &[usize]) -> Vec<(A, usize)> {
    let mut all = vec![(A::ZERO, 0)];
    for (clients, entry) in ranges {
        extend(&mut all, (A::of(clients.first()), choices[*entry]));
        if let Some(after) = A::of(clients.last()).next() {
            extend(&mut all, (after, 0));
        }
    }
    all
}

/// Sorts prefixes, and tells of those that are there more than once.
fn twice(prefixes: &mut [(Prefix, usize)]) -> Vec<Twice> {
    prefixes.sort_unstable_by_key(|(prefix, entry)| (prefix.first(), prefix.length(), *entry));
    let equal = |pair: &&[(Prefix, usize)]| pair[0].0 == pair[1].0;
    let pairs = prefixes.windows(2).filter(equal);
    let twice = pairs.map(|pair| Twice {
        prefix: pair[0].0,
        first: pair[0].1,
        again: pair[1].1,
    });
    twice.collect()
}

fn choice_at<A: Ord>(runs: &[(A, usize)], address: A) -> usize {
    let next = runs.partition_point(|(first, _)| *first <= address);
    runs[next - 1].1
}
