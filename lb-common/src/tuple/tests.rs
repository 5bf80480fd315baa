extern crate std;

use std::{vec, vec::Vec};

use super::*;
use crate::Descriptor;

/// Numbers that look random (splitmix64), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| self.next() as u8)
    }

    fn key(&mut self) -> HashKey {
        HashKey::from_bytes(self.bytes())
    }
}

/// A tuple made of bytes: client, service, ports, protocol.
type Bytes = [u8; 37];

fn tuple(bytes: &Bytes, v4: bool) -> Tuple {
    let address = |at: usize| {
        let last = [
            bytes[at + 12],
            bytes[at + 13],
            bytes[at + 14],
            bytes[at + 15],
        ];
        if v4 {
            Address::v4(last)
        } else {
            Address::v6(core::array::from_fn(|i| bytes[at + i]))
        }
    };
    Tuple {
        client: address(0),
        service: address(16),
        ports: Ports(u32::from_ne_bytes(core::array::from_fn(|i| bytes[32 + i]))),
        protocol: Protocol(bytes[36]),
    }
}

/// The bits of [`Bytes`] that make a difference, most significant of each byte first.
fn bits(v4: bool) -> Vec<usize> {
    (0..37 * 8)
        .filter(|bit| !v4 || !matches!(bit / 8, 0..12 | 16..28))
        .collect()
}

fn flipped(mut bytes: Bytes, flips: &[usize]) -> Bytes {
    for bit in flips {
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
    }
    bytes
}

/// Checks that no tuple has the hash of another one that differs from it in `flips`, in either pass
/// alone; the flow table uses both together.
fn assert_no_collision(flips: &[Vec<usize>], v4: bool, rounds: usize) {
    let mut random = Random(7);
    for round in 0..rounds {
        let keys = [random.key(), random.key()];
        let bytes: Bytes = random.bytes();
        let before = keys.map(|key| tuple(&bytes, v4).hash(&key));
        for flip in flips {
            let after = keys.map(|key| tuple(&flipped(bytes, flip), v4).hash(&key));
            for pass in 0..keys.len() {
                assert_ne!(before[pass], after[pass], "round {round}, bits {flip:?}");
            }
        }
    }
}

#[test]
fn tuples_that_differ_in_one_bit_do_not_collide() {
    for v4 in [true, false] {
        let flips: Vec<_> = bits(v4).into_iter().map(|bit| vec![bit]).collect();
        assert_no_collision(&flips, v4, 500);
    }
}

/// A multiply-mix of a key collides for these under every key.
#[test]
fn tuples_that_differ_in_two_top_bits_do_not_collide() {
    for v4 in [true, false] {
        let top: Vec<_> = bits(v4).into_iter().filter(|bit| bit % 8 < 2).collect();
        let pairs = top.iter().flat_map(|first| {
            let others = top.iter().filter(move |second| first < *second);
            others.map(move |second| vec![*first, *second])
        });
        assert_no_collision(&pairs.collect::<Vec<_>>(), v4, 100);
    }
}

#[test]
fn swapping_client_and_service_makes_another_hash() {
    let mut random = Random(3);
    for _ in 0..1000 {
        let key = random.key();
        let tuple = tuple(&random.bytes(), true);
        let swapped = Tuple {
            client: tuple.service,
            service: tuple.client,
            ..tuple
        };
        assert_ne!(tuple.hash(&key), swapped.hash(&key));
    }
}

/// How much more unevenly a ring's slots are hit than by chance: the chi-square statistic over its
/// degrees of freedom.
fn unevenness(key: &HashKey, tuples: impl Iterator<Item = Tuple>) -> f64 {
    const SLOTS: u32 = 1000;
    let ring = Descriptor::new(0, SLOTS);
    let mut hits = [0.0; SLOTS as usize];
    let mut all = 0.0;
    for tuple in tuples {
        hits[ring.slot(&tuple, key) as usize] += 1.0;
        all += 1.0;
    }
    let mean = all / f64::from(SLOTS);
    let squares: f64 = hits.iter().map(|hits| (hits - mean) * (hits - mean)).sum();
    squares / mean / f64::from(SLOTS - 1)
}

/// With 999 degrees of freedom the statistic is above 1.25 for one random key in ten million.
#[test]
fn clients_and_ports_that_count_up_spread_evenly_under_every_key() {
    let tuple = |client: u32, port: u16| Tuple {
        client: Address::v4(client.to_be_bytes()),
        service: Address::v4([203, 0, 113, 10]),
        ports: Ports::new(port, 80),
        protocol: Protocol::TCP,
    };
    let mut random = Random(11);
    for round in 0..100 {
        let key = random.key();
        let clients = (0..20_000).map(|i| tuple(0x0a00_0000 + i, 40_000));
        let ports = (0..20_000).map(|i| tuple(0x0a00_0001, 32_768 + i));
        let both = (0..20_000).map(|i| tuple(0x0a00_0000 + u32::from(i) / 64, 32_768 + i % 64 * 2));
        for (name, unevenness) in [
            ("clients", unevenness(&key, clients)),
            ("ports", unevenness(&key, ports)),
            ("clients and ports", unevenness(&key, both)),
        ] {
            assert!(unevenness < 1.25, "{name} under key {round}: {unevenness}");
        }
    }
}

#[test]
fn all_flows_of_a_client_have_its_hash_and_clients_spread_evenly() {
    let key = Random(13).key();
    let tuple = |client: Address, port: u16| Tuple {
        client,
        service: Address::v4([203, 0, 113, 10]),
        ports: Ports::new(port, 80),
        protocol: Protocol::TCP,
    };
    let v4 = |last: u8| Address::v4([192, 0, 2, last]);
    let hash = |client: Address, port: u16| tuple(client, port).client_hash(&key);
    assert_eq!(hash(v4(7), 1), hash(v4(7), 2));
    assert_ne!(hash(v4(7), 1), hash(v4(8), 1));
    let v6 = |text: &str| Address::from(text.parse::<core::net::IpAddr>().unwrap());
    assert_eq!(hash(v6("2001:db8::1"), 1), hash(v6("2001:db8::2:1"), 1));
    assert_ne!(hash(v6("2001:db8::1"), 1), hash(v6("2001:db8:0:1::1"), 1));
    let ring = Descriptor::in_rows(0, 1000, 1);
    let mut rows = [0_u32; 1000];
    for client in 0..20_000_u32 {
        let client = Address::v4((0x0a00_0000 + client).to_be_bytes());
        rows[ring.slot(&tuple(client, 40_000), &key) as usize] += 1;
    }
    let squares: f64 = rows.iter().map(|it| (f64::from(*it) - 20.0).powi(2)).sum();
    assert!(squares / 20.0 / 999.0 < 1.25);
}
