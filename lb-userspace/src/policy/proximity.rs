use std::fmt;

use super::{Client, Step, candidate::Candidate, step::Candidates};
use crate::model::{Location, NoProximity};

/// Keeps the members that have the most leading qualifiers in common with the client (R8), and those
/// without a location, which match every client (D76).
pub(super) fn run<'a>(
    on_no_match: NoProximity,
    client: &Client,
    candidates: Candidates<'a>,
) -> Step<'a> {
    let place = client.location.as_ref();
    let depth = |it: &Candidate<'_>| {
        let location = it.location?;
        Some(place.map_or(0, |place| location.depth(place)))
    };
    let deepest = candidates.iter().filter_map(depth).max().unwrap_or(0);
    let matches = |it: &Candidate<'_>| depth(it).is_none_or(|depth| depth > 0 && depth == deepest);
    if candidates.iter().any(matches) {
        let farther = |location: &Location| {
            format!("at {location}, and others are nearer to {}", shown(place))
        };
        return Step::Narrowed(
            candidates.keep(matches, |it| it.location.map(farther).unwrap_or_default()),
        );
    }
    let place = shown(place);
    let why = format_args!("nobody is near to {place}");
    match on_no_match {
        NoProximity::Continue => Step::Narrowed(
            candidates
                .keep_all()
                .with_note(format_args!("{why}: all go on")),
        ),
        NoProximity::NoAnswer => Step::NoAnswer(candidates.note(why)),
    }
}

fn shown(place: Option<&Location>) -> impl fmt::Display {
    fmt::from_fn(move |f| match place {
        Some(place) => write!(f, "{place}"),
        // Its location is not known, or has nothing that a member's has: the class does not tell.
        None => f.write_str("the client"),
    })
}
