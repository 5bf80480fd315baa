//! Checksums of headers of which a part changes.
//!
//! They are changed by what has changed (RFC 1624, equation 3), so a wrong one stays wrong, and one that
//! a network card is yet to complete stays that. A sum of words in the order in which they stand in
//! memory is right in either byte order (RFC 1071, 2).

/// What a checksum changes by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change(u64);

impl Change {
    /// With one more word, as it stood in memory and as it stands there now. The words begin at even
    /// bytes of what the checksum covers. Up to a thousand million words fit.
    #[inline(always)]
    pub fn word(self, before: u32, after: u32) -> Self {
        Self(self.0 + u64::from(!before) + u64::from(after))
    }

    /// With four more words, such as an IPv6 address.
    #[inline(always)]
    pub fn quads(self, [a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4]) -> Self {
        self.word(a, e).word(b, f).word(c, g).word(d, h)
    }

    /// The checksum afterwards, both as they stand in memory.
    #[inline(always)]
    pub fn apply(self, checksum: u16) -> u16 {
        !folded(self.0 + u64::from(!checksum))
    }
}

#[inline(always)]
fn folded(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    // Each of these carries less into the next; the last leaves none.
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of words, computed anew.
    fn checksum(words: &[u32]) -> u16 {
        let halves = words.iter().flat_map(|word| [word & 0xffff, word >> 16]);
        let mut sum: u64 = halves.map(u64::from).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// Words that look like chance, from a counter.
    fn words(seed: u32) -> [u32; 5] {
        core::array::from_fn(|i| {
            let word = (seed * 5 + i as u32).wrapping_mul(0x9e37_79b9);
            // Some of the words that carries come from.
            match word >> 28 {
                0 => 0,
                1 => u32::MAX,
                2 => 0xffff,
                _ => word,
            }
        })
    }

    #[test]
    fn a_changed_checksum_is_what_it_would_be_if_computed_anew() {
        for seed in 0..100_000 {
            let [rest, a, b, c, d] = words(seed);
            let [_, e, f, g, h] = words(seed + 1_000_000);
            // A header is never all zero, of which the sum has two forms.
            let rest = rest | 0x0600;
            let before = checksum(&[rest, a, b, c, d]);
            let change = Change::default().quads([a, b, c, d], [e, f, g, h]);
            let after = checksum(&[rest, e, f, g, h]);
            assert_eq!(change.apply(before), after, "seed {seed}");
            if before != 0xffff {
                assert_ne!(change.apply(before ^ 1), after, "seed {seed}, wrong before");
            }
        }
    }

    #[test]
    fn no_sum_is_too_large() {
        let many = Change(u64::MAX - 0xffff);
        assert_eq!(many.apply(0), !folded(u64::MAX));
        assert_eq!(folded(u64::MAX), 0xffff);
    }
}
