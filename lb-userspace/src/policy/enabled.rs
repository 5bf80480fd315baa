use super::{Candidate, Split};
use crate::model::Admin;

/// Keeps members that may get new flows at all. What it removes gets none under any rule, the
/// all-down rule included.
pub(super) fn run(candidates: Vec<Candidate<'_>>) -> Split<'_> {
    Split::new(candidates, |it| {
        if !it.member.enabled {
            return Some("disabled in the configuration".to_owned());
        }
        match it.state.admin {
            Admin::Disable => Some("disabled by the operator".to_owned()),
            Admin::Drain => Some("draining: takes no new flows".to_owned()),
            Admin::Enable => it.state.unreachable.clone(),
        }
    })
}
