use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::{
    model::{Forward, Identity},
    table::{Spread, ring},
};

fn backend(number: u32) -> Destination {
    Destination::Backend(Identity {
        address: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number)),
        forward: Forward::L2Dsr,
        port: None,
    })
}

fn parts(weights: &[(u32, u64)]) -> Shares {
    let share =
        |(number, weight): &(u32, u64)| (backend(*number), Share::from_integer((*weight).into()));
    weights.iter().map(share).collect()
}

fn made(spread: &Spread) -> Ring {
    ring(&"web".parse().unwrap(), spread)
}

/// The destinations of each row with their columns.
fn rows(ring: &Ring) -> Vec<BTreeMap<Destination, usize>> {
    let row = |slots: &[u16]| {
        let mut counts = BTreeMap::new();
        for slot in slots {
            *counts.entry(ring.destination(*slot).unwrap()).or_default() += 1;
        }
        counts
    };
    ring.slots.chunks(ring.columns as usize).map(row).collect()
}

#[test]
fn columns_and_rows_are_primes_in_order_that_a_descriptor_can_name() {
    for numbers in [&COLUMNS[..], &ROWS[..]] {
        assert!(numbers.is_sorted());
        for number in numbers {
            assert!(
                (2..256).all(|factor| number % factor != 0 || *number == factor),
                "{number}"
            );
        }
    }
    assert!(COLUMNS[5] <= lb_common::Descriptor::MOST_COLUMNS as usize);
}

#[test]
fn by_client_alone_a_row_is_one_slot() {
    let flows = made(&Spread::Flows(parts(&[(1, 3), (2, 7)])));
    let clients = made(&Spread::Clients(parts(&[(1, 3), (2, 7)])));
    assert_eq!((flows.columns, clients.columns), (0, 1));
    assert_eq!(flows.slots, clients.slots);
    let part = |number| (Share::from_integer(1.into()), parts(&[(number, 5)]));
    let single = made(&Spread::Rows(vec![part(1), part(2), part(3)]));
    assert_eq!((single.columns, single.slots.len()), (1, 1_021));
}

#[test]
fn of_no_clients_there_is_no_ring() {
    assert_eq!(made(&Spread::Buckets(Vec::new())), Ring::default());
    assert_eq!(made(&Spread::Rows(Vec::new())), Ring::default());
}

#[test]
fn parts_of_clients_and_of_their_flows_are_exact_to_a_row_and_a_column() {
    let contents = [
        parts(&[(1, 1), (2, 1)]),
        parts(&[(2, 1), (3, 2)]),
        parts(&[(4, 1)]),
    ];
    let weights = [3_u64, 7, 10];
    let part =
        |(weight, shares): (&u64, &Shares)| (Share::from_integer((*weight).into()), shares.clone());
    let made = made(&Spread::Rows(
        weights.iter().zip(&contents).map(part).collect(),
    ));
    assert_eq!((made.columns, made.slots.len()), (67, 1_021 * 67));
    let rows = rows(&made);
    let mut seen = [0_usize; 3];
    let mut of_two = 0;
    for row in &rows {
        let content = contents
            .iter()
            .position(|it| it.keys().eq(row.keys()))
            .unwrap();
        seen[content] += 1;
        let sum: Share = contents[content].values().sum();
        for (destination, columns) in row {
            let exact = &contents[content][destination] / &sum * Share::from_integer(67.into());
            let error = Share::from_integer((*columns).into()) - exact;
            assert!(error < Share::from_integer(1.into()), "{row:?}");
            assert!(error > Share::from_integer((-1).into()), "{row:?}");
        }
        of_two += if content == 0 { row[&backend(2)] } else { 0 };
    }
    for (rows, weight) in seen.into_iter().zip(weights) {
        assert!((rows * 20).abs_diff(1_021 * weight as usize) < 20, "{rows}");
    }
    let half = seen[0] * 67 / 2;
    assert!(
        of_two.abs_diff(half) < 20,
        "rounding evens out: {of_two}, {half}"
    );
}

#[test]
fn a_part_that_grows_takes_little_more_than_it_must_and_changed_shares_move_no_client() {
    let spread = |one: u64, two: u64, weight: u64| {
        let part = |part: u64, shares| (Share::from_integer(part.into()), shares);
        let first = part(one, parts(&[(1, weight), (2, 1)]));
        Spread::Rows(vec![first, part(two, parts(&[(3, 1), (4, 1)]))])
    };
    let before = rows(&made(&spread(3, 7, 1)));
    let moved = |after: Vec<BTreeMap<_, _>>| {
        let both = before.iter().zip(&after);
        both.filter(|(before, after)| !before.keys().eq(after.keys()))
            .count()
    };
    let must = 1_021 / 10;
    let by_parts = moved(rows(&made(&spread(4, 6, 1))));
    assert!((must..must + 20).contains(&by_parts), "{by_parts}");
    assert_eq!(moved(rows(&made(&spread(3, 7, 2)))), 0);
}

#[test]
fn a_row_of_nothing_drops_and_answers_stand_in_rows() {
    let answer =
        |answer| Shares::from([(Destination::Answer(answer), Share::from_integer(2.into()))]);
    let mixed = Shares::from([
        (backend(1), Share::from_integer(1.into())),
        (
            Destination::Answer(Answer::REJECT),
            Share::from_integer(1.into()),
        ),
    ]);
    let made = made(&Spread::Buckets(vec![
        Shares::new(),
        answer(Answer::PASS),
        mixed,
    ]));
    let rows = rows(&made);
    assert_eq!(made.columns, 37);
    assert_eq!(rows[0], [(Destination::Answer(Answer::DROP), 37)].into());
    assert_eq!(rows[1], [(Destination::Answer(Answer::PASS), 37)].into());
    assert_eq!(rows[2].len(), 2);
    assert!(
        rows[2].values().all(|columns| (18..=19).contains(columns)),
        "{rows:?}"
    );
}

#[test]
fn many_columns_leave_room_for_fewer_rows() {
    let one = Share::from_integer(1.into());
    let wide: Vec<_> = (0..60).map(|number| (number, 1)).collect();
    let tiny = Share::new(1.into(), 2_000.into());
    let made = made(&Spread::Rows(vec![
        (one, parts(&wide)),
        (tiny, parts(&[(99, 1)])),
    ]));
    assert_eq!((made.columns, made.slots.len()), (1_021, 1_021 * 1_021));
    assert!(
        rows(&made).iter().any(|row| row.contains_key(&backend(99))),
        "it has a row still"
    );
}

#[test]
fn the_length_is_known_before_the_ring_is_made() {
    let share = |parts: u64| Share::new(1.into(), parts.into());
    for (part, flow, expected) in [
        (2, 2, 1_021 * 37),
        (110, 3, 4_093 * 67),
        (2, 31, 1_021 * 521),
        (9_000, 2, 16_381 * 37),
    ] {
        let one = parts(&[(1, 1), (2, flow - 1)]);
        let other = parts(&[(3, 1)]);
        let rest = Share::from_integer(1.into()) - share(part);
        let ring = made(&Spread::Rows(vec![(share(part), one), (rest, other)]));
        let known = rows_length(&share(part), &share(flow));
        assert_eq!((ring.slots.len(), known), (expected, expected));
    }
}
