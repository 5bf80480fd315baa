use super::{
    Split, Step,
    candidate::{Candidate, Standing},
};
use crate::model::{AllDown, Percent};

/// Keeps healthy members (S5). With none, or too little of the weight (D95, D103), the all-down rule
/// decides; one healthy member, or enough, ends that (S41). Stopped members are no part of it (R14).
pub(super) fn run(
    all_down: AllDown,
    min_healthy_weight: Option<Percent>,
    candidates: Vec<Candidate<'_>>,
) -> Step<'_> {
    let little = min_healthy_weight.and_then(|least| too_little(&candidates, least));
    let why = match little {
        Some(why) => why,
        None if candidates.iter().any(|it| it.standing.is_available()) => {
            return Step::Narrowed(Split::new(candidates, Candidate::unhealthy));
        }
        None => "no member is healthy".to_owned(),
    };
    let in_use = |candidates| {
        Split::new(candidates, |it: &Candidate<'_>| {
            let is_stopped = it.standing == Standing::Stopped;
            is_stopped.then(|| it.unhealthy()).flatten()
        })
    };
    match all_down {
        AllDown::AsIfHealthy => {
            let split = in_use(candidates);
            Step::BestEffort(split.with_note(format!("{why}: all are used as if they were")))
        }
        AllDown::Backup => Step::Backup(why),
        AllDown::NoAnswer => Step::NoAnswer(why),
        AllDown::RoundRobin => {
            let split = in_use(candidates);
            Step::RoundRobin(split.with_note(format!("{why}: all get equal parts")))
        }
    }
}

/// Why the healthy members carry too little of the weight, for people; none if they carry enough.
pub(super) fn too_little(members: &[Candidate<'_>], least: Percent) -> Option<String> {
    let sum = |only_available: bool| -> u64 {
        let members = members.iter();
        members
            .filter(|it| !only_available || it.standing.is_available())
            .map(|it| u64::from(it.member.weight.value()))
            .sum()
    };
    let (healthy, all, least) = (sum(true), sum(false), u64::from(least.value()));
    (healthy * 100 < least * all)
        .then(|| format!("healthy weight {healthy} of {all} is below {least} %"))
}
