use std::net::IpAddr;

use crate::model::Prefix;

/// An address of one family as a number.
pub trait Address: Copy + Ord {
    /// The lowest address.
    const ZERO: Self;

    /// The number of an address of this family.
    fn of(address: IpAddr) -> Self;

    /// The address after it, if there is one.
    fn next(self) -> Option<Self>;
}

impl Address for u32 {
    const ZERO: Self = 0;

    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => v4.to_bits(),
            IpAddr::V6(_) => unreachable!("prefixes are sorted by family"),
        }
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Address for u128 {
    const ZERO: Self = 0;

    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => unreachable!("prefixes are sorted by family"),
            IpAddr::V6(v6) => v6.to_bits(),
        }
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// The runs of equal choices that prefixes make: of those that an address is in the longest holds,
/// and 0 where there is none.
///
/// Prefixes either hold each other or have nothing in common, so going through them by their first
/// addresses those that are open form a stack.
pub fn runs<A: Address>(prefixes: &[(Prefix, usize)]) -> Vec<(A, usize)> {
    let mut prefixes = prefixes.to_vec();
    prefixes.sort_unstable_by_key(|(prefix, _)| (prefix.first(), prefix.length()));
    let mut runs = vec![(A::ZERO, 0)];
    let mut open: Vec<(A, usize)> = Vec::new();
    for (prefix, choice) in prefixes {
        let first = A::of(prefix.first());
        close(&mut open, &mut runs, |last| last < first);
        extend(&mut runs, (first, choice));
        open.push((A::of(prefix.last()), choice));
    }
    close(&mut open, &mut runs, |_| true);
    runs
}

/// Ends the open prefixes whose last address is `over`: what is around them goes on.
fn close<A: Address>(
    open: &mut Vec<(A, usize)>,
    runs: &mut Vec<(A, usize)>,
    over: impl Fn(A) -> bool,
) {
    while let Some((last, _)) = open.pop_if(|(last, _)| over(*last)) {
        let around = open.last().map_or(0, |(_, choice)| *choice);
        if let Some(after) = last.next() {
            extend(runs, (after, around));
        }
    }
}

/// Goes on with a run that begins where the last one begins or later.
pub fn extend<A: Copy + Eq, C: Copy + Eq>(runs: &mut Vec<(A, C)>, run: (A, C)) {
    runs.pop_if(|(first, _)| *first == run.0);
    if runs.last().is_none_or(|(_, last)| *last != run.1) {
        runs.push(run);
    }
}

/// Lays runs over each other: where each choice of `layers` begins, `choose` says what all mean together.
pub fn laid<A: Address, C: Copy + Eq, const N: usize>(
    layers: [&[(A, usize)]; N],
    choose: impl Fn([usize; N]) -> C,
) -> Vec<(A, C)> {
    let mut all = Vec::with_capacity(layers.iter().map(|it| it.len()).max().unwrap_or(0));
    let mut now = [0; N];
    let mut layers = layers.map(|layer| layer.iter().peekable());
    loop {
        let starts = layers
            .iter_mut()
            .filter_map(|it| it.peek().map(|run| run.0));
        let Some(first) = starts.min() else {
            return all;
        };
        for (layer, choice) in layers.iter_mut().zip(&mut now) {
            if let Some((_, next)) = layer.next_if(|run| run.0 == first) {
                *choice = *next;
            }
        }
        extend(&mut all, (first, choose(now)));
    }
}
