//! Which members each client may get, if it is to get only some of them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Scene, candidate::Candidate};
use crate::model::{Share, Who};

/// Parts of the clients that are told apart. With as many, the parts of the members differ from equal
/// ones by about a fiftieth.
pub(crate) const BUCKETS: u32 = 4096;

/// Which `take` of the candidates each part of the clients gets: those with the highest hashes of the
/// member and the part, so that a member that leaves changes the sets only that it was in (R12;
/// Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998). Members are
/// known by what is the same on every host.
pub(super) fn sets(
    scene: &Scene<'_>,
    candidates: &[Candidate<'_>],
    take: u16,
) -> Vec<(Share, Vec<usize>)> {
    let everybody = || (0..candidates.len()).collect();
    let take = usize::from(take);
    if take >= candidates.len() {
        return vec![(Share::from_integer(1.into()), everybody())];
    }
    let seeds: Vec<u64> = candidates.iter().map(|it| seed(scene, it)).collect();
    let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for bucket in 0..BUCKETS {
        let mut order: Vec<usize> = everybody();
        order.sort_by_cached_key(|it| std::cmp::Reverse((mixed(seeds[*it], bucket), seeds[*it])));
        order.truncate(take);
        order.sort_unstable();
        *counts.entry(order).or_default() += 1;
    }
    let part = |count: u32| Share::new(count.into(), BUCKETS.into());
    counts
        .into_iter()
        .map(|(set, count)| (part(count), set))
        .collect()
}

fn seed(scene: &Scene<'_>, candidate: &Candidate<'_>) -> u64 {
    let mut hash = Sha256::new();
    match &candidate.member.who {
        Who::Backend(name) => hash.update(scene.backends[name].identity().bytes()),
        Who::Group(name) => hash.update(name.as_str()),
    }
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The finisher of SplitMix64 (Steele, Lea and Flood, 2014) over a seed and a number.
fn mixed(seed: u64, number: u32) -> u64 {
    let step = u64::from(number)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut z = seed.wrapping_add(step);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
