use super::{Candidate, Split, Step, Verdict, equal_parts};
use crate::model::{AllDown, Health, MemberState};

/// Keeps healthy members (S5). With none, the all-down rule decides (S40); one healthy member is
/// enough to end that (S41).
pub(super) fn run(all_down: AllDown, candidates: Vec<Candidate<'_>>) -> Step<'_> {
    if candidates.iter().any(|it| it.state.is_available()) {
        return Step::Narrowed(Split::new(candidates, |it| unhealthy(it.state)));
    }
    match all_down {
        AllDown::RoundRobin => Step::Decided(Verdict {
            shares: equal_parts(&candidates),
            best_effort: true,
            note: Some("no member is healthy: all get equal parts"),
        }),
    }
}

fn unhealthy(state: &MemberState) -> Option<String> {
    if state.is_available() {
        return None;
    }
    let verdict = match state.health {
        Health::Checking => "no verdict yet",
        Health::Down | Health::Up => "not healthy",
    };
    Some(if state.why.is_empty() {
        verdict.to_owned()
    } else {
        format!("{verdict}: {}", state.why)
    })
}
