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
const FRACTION: u32 = 32;

/// The binary logarithm, bit by bit.
fn log2(number: u64) -> u64 {
    let whole = number.ilog2();
    let mut log = u64::from(whole);
    let mut mantissa = u128::from(number) << (63 - whole);
    for _ in 0..FRACTION {
        let square = (mantissa * mantissa) >> 63;
        let carry = (square >> 64) as u64;
        log = log << 1 | carry;
        mantissa = square >> carry;
    }
    log
}
