use std::fmt;

use super::{
    Step,
    candidate::Candidate,
    step::{Candidates, Split},
};
use crate::model::{AllDown, Percent};

/// Keeps healthy members (S5). With none, or too little of the weight (D95, D103), the all-down rule
/// decides; one healthy member, or enough, ends that (S41). Stopped members are no part of it (R14).
pub(super) fn run(
    all_down: AllDown,
    min_healthy_weight: Option<Percent>,
    candidates: Candidates<'_>,
) -> Step<'_> {
    let in_use = || candidates.iter().filter(|it| !it.is_stopped());
    let little = min_healthy_weight.and_then(|least| too_little(in_use(), least));
    let why: &dyn fmt::Display = match &little {
        Some(why) => why,
        None if candidates.iter().any(Candidate::is_available) => {
            return Step::Narrowed(candidates.keep(Candidate::is_available, trouble));
        }
        None => &"no member is healthy",
    };
    match all_down {
        AllDown::AsIfHealthy => {
            let note = format_args!("{why}: all are used as if they were");
            Step::BestEffort(not_stopped(candidates).with_note(note))
        }
        AllDown::Backup => Step::Backup(candidates.note(format_args!("{why}"))),
        AllDown::NoAnswer => Step::NoAnswer(candidates.note(format_args!("{why}"))),
        AllDown::RoundRobin => {
            let note = format_args!("{why}: all get equal parts");
            Step::RoundRobin(not_stopped(candidates).with_note(note))
        }
    }
}

fn not_stopped(candidates: Candidates<'_>) -> Split<'_> {
    candidates.keep(|it| !it.is_stopped(), trouble)
}

fn trouble(it: &Candidate<'_>) -> String {
    it.trouble().to_string()
}

/// The healthy members of a group carry too little of the weight. For people it is the reason.
pub(super) struct TooLittle {
    healthy: u64,
    all: u64,
    least: Percent,
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (healthy, all, least) = (self.healthy, self.all, self.least.value());
        write!(f, "healthy weight {healthy} of {all} is below {least} %")
    }
}

/// Whether the healthy members carry too little of the weight.
pub(super) fn too_little<'a>(
    members: impl Iterator<Item = &'a Candidate<'a>>,
    least: Percent,
) -> Option<TooLittle> {
    let (mut healthy, mut all) = (0, 0);
    for it in members {
        let weight = u64::from(it.member.weight.value());
        all += weight;
        healthy += if it.is_available() { weight } else { 0 };
    }
    let is_little = healthy * 100 < u64::from(least.value()) * all;
    is_little.then_some(TooLittle {
        healthy,
        all,
        least,
    })
}
