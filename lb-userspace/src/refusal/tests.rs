use std::collections::BTreeSet;

use super::*;

fn entries() -> impl Iterator<Item = &'static Entry> {
    let areas = CONFIGURATION.iter().chain(CONTROL).chain(KERNEL);
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
