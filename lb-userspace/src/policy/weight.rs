use super::{Candidate, Step, Verdict, parts};

/// Shares traffic in proportion to weight (S8, S17).
pub(super) fn run(candidates: &[Candidate<'_>]) -> Step<'static> {
    Step::Decided(Verdict {
        shares: parts(candidates, |it| it.member.weight.value().into()),
        best_effort: false,
        note: None,
    })
}
