use sha2::{Digest, Sha256};

use super::{image::Ring, race::first_words, spread::Destination};

/// A number that is equal for rings of equal rows with the same destination in every slot, whatever
/// their groups are called and in which order their targets stand.
pub fn ring_hash(ring: &Ring) -> u64 {
    let slots = ring.slots.iter();
    slots_hash(
        ring.columns,
        slots.filter_map(|slot| ring.destination(*slot)),
    )
}

/// The same for the destinations in the slots, one after the other, in rows of `columns`; 0 for one
/// row.
pub fn slots_hash(columns: u32, slots: impl IntoIterator<Item = Destination>) -> u64 {
    let mut hash = Sha256::new();
    if columns > 0 {
        hash.update(columns.to_be_bytes());
    }
    for destination in slots {
        hash.update(destination.bytes());
    }
    first_words(hash).0
}

/// A number that is equal for groups with the same rings: the hash of the only one, or else one over
/// the hashes of all in ascending order. Which clients a ring is for, and how they are numbered, is not
/// in it.
pub fn rings_hash(rings: &[Ring]) -> u64 {
    if let [only] = rings {
        return ring_hash(only);
    }
    let mut hashes: Vec<u64> = rings.iter().map(ring_hash).collect();
    hashes.sort_unstable();
    let mut hash = Sha256::new();
    hashes.iter().for_each(|it| hash.update(it.to_be_bytes()));
    first_words(hash).0
}
