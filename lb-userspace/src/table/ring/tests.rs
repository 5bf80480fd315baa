use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use proptest::prelude::*;

use super::*;
use crate::{
    model::{Forward, Identity},
    table::ring_hash,
};

fn identity(number: u32) -> Identity {
    Identity {
        address: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number)),
        forward: Forward::L2Dsr,
        port: None,
    }
}

/// Backends 0, 1, .. with these weights.
fn backends(weights: &[u64]) -> BTreeMap<u32, u64> {
    (0..).zip(weights.iter().copied()).collect()
}

fn shares(weights: &BTreeMap<u32, u64>) -> Shares {
    let sum: u64 = weights.values().sum();
    let share = |weight: u64| Share::new(weight.into(), sum.into());
    weights
        .iter()
        .map(|(number, weight)| (identity(*number).into(), share(*weight)))
        .collect()
}

fn built(weights: &BTreeMap<u32, u64>) -> Ring {
    spread("web", shares(weights))
}

/// The ring of a group whose flows have these shares.
fn spread(group: &str, shares: Shares) -> Ring {
    ring(&group.parse().unwrap(), &Spread::Flows(shares))
}

fn per_slot(ring: &Ring) -> Vec<Identity> {
    let target = |slot: &u16| ring.targets[usize::from(*slot)].identity;
    ring.slots.iter().map(target).collect()
}

fn counts(ring: &Ring) -> BTreeMap<Identity, usize> {
    let mut counts = BTreeMap::new();
    for identity in per_slot(ring) {
        *counts.entry(identity).or_default() += 1;
    }
    counts
}

/// Slots that moved, and how many had to because some backends have fewer slots now.
fn moved(before: &Ring, after: &Ring) -> (usize, usize) {
    let (old, new) = (per_slot(before), per_slot(after));
    assert_eq!(old.len(), new.len());
    let moved = old.iter().zip(new).filter(|(old, new)| *old != new).count();
    let now = counts(after);
    let lost = |(identity, before): (Identity, usize)| {
        before.saturating_sub(now.get(&identity).copied().unwrap_or_default())
    };
    (moved, counts(before).into_iter().map(lost).sum())
}

/// The slots beyond the needed ones that move when a backend leaves, in per cent of all: one
/// figure for each of the backends.
fn stray_slots(weights: &BTreeMap<u32, u64>) -> Vec<f64> {
    let full = built(weights);
    let without = |number: &u32| {
        let mut rest = weights.clone();
        rest.remove(number);
        let (moved, needed) = moved(&full, &built(&rest));
        (moved - needed) as f64 * 100. / full.slots.len() as f64
    };
    weights.keys().map(without).collect()
}

#[test]
fn the_lengths_are_primes_in_order() {
    assert!(LENGTHS.is_sorted());
    for length in LENGTHS {
        assert!((2..1024).all(|factor| length % factor != 0), "{length}");
    }
}

#[test]
fn no_share_makes_no_slot() {
    assert_eq!(built(&backends(&[])), Ring::default());
    let none = Shares::from([(identity(1).into(), Share::default())]);
    assert_eq!(spread("web", none), Ring::default());
}

#[test]
fn a_single_backend_has_every_slot() {
    let ring = built(&backends(&[50]));
    assert_eq!(*ring.slots, [0; DEFAULT_LENGTH]);
}

#[test]
fn a_share_of_zero_never_gets_a_slot() {
    for weights in [[0, 5, 0], [3, 0, 7]] {
        let ring = built(&backends(&weights));
        let users: Vec<u32> = (0..3).filter(|it| weights[*it as usize] > 0).collect();
        let identities: Vec<_> = users.into_iter().map(identity).collect();
        assert!(counts(&ring).into_keys().eq(identities.iter().copied()));
        assert!(ring.targets.iter().map(|it| it.identity).eq(identities));
    }
}

#[test]
fn three_to_seven_is_exact_to_a_slot() {
    let ring = built(&backends(&[3, 7]));
    let expected = BTreeMap::from([(identity(0), 4_914), (identity(1), 11_467)]);
    assert_eq!(counts(&ring), expected);
}

#[test]
fn equal_weights_differ_by_at_most_one_slot() {
    for size in [1, 2, 3, 7, 50, 100, 500, 1_638] {
        let counts = counts(&built(&backends(&vec![1; size])));
        let (fewest, most) = (counts.values().min(), counts.values().max());
        assert!(most.unwrap() - fewest.unwrap() <= 1, "{size}: {counts:?}");
    }
}

#[test]
fn the_ring_grows_until_the_smallest_share_has_ten_slots() {
    for (weights, length, least) in [
        (vec![1, 1_000], 16_381, 16),
        (vec![1, 1_637], 16_381, 10),
        (vec![1, 1_638], 65_521, 40),
        (vec![1, 6_551], 65_521, 10),
        (vec![1, 6_552], 262_139, 40),
        (vec![1, 30_000], 1_048_573, 35),
    ] {
        let ring = built(&backends(&weights));
        assert_eq!(ring.slots.len(), length, "{weights:?}");
        assert_eq!(counts(&ring)[&identity(0)], least, "{weights:?}");
    }
}

#[test]
fn the_longest_ring_has_a_slot_for_every_backend() {
    let ring = built(&backends(&[1, u64::from(u32::MAX), 1, u64::MAX / 2]));
    let counts = counts(&ring);
    assert_eq!(ring.slots.len(), LONGEST);
    assert_eq!(counts[&identity(0)], 1);
    assert_eq!(counts[&identity(2)], 1);
    assert_eq!(counts.values().sum::<usize>(), LONGEST);
}

#[test]
fn one_of_fifty_equal_backends_leaves_or_joins() {
    let stray = stray_slots(&backends(&[1; 50]));
    let (mean, worst) = summary(&stray);
    assert!(mean < 0.6 && worst < 1., "mean {mean}, worst {worst}");
}

#[test]
fn one_of_ten_backends_with_different_weights_leaves_or_joins() {
    let stray = stray_slots(&backends(&[1, 2, 3, 5, 8, 13, 21, 34, 55, 89]));
    let (mean, worst) = summary(&stray);
    assert!(mean < 0.6 && worst < 1., "mean {mean}, worst {worst}");
}

fn summary(stray: &[f64]) -> (f64, f64) {
    let mean = stray.iter().sum::<f64>() / stray.len() as f64;
    (mean, stray.iter().copied().fold(0., f64::max))
}

#[test]
fn a_changed_weight_moves_only_what_it_must() {
    let (before, after) = (built(&backends(&[3, 7])), built(&backends(&[4, 6])));
    assert_eq!(moved(&before, &after), (1_638, 1_638));
}

#[test]
fn a_raised_weight_of_one_among_many_moves_little_more_than_it_must() {
    let mut weights = backends(&[50; 20]);
    let before = built(&weights);
    weights.insert(7, 100);
    let (moved, needed) = moved(&before, &built(&weights));
    assert!(moved - needed < 164, "{moved} slots, {needed} needed");
}

#[test]
fn the_group_and_the_scale_of_the_shares_do_not_matter() {
    let shares = shares(&backends(&[3, 7, 11]));
    let web = spread("web", shares.clone());
    let other = spread("other", shares.clone());
    assert_eq!(web.slots, other.slots);
    let thrice = shares
        .into_iter()
        .map(|(it, share)| (it, share * BigInt::from(3)));
    assert_eq!(spread("web", thrice.collect()), web);
}

#[test]
fn the_hash_is_over_the_identities_only() {
    let ring = built(&backends(&[3, 7, 11]));
    let mut turned = ring.clone();
    turned.targets.reverse();
    turned.slots = turned.slots.iter().map(|slot| 2 - slot).collect();
    turned.targets.push(TargetKey {
        group: "unused".parse().unwrap(),
        identity: identity(99),
    });
    for target in &mut turned.targets {
        target.group = "other".parse().unwrap();
    }
    assert_eq!(ring_hash(&turned), ring_hash(&ring));

    let mut changed = ring.clone();
    let slot = &mut Arc::make_mut(&mut changed.slots)[100];
    *slot = (*slot + 1) % 3;
    assert_ne!(ring_hash(&changed), ring_hash(&ring));
    assert_ne!(ring_hash(&Ring::default()), ring_hash(&ring));
}

#[test]
fn the_hash_of_several_rings_is_over_all_in_any_order() {
    let [one, two] = [built(&backends(&[3, 7])), built(&backends(&[1, 1]))];
    let rings_hash = |rings: &[&Ring]| {
        let rings: Vec<_> = rings.iter().map(|it| (*it).clone()).collect();
        crate::table::rings_hash(&rings)
    };
    assert_eq!(rings_hash(&[&one]), ring_hash(&one));
    assert_eq!(rings_hash(&[&one, &two]), rings_hash(&[&two, &one]));
    assert_ne!(rings_hash(&[&one, &two]), rings_hash(&[&one, &one]));
    let rows = Ring {
        columns: 1,
        ..one.clone()
    };
    assert_ne!(
        ring_hash(&rows),
        ring_hash(&one),
        "other clients share a slot"
    );
}

#[test]
fn answers_have_their_shares_beside_backends_and_alone_need_one_slot() {
    let third = |of: Destination| (of, Share::new(1.into(), 3.into()));
    let reject = Destination::Answer(Answer::REJECT);
    let all = [identity(2).into(), identity(1).into(), reject].map(third);
    let ring = spread("web", all.into());
    let identities: Vec<_> = ring.targets.iter().map(|it| it.identity).collect();
    assert_eq!(identities, [identity(1), identity(2)]);
    for slot in [0, 1, Answer::REJECT.slot()] {
        let count = ring.slots.iter().filter(|it| **it == slot).count();
        assert!(count.abs_diff(16_381 / 3) <= 1, "{count}");
    }
    let alone = spread("web", [third(reject)].into());
    assert_eq!(
        (alone.targets.len(), &*alone.slots),
        (0, &[Answer::REJECT.slot()][..])
    );
}

#[test]
fn shares_without_a_short_common_denominator_are_apportioned_as_well() {
    let prime = |number: u64| Share::new(1.into(), number.into());
    let primes = [4_294_967_291, 4_294_967_279, 4_294_967_231, 4_294_967_197];
    let shares = (0..)
        .zip(primes)
        .map(|(n, prime_)| (identity(n).into(), prime(prime_)));
    let ring = spread("web", shares.collect());
    assert!(counts(&ring).values().all(|it| it.abs_diff(4_095) <= 1));
}

/// Edges of different versions that serve one address must agree: whoever changes this value
/// changes where flows go while a fleet is upgraded.
#[test]
fn the_construction_is_the_same_on_every_host_and_in_every_version() {
    let ring = built(&backends(&[1, 3, 7]));
    assert_eq!(
        ring.slots[..16],
        [2, 2, 1, 2, 1, 2, 2, 2, 1, 2, 2, 1, 2, 2, 2, 2]
    );
    assert_eq!(ring_hash(&ring), 0x7717_2153_c3ca_c672);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_slot_is_filled_and_every_share_exact_to_a_slot(
        weights in proptest::collection::btree_map(0..1_000_000u32, 1..=1_000u64, 1..40),
    ) {
        let ring = built(&weights);
        let counts = counts(&ring);
        prop_assert_eq!(counts.values().sum::<usize>(), ring.slots.len());
        let mut turned: Vec<_> = shares(&weights).into_iter().collect();
        turned.reverse();
        prop_assert_eq!(&spread("web", turned.into_iter().collect()), &ring);
        for (identity, share) in shares(&weights) {
            let exact = share * BigInt::from(ring.slots.len());
            let got = counts[&identity.identity().unwrap()];
            let got = Share::from_integer(got.into());
            let error = if got > exact { got - exact } else { exact - got };
            prop_assert!(error < Share::from_integer(1.into()));
        }
    }
}
