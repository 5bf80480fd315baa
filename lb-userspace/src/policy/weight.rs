use super::step::{Candidates, Split};
use crate::model::Ramp;

/// Members share by weight (S8, S17), of which a part counts for those that start slowly; or equally.
pub(super) fn run(equal: bool, candidates: Candidates<'_>) -> Split<'_> {
    if !equal && candidates.iter().any(|it| it.ramp != Ramp::FULL) {
        let note = format_args!("of members that start slowly a part of the weight counts");
        return candidates.keep_all().with_note(note);
    }
    candidates.keep_all()
}
