use super::{Client, Step, candidate::Candidate, step::Candidates};
use crate::model::{NoRegion, Region, StoppedRegion, UnhealthyRegion};

/// Keeps the member that the client's region is mapped to, or else the next coarser region (S77-S88).
/// A member that is out lets the search climb (S85).
pub(super) fn run<'a>(
    on_no_match: NoRegion,
    on_unhealthy: UnhealthyRegion,
    on_stopped: StoppedRegion,
    client: &Client,
    candidates: Candidates<'a>,
) -> Step<'a> {
    for region in client.region.chain() {
        let mapped = |it: &&Candidate<'_>| it.member.geo.contains(&region);
        let Some(found) = candidates.iter().find(mapped) else {
            continue;
        };
        if found.is_available() {
            return only(region, client.region, candidates);
        }
        let is_stopped = found.is_stopped();
        match (is_stopped, on_stopped, on_unhealthy) {
            (true, StoppedRegion::Climb, _) | (false, _, UnhealthyRegion::Climb) => {}
            (true, StoppedRegion::NoAnswer, _) | (false, _, UnhealthyRegion::NoAnswer) => {
                let (name, trouble) = (found.member.name(), found.trouble());
                let why = format_args!("{region} is mapped to {name}, which is {trouble}");
                return Step::NoAnswer(candidates.note(why));
            }
            (false, _, UnhealthyRegion::Serve) => return only(region, client.region, candidates),
        }
    }
    let region = client.region;
    let why = format_args!("nobody is mapped to {region} or a region around it");
    match on_no_match {
        NoRegion::Continue => Step::Narrowed(
            candidates
                .keep_all()
                .with_note(format_args!("{why}: all go on")),
        ),
        NoRegion::NoAnswer => Step::NoAnswer(candidates.note(why)),
    }
}

fn only(region: Region, client: Region, candidates: Candidates<'_>) -> Step<'_> {
    Step::Narrowed(candidates.keep(
        |it| it.member.geo.contains(&region),
        |_| match region == client {
            true => format!("not mapped to {client}"),
            false => format!("not mapped to {region}, which {client} is in"),
        },
    ))
}
