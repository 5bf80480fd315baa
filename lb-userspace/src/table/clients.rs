use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{class::Partition, model::Prefix};

/// Addresses of one last byte: what an element of CLIENTS_V4_LONG tells apart.
const BLOCK: u32 = 1 << 8;

/// Which number stands for a client's class in the kernel, for both address spaces: runs of
/// addresses with one number, as in [`crate::class::Partition`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClassTable {
    v4: Vec<(u32, u16)>,
    v6: Vec<(u128, u16)>,
    numbers: BTreeSet<u16>,
}

impl Default for ClassTable {
    /// Number 0 for everybody.
    fn default() -> Self {
        Self::new(vec![(0, 0)], vec![(0, 0)])
    }
}

impl ClassTable {
    /// A table of these runs: first addresses in ascending order, from 0 on, and their numbers.
    pub fn new(v4: Vec<(u32, u16)>, v6: Vec<(u128, u16)>) -> Self {
        let numbers = v4.iter().map(|it| it.1).chain(v6.iter().map(|it| it.1));
        let numbers = numbers.collect();
        Self { v4, v6, numbers }
    }

    /// The table in which each class is its own number.
    ///
    /// # Panics
    ///
    /// With more classes than [`crate::class::MOST_CLASSES`].
    pub fn of(clients: &Partition) -> Self {
        let number = |class: usize| u16::try_from(class).expect("classes are numbers of 15 bits");
        let v4 = clients
            .v4
            .iter()
            .map(|(first, class)| (*first, number(*class)));
        let v6 = clients
            .v6
            .iter()
            .map(|(first, class)| (*first, number(*class)));
        Self::new(v4.collect(), v6.collect())
    }

    /// The number of a client's class.
    pub fn class_of(&self, client: IpAddr) -> u16 {
        match client.to_canonical() {
            IpAddr::V4(v4) => number_at(&self.v4, v4.to_bits()),
            IpAddr::V6(v6) => number_at(&self.v6, v6.to_bits()),
        }
    }

    /// The runs of IPv4.
    pub fn v4(&self) -> &[(u32, u16)] {
        &self.v4
    }

    /// The runs of IPv6.
    pub fn v6(&self) -> &[(u128, u16)] {
        &self.v6
    }

    /// The numbers that some client has.
    pub fn numbers(&self) -> &BTreeSet<u16> {
        &self.numbers
    }

    /// The fewest prefixes that tell the IPv4 clients of each number, in ascending order: of those that
    /// a client is in the longest holds.
    pub fn clients_v4(&self) -> BTreeMap<u16, Vec<Prefix>> {
        const ABOVE: u32 = u128::BITS - u32::BITS;
        let runs = self.v4.iter();
        let runs: Vec<_> = runs
            .map(|(first, number)| (u128::from(*first) << ABOVE, *number))
            .collect();
        by_number(&runs, |bits| {
            Ipv4Addr::from_bits((bits >> ABOVE) as u32).into()
        })
    }

    /// The same of IPv6.
    pub fn clients_v6(&self) -> BTreeMap<u16, Vec<Prefix>> {
        by_number(&self.v6, |bits| Ipv6Addr::from_bits(bits).into())
    }

    /// The blocks of 256 IPv4 addresses that have more than one number: block, and the number of each
    /// of its addresses.
    pub fn mixed_blocks(&self) -> BTreeMap<u32, [u16; BLOCK as usize]> {
        let mut blocks = BTreeMap::new();
        for (i, (first, number)) in self.v4.iter().enumerate().skip(1) {
            if first.is_multiple_of(BLOCK) {
                continue;
            }
            let before = self.v4[i - 1].1;
            let numbers = blocks
                .entry(first / BLOCK)
                .or_insert([before; BLOCK as usize]);
            numbers[(first % BLOCK) as usize..].fill(*number);
        }
        blocks
    }

    /// The fewest IPv6 prefixes, by first address and length, whose longest match gives these
    /// numbers; no match is number 0.
    pub fn prefixes(&self) -> BTreeMap<(u128, u8), u16> {
        fewest(&self.v6)
    }
}

fn fewest(runs: &[(u128, u16)]) -> BTreeMap<(u128, u8), u16> {
    let mut tree = Tree::default();
    let root = tree.grow(0, 0, runs);
    let mut prefixes = BTreeMap::new();
    tree.pick(root, 0, &mut prefixes);
    prefixes
}

fn by_number(runs: &[(u128, u16)], address: fn(u128) -> IpAddr) -> BTreeMap<u16, Vec<Prefix>> {
    let mut prefixes = fewest(runs);
    // Who is in no prefix has number 0.
    prefixes.entry((0, 0)).or_insert(0);
    let mut clients = BTreeMap::<_, Vec<_>>::new();
    for ((first, length), number) in prefixes {
        let prefix = Prefix::around(address(first), length);
        clients.entry(number).or_default().extend(prefix);
    }
    clients
}

fn number_at<A: Ord>(runs: &[(A, u16)], address: A) -> u16 {
    let next = runs.partition_point(|(first, _)| *first <= address);
    next.checked_sub(1).map_or(0, |run| runs[run].1)
}

/// A binary tree of prefixes, each with the numbers that are best for what is in it
/// (Draves et al., "Constructing optimal IP routing tables", INFOCOM 1999).
#[derive(Default)]
struct Tree(Vec<Node>);

struct Node {
    first: u128,
    length: u8,
    /// With one of these around what is in it, the fewest prefixes are needed there.
    best: Vec<u16>,
    halves: Option<[usize; 2]>,
}

impl Tree {
    /// Makes the node of a prefix and all below it. `runs` are those that meet it.
    fn grow(&mut self, first: u128, length: u8, runs: &[(u128, u16)]) -> usize {
        let (best, halves) = match runs {
            [(_, number)] => (vec![*number], None),
            _ => {
                let middle = first | 1 << (127 - length);
                let at = runs.partition_point(|(start, _)| *start < middle);
                let begins = runs.get(at).is_some_and(|(start, _)| *start == middle);
                let upper = &runs[if begins { at } else { at - 1 }..];
                let lower = self.grow(first, length + 1, &runs[..at]);
                let upper = self.grow(middle, length + 1, upper);
                let best = best_of_both(&self.0[lower].best, &self.0[upper].best);
                (best, Some([lower, upper]))
            }
        };
        self.0.push(Node {
            first,
            length,
            best,
            halves,
        });
        self.0.len() - 1
    }

    /// Collects what is needed in a node where `around` holds.
    fn pick(&self, node: usize, around: u16, prefixes: &mut BTreeMap<(u128, u8), u16>) {
        let Node {
            first,
            length,
            best,
            halves,
        } = &self.0[node];
        let number = if best.contains(&around) {
            around
        } else {
            best[0]
        };
        if number != around {
            prefixes.insert((*first, *length), number);
        }
        for half in halves.iter().flatten() {
            self.pick(*half, number, prefixes);
        }
    }
}

/// What both have in common, or else all of both. Both are in ascending order, and so is it.
fn best_of_both(one: &[u16], other: &[u16]) -> Vec<u16> {
    let common: Vec<u16> = one
        .iter()
        .filter(|it| other.contains(it))
        .copied()
        .collect();
    if !common.is_empty() {
        return common;
    }
    let all: BTreeSet<u16> = one.iter().chain(other).copied().collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn longest_match(prefixes: &BTreeMap<(u128, u8), u16>, address: u128) -> u16 {
        let found = (0..=128).rev().find_map(|length: u8| {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            prefixes.get(&(address & mask, length))
        });
        found.copied().unwrap_or(0)
    }

    #[test]
    fn a_hole_in_a_prefix_takes_one_entry() {
        let outer = 0x2001_0db8_u128 << 96;
        let v6 = vec![
            (0, 0),
            (outer, 1),
            (outer + 5, 2),
            (outer + 6, 1),
            (outer + (1 << 96), 0),
        ];
        let prefixes = ClassTable::new(vec![(0, 0)], v6).prefixes();
        let expected = BTreeMap::from([((outer, 32), 1), ((outer + 5, 128), 2)]);
        assert_eq!(prefixes, expected);
        assert_eq!(ClassTable::default().prefixes(), BTreeMap::new());
        let everybody = ClassTable::new(vec![(0, 0)], vec![(0, 3)]);
        assert_eq!(everybody.prefixes(), BTreeMap::from([((0, 0), 3)]));
    }

    #[test]
    fn the_clients_of_a_number_are_told_by_the_longest_prefix() {
        let v4 = vec![
            (0, 3),
            (0xc633_6400, 1),
            (0xc633_6409, 2),
            (0xc633_640a, 1),
            (0xc633_6440, 3),
        ];
        let table = ClassTable::new(v4, vec![(0, 0), (1, 2), (2, 0)]);
        let text = |prefixes: &[Prefix]| {
            let texts: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
            texts.join(" ")
        };
        let v4 = table.clients_v4();
        assert_eq!(text(&v4[&1]), "198.51.100.0/26");
        assert_eq!(text(&v4[&2]), "198.51.100.9/32");
        assert_eq!(text(&v4[&3]), "0.0.0.0/0");
        let v6 = table.clients_v6();
        assert_eq!(
            (text(&v6[&0]), text(&v6[&2])),
            ("::/0".into(), "::1/128".into())
        );
        for (client, number) in [
            ("0.0.0.0", 3),
            ("198.51.100.8", 1),
            ("198.51.100.9", 2),
            ("255.255.255.255", 3),
            ("::1", 2),
            ("::2", 0),
        ] {
            assert_eq!(table.class_of(client.parse().unwrap()), number, "{client}");
        }
        let everybody = ClassTable::default().clients_v4();
        assert_eq!(text(&everybody[&0]), "0.0.0.0/0");
    }

    #[test]
    fn only_blocks_with_two_numbers_are_told_apart_by_the_last_byte() {
        let v4 = vec![
            (0, 0),
            (0x100, 1),
            (0x2f0, 2),
            (0x2ff, 3),
            (0x300, 0),
            (u32::MAX, 4),
        ];
        let blocks = ClassTable::new(v4, vec![(0, 0)]).mixed_blocks();
        assert_eq!(
            blocks.keys().copied().collect::<Vec<_>>(),
            [2, u32::MAX >> 8]
        );
        assert_eq!(blocks[&2][0xef..=0xf0], [1, 2]);
        assert_eq!(blocks[&2][0xfe..], [2, 3]);
        assert_eq!(blocks[&(u32::MAX >> 8)][0xfe..], [0, 4]);
    }

    proptest! {
        #[test]
        fn the_longest_match_gives_the_numbers_of_the_runs(
            borders in prop::collection::btree_map(any::<u128>().prop_map(|it| it & (7 << 125 | 7 << 60 | 7)), 0..4_u16, 0..40),
            first in 0..4_u16,
        ) {
            let mut v6 = vec![(0, first)];
            for (border, number) in borders {
                v6.pop_if(|(first, _)| *first == border);
                if v6.last().is_none_or(|(_, last)| *last != number) {
                    v6.push((border, number));
                }
            }
            let prefixes = ClassTable::new(vec![(0, 0)], v6.clone()).prefixes();
            for (border, _) in &v6 {
                for address in [border.wrapping_sub(1), *border, border.wrapping_add(1)] {
                    prop_assert_eq!(longest_match(&prefixes, address), number_at(&v6, address));
                }
            }
        }
    }
}
