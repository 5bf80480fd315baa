use std::collections::BTreeMap;

use lb_common::Answer;

use crate::model::{Identity, Share};

/// Where a part of the traffic goes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Destination {
    /// To a backend.
    Backend(Identity),
    /// To nobody: this becomes of it instead.
    Answer(Answer),
}

impl Destination {
    /// The backend, if it is one.
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::Backend(identity) => Some(*identity),
            Self::Answer(_) => None,
        }
    }

    /// The answer, if it is one.
    pub fn answer(&self) -> Option<Answer> {
        match self {
            Self::Backend(_) => None,
            Self::Answer(answer) => Some(*answer),
        }
    }

    /// A canonical form for hashing: two destinations have the same bytes only if they are equal.
    pub fn bytes(&self) -> [u8; 20] {
        match self {
            Self::Backend(identity) => identity.bytes(),
            Self::Answer(answer) => {
                // No backend has these first bytes, of an address of IPv6 multicast.
                let mut bytes = [0xff; 20];
                bytes[18..].copy_from_slice(&answer.slot().to_be_bytes());
                bytes
            }
        }
    }
}

impl From<Identity> for Destination {
    fn from(identity: Identity) -> Self {
        Self::Backend(identity)
    }
}

/// Each destination's share of some traffic. Only their proportions count: they need not sum to 1.
pub type Shares = BTreeMap<Destination, Share>;

/// How the traffic of some clients is spread. Where nothing is above 0 in shares of a row, its flows
/// are dropped.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Spread {
    /// By client, in buckets of equal parts of them: one after the other what each bucket's flows are
    /// spread over.
    Buckets(Vec<Shares>),
    /// By client: all flows of one go to the same destination.
    Clients(Shares),
    /// By flow: the clients are alike.
    Flows(Shares),
    /// By client and then by flow: parts of the clients, and what their flows are spread over.
    Rows(Vec<(Share, Shares)>),
}

impl Default for Spread {
    /// Nobody gets anything.
    fn default() -> Self {
        Self::Flows(Shares::new())
    }
}

impl Spread {
    /// The same as parts of the clients and what their flows are spread over, equal ones merged. Which
    /// clients a part has is left open.
    pub fn rows(&self) -> Vec<(Share, Shares)> {
        let one = || Share::from_integer(1.into());
        let mut parts = BTreeMap::<Shares, Share>::new();
        let mut add = |part: Share, shares: Shares| {
            *parts.entry(shares).or_default() += part;
        };
        match self {
            Self::Buckets(buckets) => buckets.iter().for_each(|it| add(one(), it.clone())),
            Self::Clients(shares) => shares.iter().for_each(|(destination, share)| {
                add(share.clone(), Shares::from([(*destination, one())]));
            }),
            Self::Flows(shares) => add(one(), shares.clone()),
            Self::Rows(rows) => rows
                .iter()
                .for_each(|(part, it)| add(part.clone(), it.clone())),
        }
        let sum: Share = parts.values().sum();
        let parts = parts
            .into_iter()
            .filter(|(_, part)| *part > Share::default());
        parts.map(|(shares, part)| (part / &sum, shares)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(answer: Answer, weight: u64) -> (Destination, Share) {
        let share = Share::from_integer(weight.into());
        (Destination::Answer(answer), share)
    }

    fn part(numerator: u64, denominator: u64) -> Share {
        Share::new(numerator.into(), denominator.into())
    }

    #[test]
    fn every_spread_is_a_mixture_of_rows_in_which_equal_ones_are_one() {
        let one = Shares::from([answer(Answer::DROP, 1)]);
        let other = Shares::from([answer(Answer::DROP, 1), answer(Answer::PASS, 3)]);
        let flows = Spread::Flows(other.clone()).rows();
        assert_eq!(flows, [(part(1, 1), other.clone())]);
        let clients = Spread::Clients(other.clone()).rows();
        let pass = Shares::from([answer(Answer::PASS, 1)]);
        assert_eq!(clients, [(part(1, 4), one.clone()), (part(3, 4), pass)]);
        let buckets = Spread::Buckets(vec![one.clone(), other.clone(), one.clone()]).rows();
        assert_eq!(
            buckets,
            [(part(2, 3), one.clone()), (part(1, 3), other.clone())]
        );
        let parts = vec![
            (part(0, 1), other),
            (part(1, 2), one.clone()),
            (part(3, 2), one.clone()),
        ];
        assert_eq!(Spread::Rows(parts).rows(), [(part(1, 1), one)]);
    }

    #[test]
    fn no_answer_has_the_bytes_of_a_backend_or_of_another() {
        let all = Answer::ALL.map(|it| Destination::Answer(it).bytes());
        assert!(all[0] != all[1] && all[1] != all[2]);
        assert!(all.iter().all(|bytes| bytes[..16] == [0xff; 16]));
    }
}
