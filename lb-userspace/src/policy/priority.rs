use super::{Split, Step, candidate::Candidate};

/// Keeps the lowest priority value in use (S6, S13).
pub(super) fn run(candidates: Vec<Candidate<'_>>) -> Step<'_> {
    let values = candidates.iter().map(|it| it.member.priority.value());
    let best = values.min().unwrap_or_default();
    Step::Narrowed(Split::new(candidates, |it| {
        let own = it.member.priority.value();
        (own > best).then(|| format!("priority {own}, and {best} is available"))
    }))
}
