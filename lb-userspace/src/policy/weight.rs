use super::{Split, candidate::Candidate};
use crate::model::Ramp;

/// Members share by weight (S8, S17), of which a part counts for those that start slowly; or equally.
pub(super) fn run(equal: bool, candidates: Vec<Candidate<'_>>) -> Split<'_> {
    let slowly = !equal && candidates.iter().any(|it| it.ramp != Ramp::FULL);
    let mut split = Split::all(candidates);
    if slowly {
        split.note = Some("of members that start slowly a part of the weight counts".to_owned());
    }
    split
}
