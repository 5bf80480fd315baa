use super::{Split, candidate::Candidate};
use crate::model::Ramp;

/// Takes out those whose weight is 0; the others share by weight (S8, S17), of which a part counts for
/// members that start slowly.
pub(super) fn run(equal: bool, candidates: Vec<Candidate<'_>>) -> Split<'_> {
    let slowly = !equal && candidates.iter().any(|it| it.ramp != Ramp::FULL);
    let mut split = Split::new(candidates, |it| {
        (!equal && it.member.weight.value() == 0).then(|| "weight 0".to_owned())
    });
    if slowly {
        split.note = Some("of members that start slowly a part of the weight counts".to_owned());
    }
    split
}
