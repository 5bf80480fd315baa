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
#[derive(Clone, Debug, Eq, PartialEq)]
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
