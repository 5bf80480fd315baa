use super::{Split, candidate::Candidate};

/// Takes out those whose weight is 0; the others share by weight (S8, S17).
pub(super) fn run(equal: bool, candidates: Vec<Candidate<'_>>) -> Split<'_> {
    Split::new(candidates, |it| {
        (!equal && it.member.weight.value() == 0).then(|| "weight 0".to_owned())
    })
}
