use std::fmt;

use super::{Client, Step, candidate::Candidate, step::Candidates};
use crate::model::{Name, NoSubnet, UnhealthySubnet};

/// Keeps the member that the client's address is mapped to (S93-S97). The addresses of a member that
/// is out are as if they were not there (D50).
pub(super) fn run<'a>(
    group: &Name,
    on_no_match: NoSubnet,
    on_unhealthy: UnhealthySubnet,
    client: &Client,
    candidates: Candidates<'a>,
) -> Step<'a> {
    let mapped = client.members.get(group).copied();
    let Some(found) = candidates.iter().find(|it| Some(it.index) == mapped) else {
        let why = format_args!("the client is in nobody's addresses");
        return match on_no_match {
            NoSubnet::Continue => everybody(candidates, why),
            NoSubnet::Fallback => fallback(candidates, why),
            NoSubnet::NoAnswer => Step::NoAnswer(candidates.note(why)),
        };
    };
    if found.is_available() {
        return only(found, candidates);
    }
    let (name, trouble) = (found.member.name(), found.trouble());
    let why = format_args!("{name} is {trouble}");
    match on_unhealthy {
        UnhealthySubnet::Continue => everybody(candidates, why),
        UnhealthySubnet::Fallback => fallback(candidates, why),
        UnhealthySubnet::Serve if !found.is_stopped() => only(found, candidates),
        UnhealthySubnet::NoAnswer | UnhealthySubnet::Serve => {
            let why = format_args!("the client is in the addresses of {name}, which is {trouble}");
            Step::NoAnswer(candidates.note(why))
        }
    }
}

fn everybody<'a>(candidates: Candidates<'a>, why: fmt::Arguments<'_>) -> Step<'a> {
    Step::Narrowed(
        candidates
            .keep_all()
            .with_note(format_args!("{why}: all go on")),
    )
}

fn only<'a>(found: &Candidate<'_>, candidates: Candidates<'a>) -> Step<'a> {
    let name = found.member.name();
    Step::Narrowed(candidates.keep(
        |it| it.index == found.index,
        |_| format!("the client is in the addresses of {name}"),
    ))
}

/// Members without addresses are for everybody else (S96).
fn fallback<'a>(candidates: Candidates<'a>, why: fmt::Arguments<'_>) -> Step<'a> {
    let is_fallback = |it: &Candidate<'_>| it.member.clients.is_empty();
    if !candidates.iter().any(is_fallback) {
        let why = format_args!("{why}, and no member is the fallback");
        return Step::NoAnswer(candidates.note(why));
    }
    let split = candidates.keep(is_fallback, |_| "serves its own addresses only".to_owned());
    Step::Narrowed(split.with_note(format_args!("{why}: the fallback goes on")))
}
