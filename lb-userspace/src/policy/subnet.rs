use super::{
    Client, MemberIndex, Split, Step,
    candidate::{Candidate, Standing},
};
use crate::model::{Name, NoSubnet, UnhealthySubnet};

/// Keeps the member that the client's address is mapped to (S93-S97). The addresses of a member that
/// is out are as if they were not there (D50).
pub(super) fn run<'a>(
    group: &Name,
    on_no_match: NoSubnet,
    on_unhealthy: UnhealthySubnet,
    client: &Client,
    candidates: Vec<Candidate<'a>>,
) -> Step<'a> {
    let mapped = client.members.get(group).copied();
    let Some(found) = candidates.iter().find(|it| Some(it.index) == mapped) else {
        return match on_no_match {
            NoSubnet::Continue => everybody(candidates, "the client is in nobody's addresses"),
            NoSubnet::Fallback => fallback(candidates, "the client is in nobody's addresses"),
            NoSubnet::NoAnswer => Step::NoAnswer("the client is in nobody's addresses".to_owned()),
        };
    };
    let name = found.member.name();
    match found.unhealthy() {
        None => only(found.index, name, candidates),
        Some(why) => match on_unhealthy {
            UnhealthySubnet::Continue => everybody(candidates, &format!("{name} is {why}")),
            UnhealthySubnet::Fallback => fallback(candidates, &format!("{name} is {why}")),
            UnhealthySubnet::Serve if found.standing != Standing::Stopped => {
                only(found.index, name, candidates)
            }
            UnhealthySubnet::NoAnswer | UnhealthySubnet::Serve => Step::NoAnswer(format!(
                "the client is in the addresses of {name}, which is {why}"
            )),
        },
    }
}

fn everybody<'a>(candidates: Vec<Candidate<'a>>, why: &str) -> Step<'a> {
    Step::Narrowed(Split::all(candidates).with_note(format!("{why}: all go on")))
}

fn only<'a>(index: MemberIndex, name: &Name, candidates: Vec<Candidate<'a>>) -> Step<'a> {
    Step::Narrowed(Split::new(candidates, |it| {
        (it.index != index).then(|| format!("the client is in the addresses of {name}"))
    }))
}

/// Members without addresses are for everybody else (S96).
fn fallback<'a>(candidates: Vec<Candidate<'a>>, why: &str) -> Step<'a> {
    if candidates.iter().all(|it| !it.member.clients.is_empty()) {
        return Step::NoAnswer(format!("{why}, and no member is the fallback"));
    }
    let others = |it: &Candidate<'_>| {
        (!it.member.clients.is_empty()).then(|| "serves its own addresses only".to_owned())
    };
    Step::Narrowed(Split::new(candidates, others).with_note(format!("{why}: the fallback goes on")))
}
