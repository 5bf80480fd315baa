//! From whom the stages leave to each one's part of the traffic.

use std::collections::BTreeMap;

use super::{
    Decision, Destination, MemberIndex, Rows,
    candidate::Candidate,
    roster::Roster,
    rows::product,
    subset,
    walk::{Choice, End, Shape},
};
use crate::model::{Share, Spread, Who};

/// What becomes of flows by a choice.
pub(super) fn shared(roster: &Roster<'_>, choice: Choice<'_>) -> Decision {
    let Choice {
        group,
        best_effort,
        trace,
        end,
    } = choice;
    let mut decision = Decision {
        group: group.clone(),
        members: BTreeMap::new(),
        rows: Rows::default(),
        best_effort,
        trace,
        nested: Vec::new(),
    };
    match end {
        End::Answer(answer) => decision.rows = Rows::one(Destination::Answer(answer)),
        End::Backup(choice) => {
            let backup = shared(roster, *choice);
            decision.rows = backup.rows.clone();
            decision.nested.push(backup);
        }
        End::Members {
            left,
            within,
            shape,
        } => {
            let all = roster.members(group);
            let within = within.into_iter().map(|choice| shared(roster, choice));
            decision.nested.extend(within);
            let among = Among::new(&left, all, &decision.nested, shape);
            (decision.members, decision.rows) = among.spread(roster);
        }
    }
    decision
}

/// Members that share, at least one.
struct Among<'a> {
    members: Vec<&'a Candidate<'a>>,
    /// What becomes of the flows that each gets.
    rows: Vec<Rows>,
    shape: Shape,
}

impl<'a> Among<'a> {
    /// `nested` are the decisions of those that are groups, in their order.
    fn new(
        left: &[MemberIndex],
        all: &'a [Candidate<'a>],
        nested: &[Decision],
        shape: Shape,
    ) -> Self {
        let members: Vec<_> = left.iter().map(|index| &all[*index]).collect();
        let mut nested = nested.iter();
        let rows = members.iter().map(|it| match &it.member.who {
            Who::Backend(name) => Rows::one(Destination::Backend(name.clone())),
            Who::Group(_) => nested.next().map(|it| it.rows.clone()).unwrap_or_default(),
        });
        Self {
            rows: rows.collect(),
            members,
            shape,
        }
    }

    /// The part of each, and what becomes of flows.
    fn spread(&self, roster: &Roster<'_>) -> (BTreeMap<MemberIndex, Share>, Rows) {
        let count = self.members.len();
        let take = self.shape.take.map_or(count, usize::from);
        let (sets, buckets) = if take < count {
            subset::sets(roster.scene(), &self.members, take)
        } else {
            (vec![(0..count).collect()], vec![0])
        };
        let mut members = BTreeMap::<_, Share>::new();
        let rows = sets.iter().enumerate().map(|(number, set)| {
            let parts = self.parts(set);
            let with_set = buckets.iter().filter(|it| **it == number).count();
            let clients = Share::new(with_set.into(), buckets.len().into());
            for (place, part) in set.iter().zip(&parts) {
                let part = product(&clients, part);
                let member = members.entry(self.members[*place].index);
                member.and_modify(|it| *it += &part).or_insert(part);
            }
            self.rows(set, parts)
        });
        let rows = Rows::by_bucket(rows.collect(), &buckets);
        (members, rows)
    }

    /// What becomes of flows that a set of the members has these parts of.
    fn rows(&self, set: &[usize], parts: Vec<Share>) -> Rows {
        let rows = set.iter().map(|place| self.rows[*place].clone());
        let parts = parts.into_iter().zip(rows).collect();
        match self.shape.spread {
            Spread::Client => Rows::by_client(parts),
            Spread::Flow => Rows::by_flow(parts),
        }
    }

    /// The parts of a set of the members, which sum to 1.
    fn parts(&self, set: &[usize]) -> Vec<Share> {
        let size = |place: &usize| match self.shape.by_weight {
            true => {
                let candidate = self.members[*place];
                let weight = u64::from(candidate.member.weight.value());
                weight * u64::from(candidate.ramp.sixteenths())
            }
            false => 1,
        };
        let sum: u64 = set.iter().map(size).sum();
        let part = |place| Share::new(size(place).into(), sum.into());
        set.iter().map(part).collect()
    }
}
