//! How flows are spread over clients and within them.

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use crate::model::{Name, NoAnswer, Share};

/// Where a part of the flows goes.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Destination {
    /// To nobody; never [`NoAnswer::Backup`].
    Answer(NoAnswer),
    /// To a backend.
    Backend(Name),
}

impl Destination {
    /// The backend, if it is one.
    pub fn backend(&self) -> Option<&Name> {
        match self {
            Self::Answer(_) => None,
            Self::Backend(name) => Some(name),
        }
    }

    /// The answer, if it is one.
    pub fn answer(&self) -> Option<NoAnswer> {
        match self {
            Self::Answer(answer) => Some(*answer),
            Self::Backend(_) => None,
        }
    }
}

/// Parts of flows, each above 0, that sum to 1.
pub type Parts = BTreeMap<Destination, Share>;

/// How flows are spread: a part of the clients for each row, and for the flows of each of those clients
/// their parts. The parts of clients sum to 1, rows differ from each other, and their order does not
/// depend on how they came about.
///
/// With one row all clients are alike and flows alone are spread; if each row has one destination,
/// clients alone are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rows {
    rows: Vec<(Share, Parts)>,
    /// Where it matters which clients have a row: for each of as many equal parts of the clients which
    /// row it has.
    buckets: Vec<usize>,
}

impl Rows {
    /// Everything to one destination.
    pub fn one(to: Destination) -> Self {
        Self {
            rows: vec![(Share::one(), Parts::from([(to, Share::one())]))],
            buckets: Vec::new(),
        }
    }

    /// The rows, each with its part of the clients.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Share, &Parts)> {
        self.rows.iter().map(|(clients, flows)| (clients, flows))
    }

    /// The answer that all flows get, if they all get one.
    pub fn answer(&self) -> Option<NoAnswer> {
        let [(_, flows)] = &self.rows[..] else {
            return None;
        };
        let only = flows.keys().next().filter(|_| flows.len() == 1);
        only.and_then(Destination::answer)
    }

    /// For each of as many equal parts of the clients what its flows get; none where it is left open
    /// which clients have a row.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = &Parts> {
        self.buckets.iter().map(|row| &self.rows[*row].1)
    }

    /// Everything that some flows get; maybe more than once.
    pub fn destinations(&self) -> impl Iterator<Item = &Destination> {
        self.rows.iter().flat_map(|(_, flows)| flows.keys())
    }

    /// The part of all flows that each destination gets.
    pub fn total(&self) -> Parts {
        let mut total = Parts::new();
        for (clients, flows) in &self.rows {
            for (to, part) in flows {
                add(&mut total, to, product(clients, part));
            }
        }
        total
    }

    /// A part of the clients each: the parts are above 0 and sum to 1.
    pub(super) fn by_client(parts: Vec<(Share, Self)>) -> Self {
        let scaled = parts.into_iter().flat_map(|(part, rows)| {
            let rows = rows.rows.into_iter();
            rows.map(move |(clients, flows)| (product(&clients, &part), flows))
        });
        Self::of(scaled)
    }

    /// For each of as many equal parts of the clients one of `choices`.
    pub(super) fn by_bucket(mut choices: Vec<Self>, buckets: &[usize]) -> Self {
        if choices.len() == 1 {
            return choices.remove(0);
        }
        let part = |choice: usize| {
            let with_it = buckets.iter().filter(|it| **it == choice).count();
            Share::new(with_it.into(), buckets.len().into())
        };
        let parts = choices.iter().enumerate();
        let parts = parts.map(|(choice, rows)| (part(choice), rows.clone()));
        let mut all = Self::by_client(parts.collect());
        if choices.iter().all(|it| it.rows.len() == 1) {
            let places: BTreeMap<&Parts, usize> =
                all.rows.iter().map(|it| &it.1).zip(0..).collect();
            let row = |choice: &usize| places[&choices[*choice].rows[0].1];
            all.buckets = buckets.iter().map(row).collect();
        }
        all
    }

    /// A part of every client's flows each: the parts are above 0 and sum to 1. A client stands at the
    /// same point of the rows of all.
    pub(super) fn by_flow(parts: Vec<(Share, Self)>) -> Self {
        let mut left: Vec<_> = parts
            .into_iter()
            .map(|(part, rows)| (part, rows.rows.into_iter().peekable()))
            .collect();
        let mut rows = Vec::new();
        while let Some(next) = left
            .iter_mut()
            .filter_map(|(_, rows)| rows.peek().map(|(clients, _)| clients.clone()))
            .min()
        {
            let mut all = Parts::new();
            for (part, of_one) in &mut left {
                let Some((clients, flows)) = of_one.peek_mut() else {
                    continue;
                };
                for (to, flow) in &*flows {
                    add(&mut all, to, product(part, flow));
                }
                *clients -= &next;
                if clients.is_zero() {
                    of_one.next();
                }
            }
            rows.push((next, all));
        }
        Self::of(rows)
    }

    /// Equal rows together, in the order of what they hold.
    fn of(rows: impl IntoIterator<Item = (Share, Parts)>) -> Self {
        let mut by_flows: BTreeMap<Parts, Share> = BTreeMap::new();
        for (clients, flows) in rows {
            *by_flows.entry(flows).or_insert_with(Share::zero) += clients;
        }
        let rows = by_flows
            .into_iter()
            .map(|(flows, clients)| (clients, flows));
        Self {
            rows: rows.collect(),
            buckets: Vec::new(),
        }
    }
}

fn add(parts: &mut Parts, to: &Destination, part: Share) {
    match parts.get_mut(to) {
        Some(known) => *known += part,
        None => drop(parts.insert(to.clone(), part)),
    }
}

/// A part of a part. Most often one of them is the whole, which saves making fractions anew.
pub(super) fn product(one: &Share, other: &Share) -> Share {
    if one.is_one() {
        other.clone()
    } else if other.is_one() {
        one.clone()
    } else {
        one * other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(numerator: i64, denominator: i64) -> Share {
        Share::new(numerator.into(), denominator.into())
    }

    fn to(name: &str) -> Destination {
        Destination::Backend(name.parse().unwrap())
    }

    fn halves(by: fn(Vec<(Share, Rows)>) -> Rows, one: Rows, other: Rows) -> Rows {
        by(vec![(share(1, 2), one), (share(1, 2), other)])
    }

    #[test]
    fn flows_are_mixed_within_one_row_and_clients_into_several() {
        let [a, b] = ["a", "b"].map(|name| Rows::one(to(name)));
        let flows = halves(Rows::by_flow, a.clone(), b.clone());
        let clients = halves(Rows::by_client, a, b);
        assert_eq!((flows.iter().len(), clients.iter().len()), (1, 2));
        let half = Parts::from([(to("a"), share(1, 2)), (to("b"), share(1, 2))]);
        assert_eq!((flows.total(), clients.total()), (half.clone(), half));
    }

    #[test]
    fn clients_stay_whole_below_a_spread_of_flows() {
        let [a, b, c] = ["a", "b", "c"].map(|name| Rows::one(to(name)));
        let by_client = Rows::by_client(vec![(share(1, 3), a), (share(2, 3), b)]);
        let mixed = Rows::by_flow(vec![(share(1, 4), by_client), (share(3, 4), c)]);
        let row = |name: &str| Parts::from([(to(name), share(1, 4)), (to("c"), share(3, 4))]);
        let rows: Vec<_> = mixed
            .iter()
            .map(|(p, it)| (p.clone(), it.clone()))
            .collect();
        assert_eq!(rows, [(share(1, 3), row("a")), (share(2, 3), row("b"))]);
    }

    #[test]
    fn two_spreads_of_clients_are_laid_over_each_other() {
        let pair = |one: &str, part: Share, other: &str| {
            let rest = Share::one() - &part;
            Rows::by_client(vec![
                (part, Rows::one(to(one))),
                (rest, Rows::one(to(other))),
            ])
        };
        let (one, other) = (pair("a", share(1, 2), "b"), pair("c", share(1, 4), "d"));
        let mixed = halves(Rows::by_flow, one, other);
        assert_eq!(mixed.iter().len(), 3);
        assert_eq!(
            mixed.iter().map(|(part, _)| part).sum::<Share>(),
            Share::one()
        );
        let expected = [("a", (1, 4)), ("b", (1, 4)), ("c", (1, 8)), ("d", (3, 8))];
        let expected = expected.map(|(name, (n, d))| (to(name), share(n, d)));
        assert_eq!(mixed.total(), Parts::from(expected));
    }

    #[test]
    fn each_part_of_the_clients_keeps_its_own_choice() {
        let [a, b] = ["a", "b"].map(|name| Rows::one(to(name)));
        let rows = Rows::by_bucket(vec![b, a], &[0, 1, 0, 0]);
        let buckets: Vec<_> = rows.buckets().map(|it| it.keys().next().unwrap()).collect();
        assert_eq!(buckets, [&to("b"), &to("a"), &to("b"), &to("b")]);
        let expected = [(to("a"), share(1, 4)), (to("b"), share(3, 4))];
        assert_eq!(rows.total(), Parts::from(expected));
        let within = halves(Rows::by_client, Rows::one(to("c")), Rows::one(to("d")));
        let nested = Rows::by_bucket(vec![within, Rows::one(to("a"))], &[0, 1]);
        assert_eq!(
            nested.buckets().len(),
            0,
            "which clients have c is left open"
        );
    }

    #[test]
    fn only_an_answer_for_everybody_is_an_answer() {
        let reject = Rows::one(Destination::Answer(NoAnswer::Reject));
        assert_eq!(reject.answer(), Some(NoAnswer::Reject));
        let a = Rows::one(to("a"));
        assert_eq!(a.answer(), None);
        assert_eq!(
            halves(Rows::by_flow, reject.clone(), a.clone()).answer(),
            None
        );
        assert_eq!(halves(Rows::by_client, reject, a).answer(), None);
    }
}
