use super::{Split, candidate::Candidate};
use crate::model::Admin;

/// Keeps members that may get new flows at all; a weight of 0 is none (4.1). What it removes gets none under any rule, the
/// all-down rule included.
pub(super) fn run(candidates: Vec<Candidate<'_>>) -> Split<'_> {
    Split::new(candidates, |it| {
        if !it.member.enabled {
            return Some("disabled in the configuration".to_owned());
        }
        if it.member.weight.value() == 0 {
            return Some("weight 0".to_owned());
        }
        if !it.suits {
            return Some("has no address of the service's family".to_owned());
        }
        match it.admin {
            Admin::Disable => Some("disabled by the operator".to_owned()),
            Admin::Drain => Some("draining: takes no new flows".to_owned()),
            Admin::Enable => it.unreachable.map(str::to_owned),
        }
    })
}

/// Whether a member counts in the health of its group. One of the other family does: the group may
/// serve clients of both.
pub(super) fn may_take_part(it: &Candidate<'_>) -> bool {
    it.member.enabled
        && it.member.weight.value() > 0
        && it.admin == Admin::Enable
        && it.unreachable.is_none()
}
