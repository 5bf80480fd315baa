use sha2::{Digest, Sha256};

use super::{
    race::mix,
    spread::{Destination, Shares, Spread},
};
use crate::model::{Identity, Share};

/// N of M: each of `buckets` equal parts of the clients has its own `n` of the members, and its flows
/// are spread over them by weight. Members of weight 0 are none.
///
/// Rendezvous hashing by weight (Thaler and Ravishankar, 1998; R12): each member draws a number for
/// each bucket, and the `n` highest have it. So a member that leaves concerns only the buckets that
/// it had, and there only its own place; one that comes takes one place in each that it gets. A member is
/// drawn as often as by its weight only if `n` is 1 or the weights are equal: heavier ones are not
/// drawn twice.
///
/// With 1,021 buckets a ring stays as short as others.
pub fn subset(members: &[(Identity, u64)], n: usize, buckets: usize) -> Spread {
    let members: Vec<_> = members
        .iter()
        .filter(|(_, weight)| *weight > 0)
        .map(|(identity, weight)| (seed(identity), Destination::from(*identity), *weight))
        .collect();
    let bucket = |bucket: u64| {
        let mut drawn: Vec<_> = members
            .iter()
            .map(|(seed, destination, weight)| (cost(*seed, bucket, *weight), destination, weight))
            .collect();
        drawn.sort_unstable();
        let chosen = drawn.into_iter().take(n);
        let share = |weight: &u64| Share::from_integer((*weight).into());
        chosen
            .map(|(_, destination, weight)| (*destination, share(weight)))
            .collect::<Shares>()
    };
    Spread::Buckets((0..buckets as u64).map(bucket).collect())
}

fn seed(identity: &Identity) -> u64 {
    let digest: [u8; 32] = Sha256::new()
        .chain_update("waggle subset")
        .chain_update(identity.bytes())
        .finalize()
        .into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// What a member of this seed draws for a bucket: an exponentially distributed number with the weight
/// as its rate. By whole numbers, since it must be the same on every host.
fn cost(seed: u64, bucket: u64, weight: u64) -> u64 {
    /// The logarithm is at most 64, and this is as far as it goes to the left.
    const ROOM: u32 = 63 - 6 - FRACTION;
    let drawn = mix(seed ^ mix(bucket));
    (((64 << FRACTION) - log2(drawn | 1)) << ROOM) / weight
}

/// Bits of a logarithm behind the point.
const FRACTION: u32 = 24;

/// The binary logarithm, bit by bit.
fn log2(number: u64) -> u64 {
    let whole = number.ilog2();
    let mut log = u64::from(whole);
    let mut mantissa = number << (63 - whole);
    for _ in 0..FRACTION {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let carry = (square >> 64) as u64;
        log = log << 1 | carry;
        mantissa = (square >> carry) as u64;
    }
    log
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::model::Forward;

    fn member(number: u32) -> Identity {
        Identity {
            address: std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into(),
            forward: Forward::L2Dsr,
            port: None,
        }
    }

    fn buckets(members: &[(Identity, u64)], n: usize, buckets: usize) -> Vec<BTreeSet<Identity>> {
        let Spread::Buckets(all) = subset(members, n, buckets) else {
            panic!("not by buckets");
        };
        let chosen = |shares: &Shares| shares.keys().filter_map(Destination::identity).collect();
        all.iter().map(chosen).collect()
    }

    #[test]
    fn t236_each_bucket_has_two_of_three_and_each_backend_about_a_third() {
        let members: Vec<_> = (0..3).map(|number| (member(number), 50)).collect();
        let spread = subset(&members, 2, 1_021);
        let ring = crate::table::ring(&"web".parse().unwrap(), &spread);
        assert_eq!(ring.columns, 37);
        let mut counts = BTreeMap::<_, usize>::new();
        for row in ring.slots.chunks(37) {
            assert_eq!(row.iter().collect::<BTreeSet<_>>().len(), 2);
            row.iter()
                .for_each(|slot| *counts.entry(*slot).or_default() += 1);
        }
        for count in counts.values() {
            let part = *count as f64 / ring.slots.len() as f64;
            assert!((part - 1. / 3.).abs() < 0.02, "{part}");
        }
    }

    #[test]
    fn one_of_several_is_drawn_by_weight() {
        let members = [(member(1), 1), (member(2), 3), (member(3), 0)];
        let all = buckets(&members, 1, 100_000);
        let first = all.iter().filter(|it| it.contains(&member(1))).count();
        // Four standard deviations.
        assert!(first.abs_diff(25_000) < 550, "{first}");
        assert!(all.iter().all(|it| !it.contains(&member(3))));
    }

    #[test]
    fn the_logarithm_is_that_of_a_number() {
        for number in [1, 2, 3, 1 << 40, u64::MAX / 3, u64::MAX] {
            let log = log2(number) as f64 / f64::from(1 << FRACTION);
            assert!(
                (log - (number as f64).log2()).abs() < 1e-6,
                "{number}: {log}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_member_that_leaves_concerns_only_the_buckets_that_had_it(
            weights in prop::collection::btree_map(0..1_000_u32, 1..100_u64, 2..12),
            leaves in any::<prop::sample::Index>(),
            n in 1..5_usize,
        ) {
            let mut members: Vec<_> = weights.into_iter().map(|(it, weight)| (member(it), weight)).collect();
            let before = buckets(&members, n, 200);
            members.reverse();
            prop_assert_eq!(&buckets(&members, n, 200), &before, "in any order");
            let (gone, _) = members.remove(leaves.index(members.len()));
            for (before, after) in before.iter().zip(buckets(&members, n, 200)) {
                let mut stay = before.clone();
                prop_assert_eq!(after.len(), n.min(members.len()));
                if stay.remove(&gone) {
                    prop_assert!(stay.is_subset(&after));
                } else {
                    prop_assert_eq!(before, &after);
                }
            }
        }
    }
}
