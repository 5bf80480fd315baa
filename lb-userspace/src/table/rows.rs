//! Rings of more than one row: the client chooses the row, the flow the column.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use lb_common::Answer;
use num_bigint::BigInt;
use num_traits::One as _;
use sha2::{Digest, Sha256};

use super::{
    image::Ring,
    race::{Entrant, first_words, mix, race},
    ring::{LONGEST, made, seed},
    spread::{Destination, Shares},
    weights::Weights,
};
use crate::model::{Name, Share};

/// The numbers of columns, besides one. All are prime, as a race wants it.
const COLUMNS: [usize; 6] = [37, 67, 131, 257, 521, 1_021];

/// A share of a row gets at least this many columns, as long as there are so many.
const FEWEST_COLUMNS: usize = 16;

/// The numbers of rows that are raced for. All are prime.
const ROWS: [usize; 4] = [1_021, 4_093, 16_381, 65_521];

/// A part of the clients gets at least this many rows, as long as there are so many.
const FEWEST_ROWS: usize = 10;

/// The ring in which each of these has a row.
pub(super) fn of_buckets(group: &Name, buckets: &[Shares]) -> Ring {
    if buckets.is_empty() {
        return Ring::default();
    }
    let contents: Vec<_> = buckets.iter().map(Content::new).collect();
    let columns = columns(&contents, contents.len());
    let rows: Vec<_> = (0..contents.len()).collect();
    filled(group, &contents, &rows, columns)
}

/// The ring in which each of these has its part of the rows.
pub(super) fn of_parts(group: &Name, parts: &[(Share, Shares)]) -> Ring {
    let (shares, parts) = Weights::of(parts.iter().map(|(part, shares)| (shares, part)));
    if shares.is_empty() {
        return Ring::default();
    }
    let contents: Vec<_> = shares.into_iter().map(Content::new).collect();
    let columns = columns(&contents, ROWS[0]);
    let fits = |rows: &&usize| **rows * columns <= LONGEST;
    let most = ROWS.iter().rfind(fits).unwrap_or(&ROWS[0]);
    let rows = parts.length(&ROWS, FEWEST_ROWS).min(*most);
    let entrants = parts.entrants(seeds(&contents).into_iter(), rows);
    let (numbers, entrants): (Vec<_>, Vec<_>) = (entrants.into_iter().enumerate())
        .filter(|(_, entrant)| entrant.quota > 0)
        .unzip();
    let won = race(&entrants, rows).into_iter();
    let rows: Vec<_> = won.map(|entrant| numbers[usize::from(entrant)]).collect();
    filled(group, &contents, &rows, columns)
}

/// The slots of the ring of a spread by clients and flows whose smallest part of the clients is `part`,
/// and whose smallest share of a client's flows is `share`.
pub fn rows_length(part: &Share, share: &Share) -> usize {
    let enough = |share: &Share, length: &usize, fewest: usize| {
        (share * BigInt::from(*length)).to_integer() >= fewest.into()
    };
    let columns = match share.is_one() {
        true => 1,
        false => {
            let first = COLUMNS.iter().find(|it| enough(share, it, FEWEST_COLUMNS));
            *first.unwrap_or(&COLUMNS[COLUMNS.len() - 1])
        }
    };
    let fits = |rows: &&usize| **rows * columns <= LONGEST;
    let most = ROWS.iter().rfind(fits).unwrap_or(&ROWS[0]);
    let rows = ROWS.iter().find(|it| enough(part, it, FEWEST_ROWS));
    rows.unwrap_or(most).min(most) * columns
}

/// What a row says.
struct Content {
    destinations: Vec<Destination>,
    weights: Weights,
}

impl Content {
    fn new(shares: &Shares) -> Self {
        let (destinations, weights) = Weights::of(shares.iter().map(|(it, share)| (*it, share)));
        if destinations.is_empty() {
            let all = Share::from_integer(1.into());
            return Self::new(&[(Destination::Answer(Answer::DROP), all)].into());
        }
        Self {
            destinations,
            weights,
        }
    }
}

/// The fewest columns that are enough for each content, as long as so many rows of them fit.
fn columns(contents: &[Content], rows: usize) -> usize {
    let spread = contents.iter().filter(|it| it.destinations.len() > 1);
    let enough = |content: &Content| content.weights.length(&COLUMNS, FEWEST_COLUMNS);
    let Some(wanted) = spread.map(enough).max() else {
        return 1;
    };
    let fits = |columns: &&usize| **columns * rows <= LONGEST;
    let most = COLUMNS.iter().rfind(fits);
    wanted.min(*most.expect("a ring has at most 28,339 buckets"))
}

/// What chooses each content's order of rows: its destinations, not their shares, and how many before
/// it have the same.
fn seeds(contents: &[Content]) -> Vec<(u64, u64)> {
    let mut seen = BTreeMap::<&[Destination], u64>::new();
    let seed = |content: &Content| {
        let mut hash = Sha256::new();
        for destination in &content.destinations {
            hash.update(destination.bytes());
        }
        hash
    };
    let mut seeds = Vec::with_capacity(contents.len());
    for content in contents {
        let before = seen.entry(&content.destinations).or_default();
        seeds.push(first_words(
            seed(content).chain_update(before.to_be_bytes()),
        ));
        *before += 1;
    }
    seeds
}

/// The ring whose rows have the contents with these numbers.
fn filled(group: &Name, contents: &[Content], rows: &[usize], columns: usize) -> Ring {
    let all: BTreeSet<_> = contents.iter().flat_map(|it| &it.destinations).collect();
    let all: Vec<_> = all.into_iter().copied().collect();
    let seeds: Vec<_> = all.iter().map(seed).collect();
    let contents: Vec<_> = contents
        .iter()
        .map(|content| Walkers::new(content, &all, columns))
        .collect();
    let mut slots = Vec::with_capacity(rows.len() * columns);
    for (row, content) in rows.iter().enumerate() {
        contents[*content].fill(row as u64, &seeds, columns, &mut slots);
    }
    made(group, &all, slots, columns as u32)
}

/// A content as what races for the columns of its rows.
struct Walkers {
    /// Its destinations among all.
    numbers: Vec<u16>,
    intervals: Vec<u64>,
    /// The columns up to and with each of them, in 2^-32.
    ends: Vec<u64>,
}

impl Walkers {
    fn new(content: &Content, all: &[Destination], columns: usize) -> Self {
        let number = |it: &Destination| all.partition_point(|other| other < it) as u16;
        Self {
            numbers: content.destinations.iter().map(number).collect(),
            intervals: content.weights.intervals(),
            ends: content.weights.ends(columns),
        }
    }

    /// Appends the columns of a row. How many each destination has is rounded up or down so that rows
    /// far and near together have what they should: the row's number times the golden ratio says what
    /// counts as up.
    fn fill(&self, row: u64, seeds: &[(u64, u64)], columns: usize, slots: &mut Vec<u16>) {
        if let [only] = self.numbers[..] {
            slots.extend(std::iter::repeat_n(only, columns));
            return;
        }
        let up = row.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
        let mut before = 0;
        let quotas = self.ends.iter().map(|end| {
            let whole = (end + up) >> 32;
            whole - std::mem::replace(&mut before, whole)
        });
        let of_row = mix(row);
        let entrants: Vec<_> = (self.numbers.iter().zip(&self.intervals).zip(quotas))
            .map(|((number, interval), quota)| {
                let (place, skip) = seeds[usize::from(*number)];
                Entrant {
                    seed: (mix(place ^ of_row), mix(skip ^ of_row)),
                    quota: quota as usize,
                    interval: *interval,
                }
            })
            .collect();
        let won = race(&entrants, columns).into_iter();
        slots.extend(won.map(|entrant| self.numbers[usize::from(entrant)]));
    }
}
