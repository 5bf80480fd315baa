use super::{
    Client,
    candidate::Candidate,
    step::{Candidates, Split},
};
use crate::model::Admin;

/// Keeps members that may get new flows at all; a weight of 0 is none (4.1). What it removes gets none under any rule, the
/// all-down rule included.
pub(super) fn run<'a>(client: &Client, candidates: Candidates<'a>) -> Split<'a> {
    candidates.keep(
        |it| it.takes_part && it.families.suit(client),
        |it| obstacle(it, client).unwrap_or_default().to_owned(),
    )
}

/// Why a member may get no new flows, for people.
fn obstacle<'a>(it: &Candidate<'a>, client: &Client) -> Option<&'a str> {
    if !it.member.enabled {
        return Some("disabled in the configuration");
    }
    if it.member.weight.value() == 0 {
        return Some("weight 0");
    }
    if !it.families.suit(client) {
        return Some("has no address of the service's family");
    }
    match it.admin {
        Admin::Disable => Some("disabled by the operator"),
        Admin::Drain => Some("draining: takes no new flows"),
        Admin::Enable => it.unreachable,
    }
}

/// Whether a member counts in the health of its group. One of the other family does: the group may
/// serve clients of both.
pub(super) fn may_take_part(it: &Candidate<'_>) -> bool {
    it.member.enabled
        && it.member.weight.value() > 0
        && it.admin == Admin::Enable
        && it.unreachable.is_none()
}
