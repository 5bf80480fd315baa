use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::abi;

/// Passes, each with a key of its own, that make the hash of the flow table.
pub const FLOW_PASSES: usize = 2;

/// Coefficients of one pass of a multilinear hash over 32-bit words.
///
/// With uniformly random 64-bit coefficients `a[0]..a[n]`, the high half of
/// `a[0] + a[1] * w[1] + ... + a[n] * w[n] mod 2^64` is strongly universal: two different inputs,
/// chosen by anyone who does not know the coefficients, collide with probability 2^-32, and
/// every value is equally likely (Lemire and Kaser, "Strongly universal string hashing is fast",
/// 2014, theorem 1). Two passes give 2^-64. A multiply-mix of a key has no such bound: inputs that differ in
/// the top bits collide whatever the key is.
///
/// What chooses a place by it stirs it first, for inputs that count up, as addresses and ports do: they
/// step through the sums by one coefficient, and if that is near a simple fraction of 2^64 (for one key
/// in a hundred it is), all sums stand on few heaps. Stirring is one to one, so the bound stands.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct HashKey {
    v4: [u64; 5],
    v6: [u64; 11],
}

impl HashKey {
    /// Bytes that a key is made of.
    pub const BYTES: usize = size_of::<Self>();

    /// The key with these bytes as its coefficients. The bytes must be uniformly random, or derived
    /// from a secret by a cryptographic hash.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        zerocopy::transmute!(bytes)
    }

    /// Hash of the words of an IPv4 tuple, not stirred.
    #[inline(always)]
    pub(crate) fn v4(&self, words: &[u32; 4]) -> u32 {
        let [a, k0, k1, k2, k3] = self.v4;
        let [w0, w1, w2, w3] = *words;
        let sum = a
            .wrapping_add(product(k0, w0))
            .wrapping_add(product(k1, w1))
            .wrapping_add(product(k2, w2))
            .wrapping_add(product(k3, w3));
        (sum >> 32) as u32
    }

    /// Hash of the words of an IPv6 tuple, not stirred.
    #[inline(always)]
    pub(crate) fn v6(&self, words: &[u32; 10]) -> u32 {
        let mut sum = self.v6[0];
        let mut i = 0;
        while i < words.len() {
            sum = sum.wrapping_add(product(self.v6[i + 1], words[i]));
            i += 1;
        }
        (sum >> 32) as u32
    }
}

#[inline(always)]
fn product(coefficient: u64, word: u32) -> u64 {
    coefficient.wrapping_mul(word as u64)
}

/// A hash, stirred by the last step of MurmurHash3.
#[inline(always)]
pub(crate) fn stirred(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

abi! { HashKey = 128 align 8 }
