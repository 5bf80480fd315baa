use super::{Client, Split, Step, candidate::Candidate};
use crate::model::{Location, NoProximity};

/// Keeps the members that have the most leading qualifiers in common with the client (R8), and those
/// without a location, which match every client (D76).
pub(super) fn run<'a>(
    on_no_match: NoProximity,
    client: &Client,
    candidates: Vec<Candidate<'a>>,
) -> Step<'a> {
    let place = client.location.as_ref();
    let depth = |it: &Candidate<'_>| {
        let location = it.location?;
        Some(place.map_or(0, |place| location.depth(place)))
    };
    let deepest = candidates.iter().filter_map(depth).max().unwrap_or(0);
    let matches = |it: &Candidate<'_>| depth(it).is_none_or(|depth| depth > 0 && depth == deepest);
    if candidates.iter().any(matches) {
        return Step::Narrowed(Split::new(candidates, |it| {
            let location = it.location.filter(|_| !matches(it))?;
            Some(format!(
                "at {location}, and others are nearer to {}",
                shown(place)
            ))
        }));
    }
    let why = format!("nobody is near to {}", shown(place));
    match on_no_match {
        NoProximity::Continue => {
            Step::Narrowed(Split::all(candidates).with_note(format!("{why}: all go on")))
        }
        NoProximity::NoAnswer => Step::NoAnswer(why),
    }
}

fn shown(place: Option<&Location>) -> String {
    match place {
        Some(place) => place.to_string(),
        // Its location is not known, or has nothing that a member's has: the class does not tell.
        None => "the client".to_owned(),
    }
}
