//! The checksum of the internet (RFC 1071).

use crate::{cursor::Cursor, header::Bytes, load, word};

/// Bytes of a step.
const LINE: usize = 64;

/// The sum of words of a packet as they stand in memory: its folded value does not depend on the byte
/// order (RFC 1071, 2 B).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Of these words.
    #[inline(always)]
    pub fn of(words: &[u32]) -> Self {
        words
            .iter()
            .fold(Self::default(), |sum, word| sum.plus(*word))
    }

    /// Of all that a cursor has before it, at most `most` bytes and not many more. A last odd byte
    /// counts as if a zero followed it.
    #[inline(always)]
    pub fn of_rest(cursor: &mut Cursor<'_>, most: usize) -> Self {
        let mut sum = Self::default();
        // In steps as long as a cache line: the verifier goes every way out of a loop.
        for _ in 0..most / LINE {
            let Some(bytes) = cursor.take::<Bytes<LINE>>() else {
                break;
            };
            for quads in [
                word::quads::<0, _>(bytes),
                word::quads::<16, _>(bytes),
                word::quads::<32, _>(bytes),
                word::quads::<48, _>(bytes),
            ] {
                sum = sum.and(Self::of(&quads));
            }
            sum = Self(word::unbounded(sum.0));
        }
        for _ in 0..LINE / 4 {
            let Some(bytes) = cursor.take::<Bytes<4>>() else {
                break;
            };
            let word = load!(Bytes<4>, bytes.all as u32);
            sum = Self(word::unbounded(sum.plus(word).0));
        }
        if let Some(bytes) = cursor.take::<Bytes<2>>() {
            sum = sum.plus(load!(Bytes<2>, bytes.all as u16).into());
        }
        if let Some(bytes) = cursor.take::<Bytes<1>>() {
            let [last] = bytes.all;
            sum = sum.plus(u16::from_ne_bytes([last, 0]).into());
        }
        Self(word::unbounded(sum.0))
    }

    /// Of the pseudo-header in front of `length` bytes of the protocol `next` (RFC 9293, 3.1; RFC 8200, 8.1),
    /// where `ends` is that of the addresses. That of IPv4 has its length and protocol in shorter fields, which
    /// makes no difference to the sum.
    #[inline(always)]
    pub fn pseudo_header(ends: Self, next: u8, length: u32) -> Self {
        let rest = [length.to_be(), u32::from_ne_bytes([0, 0, 0, next])];
        ends.and(Self::of(&rest))
    }

    /// Of both.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    fn plus(self, word: u32) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// The checksum, as it stands in memory.
    #[inline(always)]
    pub fn checksum(self) -> u16 {
        let folded = (self.0 & 0xffff_ffff) + (self.0 >> 32);
        let folded = (folded & 0xffff) + (folded >> 16 & 0xffff) + (folded >> 32);
        let folded = (folded & 0xffff) + (folded >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        !(folded as u16)
    }
}

/// A checksum as the last two bytes of a word.
#[inline(always)]
pub fn placed(checksum: u16) -> u32 {
    let [a, b] = checksum.to_ne_bytes();
    u32::from_ne_bytes([0, 0, a, b])
}

/// A checksum as the first two bytes of a word.
#[inline(always)]
pub fn placed_first(checksum: u16) -> u32 {
    let [a, b] = checksum.to_ne_bytes();
    u32::from_ne_bytes([a, b, 0, 0])
}
