use super::{
    Client, Step,
    candidate::Candidate,
    step::{Candidates, Split},
};
use crate::model::{Fit, LocationPattern};

/// Keeps the members that fit the first preferred location that any fits (S105), or else the first
/// that any fits in part (S106), or else all (S107). What it keeps is not narrowed any further.
pub(super) fn run<'a>(client: &Client, candidates: Candidates<'a>) -> Step<'a> {
    if client.prefer.is_empty() {
        let note = format_args!("no rule prefers a location for the client");
        return Step::Narrowed(candidates.keep_all().with_note(note));
    }
    for wanted in [Fit::Perfect, Fit::Partial] {
        let fits =
            |pattern: &&LocationPattern| candidates.iter().any(|it| fit(it, pattern) == wanted);
        if let Some(pattern) = client.prefer.iter().find(fits) {
            return Step::Preferred(only(pattern, wanted, candidates));
        }
    }
    let note = format_args!("nobody is in a preferred location: all go on");
    Step::Preferred(candidates.keep_all().with_note(note))
}

fn only<'a>(pattern: &LocationPattern, wanted: Fit, candidates: Candidates<'a>) -> Split<'a> {
    let (fits, whose) = match wanted {
        Fit::Perfect => ("fits", "in the preferred location"),
        _ => ("fits in part", "partly in the preferred location"),
    };
    let split = candidates.keep(
        |it| fit(it, pattern) == wanted,
        |it| match it.location {
            None => format!("no location, and others are {whose} {pattern}"),
            Some(location) => format!("at {location}, and others are {whose} {pattern}"),
        },
    );
    split.with_note(format_args!("{pattern} {fits}"))
}

fn fit(candidate: &Candidate<'_>, pattern: &LocationPattern) -> Fit {
    candidate.location.map_or(Fit::None, |it| pattern.fit(it))
}
