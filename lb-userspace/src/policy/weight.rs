use super::{Candidate, Step, Verdict, parts};
use crate::model::Ramp;

/// Shares traffic in proportion to weight (S8, S17), of which a part counts for members that start slowly.
pub(super) fn run(candidates: &[Candidate<'_>]) -> Step<'static> {
    let slowly = candidates.iter().any(|it| it.state.ramp != Ramp::FULL);
    Step::Decided(Verdict {
        shares: parts(candidates, |it| {
            u64::from(it.member.weight.value()) * u64::from(it.state.ramp.sixteenths())
        }),
        best_effort: false,
        note: slowly.then_some("of members that start slowly a part of the weight counts"),
    })
}
