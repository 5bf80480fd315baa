use super::{Step, candidate::Candidate, step::Candidates};

/// Keeps the lowest priority value in use (S6, S13).
pub(super) fn run(candidates: Candidates<'_>) -> Step<'_> {
    let own = |it: &Candidate<'_>| it.member.priority.value();
    let best = candidates.iter().map(own).min().unwrap_or_default();
    Step::Narrowed(candidates.keep(
        |it| own(it) == best,
        |it| format!("priority {}, and {best} is available", own(it)),
    ))
}
