//! How far from its share a backend may be by chance.

use std::ops::RangeInclusive;

/// A false alarm is rarer than one in so many proofs.
const RARE: f64 = 1e6;

/// The numbers of flows, of `flows` in all, that a backend with this `share` gets but for a chance
/// below one in a million, which is that of all `backends` together.
///
/// Chernoff's bound, in the form of Hoeffding ("Probability inequalities for sums of bounded random
/// variables", 1963, theorem 1): of n flows that each go to a backend with probability p, a part of q
/// or beyond goes there with probability at most exp(-n D(q || p)). Both sides of every backend are
/// given an equal part of the chance. The ring hash is taken to place flows as if by lot; a test holds
/// it to that.
pub(super) fn likely(flows: usize, share: f64, backends: usize) -> RangeInclusive<usize> {
    let most = (2. * backends.max(1) as f64 * RARE).ln() / flows as f64;
    let is_likely = |got: &usize| divergence(*got as f64 / flows as f64, share) <= most;
    let first = (0..=flows).find(is_likely);
    let last = (0..=flows).rev().find(is_likely);
    match first.zip(last) {
        Some((first, last)) => first..=last,
        // A share that no whole number of flows is near to.
        None => 0..=flows,
    }
}

/// D(q || p), the relative entropy of two probabilities, in nats.
fn divergence(q: f64, p: f64) -> f64 {
    let term = |q: f64, p: f64| if q > 0. { q * (q / p).ln() } else { 0. };
    term(q, p) + term(1. - q, 1. - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability that more or fewer flows go to a backend than is likely, worked out exactly.
    fn false_alarm(flows: usize, share: f64, backends: usize) -> f64 {
        let likely = likely(flows, share, backends);
        let mut ways: f64 = 0.;
        let mut sum = 0.;
        for got in 0..=flows {
            if got > 0 {
                ways += ((flows - got + 1) as f64 / got as f64).ln();
            }
            let (here, elsewhere) = (got as f64, (flows - got) as f64);
            if !likely.contains(&got) {
                sum += (ways + here * share.ln() + elsewhere * (1. - share).ln()).exp();
            }
        }
        sum
    }

    #[test]
    fn a_false_alarm_is_rarer_than_one_in_a_million() {
        for backends in [1, 2, 50, 1000] {
            for share in [0.0001, 0.001, 0.01, 0.3, 0.5, 0.7, 0.99, 0.9999] {
                let of_all = false_alarm(1000, share, backends) * backends as f64;
                assert!(of_all < 1e-6, "{share} of {backends}: {of_all}");
            }
        }
    }

    #[test]
    fn what_is_likely_is_narrow_enough_to_tell_shares_apart() {
        assert_eq!(likely(1000, 0.3, 2), 223..=381);
        assert_eq!(likely(1000, 0.5, 2), 414..=586);
        assert_eq!(likely(1000, 0.001, 1000), 0..=12);
    }

    #[test]
    fn all_or_nothing_is_exact() {
        assert_eq!(likely(1000, 1., 1), 1000..=1000);
        assert_eq!(likely(1000, 0., 3), 0..=0);
    }
}
