//! Which members each client may get, if it is to get only some of them.

use std::{cmp::Reverse, collections::BTreeMap};

use sha2::{Digest, Sha256};

use super::{Scene, candidate::Candidate};
use crate::model::Who;

/// Parts of the clients that are told apart: the ring is then as long as others. The parts of the members
/// differ from equal ones by about a fiftieth.
pub(crate) const BUCKETS: usize = 1_021;

/// The sets of `take` candidates that clients get, each once, and for each of [`BUCKETS`] equal parts of
/// the clients which it gets: those with the highest hashes of the member and the part, so that a member
/// that leaves changes the sets only that it was in (R12; Thaler and Ravishankar, "Using name-based
/// mappings to increase hit rates", 1998). Members are known by what is the same on every host.
pub(super) fn sets(
    scene: &Scene<'_>,
    candidates: &[&Candidate<'_>],
    take: usize,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let seeds: Vec<u64> = candidates.iter().map(|it| seed(scene, it)).collect();
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let bucket = |bucket| {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_cached_key(|it| Reverse((mixed(seeds[*it], bucket), seeds[*it])));
        order.truncate(take);
        order.sort_unstable();
        let next = known.len();
        *known.entry(order).or_insert(next)
    };
    let buckets = (0..BUCKETS as u64).map(bucket).collect();
    let mut sets: Vec<_> = known.into_iter().collect();
    sets.sort_unstable_by_key(|(_, number)| *number);
    (sets.into_iter().map(|(set, _)| set).collect(), buckets)
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
fn mixed(seed: u64, number: u64) -> u64 {
    let step = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut z = seed.wrapping_add(step);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use crate::{
        model::{Health, Member, Stage},
        policy::fixtures::{decided, front_door, member, state},
        table::{ring, spread},
    };

    /// For each part of the clients who it gets of these members, `take` each.
    fn buckets(members: &[u8], take: u16) -> Vec<BTreeSet<String>> {
        let decision = subset_of(members, take);
        let names = decision.rows.buckets();
        names
            .map(|it| {
                it.keys()
                    .filter_map(|to| Some(to.backend()?.to_string()))
                    .collect()
            })
            .collect()
    }

    fn subset_of(members: &[u8], take: u16) -> crate::policy::Decision {
        let members: Vec<Member> = members
            .iter()
            .map(|it| member(&format!("m{it}"), 1, 1))
            .collect();
        let states = vec![state(Health::Up, None, ""); members.len()];
        let mut group = front_door("web", members);
        group.stages = vec![Stage::Subset { take }];
        decided(&group, &states)
    }

    #[test]
    fn t236_each_client_has_two_of_three_and_each_backend_about_a_third() {
        let decision = subset_of(&[1, 2, 3], 2);
        let backends = crate::policy::fixtures::backends(&["m1", "m2", "m3"]);
        let ring = ring(&"web".parse().unwrap(), &spread(&backends, &decision));
        let columns = ring.columns as usize;
        let mut counts = BTreeMap::<_, usize>::new();
        for row in ring.slots.chunks(columns) {
            assert_eq!(row.iter().collect::<BTreeSet<_>>().len(), 2);
            row.iter()
                .for_each(|slot| *counts.entry(*slot).or_default() += 1);
        }
        for count in counts.values() {
            let part = *count as f64 / ring.slots.len() as f64;
            assert!((part - 1. / 3.).abs() < 0.02, "{part}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_member_that_leaves_concerns_only_the_clients_that_had_it(
            members in prop::collection::btree_set(0..40_u8, 4..8),
            leaves in any::<prop::sample::Index>(),
            take in 1..3_u16,
        ) {
            let mut members: Vec<u8> = members.into_iter().collect();
            let before = buckets(&members, take);
            members.reverse();
            prop_assert_eq!(&buckets(&members, take), &before, "in any order");
            let gone = members.remove(leaves.index(members.len()));
            let gone = format!("m{gone}");
            for (before, after) in before.iter().zip(buckets(&members, take)) {
                let mut stay = before.clone();
                prop_assert_eq!(after.len(), usize::from(take));
                if stay.remove(&gone) {
                    prop_assert!(stay.is_subset(&after));
                } else {
                    prop_assert_eq!(before, &after);
                }
            }
        }
    }
}
