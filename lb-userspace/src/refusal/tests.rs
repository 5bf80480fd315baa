use std::collections::BTreeSet;

use super::*;

fn entries() -> impl Iterator<Item = &'static Entry> {
    let areas = CONFIGURATION.iter().chain(CONTROL).chain(OPERATION);
    areas.flat_map(|area| area.entries)
}

#[test]
fn a_code_is_kebab_case_of_at_least_two_words_and_names_one_entry() {
    let mut codes = BTreeSet::new();
    for Entry { code, .. } in entries() {
        let word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        assert!(code.contains('-') && code.split('-').all(word), "{code}");
        assert!(codes.insert(code), "{code} twice");
    }
}

#[test]
fn a_meaning_is_one_sentence_or_more_in_one_line() {
    for Entry { code, meaning, .. } in entries() {
        assert!(meaning.trim().ends_with('.'), "{code}: {meaning}");
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{says}")]
struct Cause {
    says: &'static str,
    source: Option<Box<Self>>,
}

fn cause(says: &'static str, source: Option<Cause>) -> Cause {
    let source = source.map(Box::new);
    Cause { says, source }
}

#[test]
fn a_reason_tells_each_cause_once() {
    let last = || cause("no space", None);
    assert_eq!(reason(&last()), "no space");
    let pin = cause("pinning failed", Some(last()));
    let both = cause("map A: pinning failed", Some(pin));
    assert_eq!(reason(&both), "map A: pinning failed: no space");
}

#[test]
fn what_is_refused_is_printed_a_line_each_and_goes_through_json_unharmed() {
    let mistakes = [
        group::zero_weight("front-door", "1").at("group[0].weight"),
        file::unknown_key("known here: a").at("colour"),
    ];
    let refused = Refused::file("/w.toml", Errors(mistakes.into())).noting("nothing changed");
    let printed = refused.to_string();
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[0], "error: /w.toml has 2 mistakes:");
    assert!(lines[1].starts_with("error[zero-weight]: group[0].weight: weight 0 does"));
    let unknown = "error[unknown-key]: colour: unknown key; known here: a";
    assert_eq!(lines[2..], [unknown, "note: nothing changed"]);
    let one = Refused::from(command::daemon_ends());
    assert!(
        one.to_string()
            .starts_with("error[daemon-ends]: the daemon is ending; ")
    );
    for refused in [refused, one] {
        let text = serde_json::to_string(&refused).unwrap();
        assert_eq!(serde_json::from_str::<Refused>(&text).unwrap(), refused);
    }
}
