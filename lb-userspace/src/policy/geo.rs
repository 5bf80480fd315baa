use super::{
    Client, Split, Step,
    candidate::{Candidate, Standing},
};
use crate::model::{NoRegion, Region, StoppedRegion, UnhealthyRegion};

/// Keeps the member that the client's region is mapped to, or else the next coarser region (S77-S88).
/// A member that is out lets the search climb (S85).
pub(super) fn run<'a>(
    on_no_match: NoRegion,
    on_unhealthy: UnhealthyRegion,
    on_stopped: StoppedRegion,
    client: &Client,
    candidates: Vec<Candidate<'a>>,
) -> Step<'a> {
    for region in client.region.chain() {
        let mapped = |it: &&Candidate<'_>| it.member.geo.contains(&region);
        let Some(found) = candidates.iter().find(mapped) else {
            continue;
        };
        let name = found.member.name();
        let Some(why) = found.unhealthy() else {
            return only(region, client.region, candidates);
        };
        let refused = format!("{region} is mapped to {name}, which is {why}");
        match (
            found.standing == Standing::Stopped,
            on_stopped,
            on_unhealthy,
        ) {
            (true, StoppedRegion::Climb, _) | (false, _, UnhealthyRegion::Climb) => {}
            (true, StoppedRegion::NoAnswer, _) | (false, _, UnhealthyRegion::NoAnswer) => {
                return Step::NoAnswer(refused);
            }
            (false, _, UnhealthyRegion::Serve) => return only(region, client.region, candidates),
        }
    }
    let why = format!(
        "nobody is mapped to {} or a region around it",
        client.region
    );
    match on_no_match {
        NoRegion::Continue => {
            Step::Narrowed(Split::all(candidates).with_note(format!("{why}: all go on")))
        }
        NoRegion::NoAnswer => Step::NoAnswer(why),
    }
}

fn only(region: Region, client: Region, candidates: Vec<Candidate<'_>>) -> Step<'_> {
    let why = if region == client {
        format!("not mapped to {client}")
    } else {
        format!("not mapped to {region}, which {client} is in")
    };
    Step::Narrowed(Split::new(candidates, |it| {
        (!it.member.geo.contains(&region)).then(|| why.clone())
    }))
}
