//! Every refusal of daemon and command line has a test that provokes it, or a reason why not.
//! Those of a file are provoked in `config/tests/refusals.rs`, the engine's in `engine/tests/admin.rs`.

use std::{collections::BTreeSet, fs, path::Path};

use lb_userspace::refusal::OPERATION;

/// What can not be provoked where the tests run, and why.
const UNPROVOKED: &[(&str, &str)] = &[
    (
        "broken-object",
        "the packet program is in the binary, and the build has read it",
    ),
    (
        "no-generic-xdp",
        "no virtual device refuses generic mode where there is no other program",
    ),
    (
        "no-netlink",
        "it takes a filter of system calls, such as a service manager's",
    ),
    (
        "no-packet-log",
        "a kernel that takes the packet program gives it the log's map too",
    ),
    (
        "no-random",
        "getrandom(2) fails under a filter of system calls only",
    ),
    (
        "unattached-program",
        "the kernel has taken the program by then; an interface that goes in that moment is a race",
    ),
];

#[test]
fn every_refusal_in_operation_is_named_by_a_test_or_says_why_not() {
    let mut tests = String::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    collect(&here.join("../tests/tests"), &mut tests);
    collect(&here.join("src"), &mut tests);
    collect(&here.join("tests/cli"), &mut tests);
    let entries = OPERATION.iter().flat_map(|area| area.entries);
    let (named, unnamed): (BTreeSet<_>, BTreeSet<_>) = entries
        .map(|entry| entry.code)
        .partition(|code| names(&tests, code));
    let excused: BTreeSet<_> = UNPROVOKED.iter().map(|(code, _)| *code).collect();
    let untested: Vec<_> = unnamed.difference(&excused).collect();
    assert!(untested.is_empty(), "add a test for {untested:?}");
    let tested: Vec<_> = named.intersection(&excused).collect();
    assert!(tested.is_empty(), "{tested:?} can be provoked after all");
    assert!(excused.is_subset(&unnamed), "an excuse for no entry");
}

/// Appends the code of all tests below `directory`.
fn collect(directory: &Path, tests: &mut String) {
    for entry in fs::read_dir(directory).expect("the sources are there") {
        let path = entry.expect("the sources are there").path();
        if path.is_dir() {
            collect(&path, tests);
            continue;
        }
        let text = fs::read_to_string(&path).expect("the sources are there");
        let shown = path.display().to_string();
        if shown.contains("/tests/") || shown.ends_with("/tests.rs") {
            *tests += &text;
        } else if let Some((_, module)) = text.split_once("#[cfg(test)]\nmod tests {") {
            *tests += module;
        }
    }
}

/// Whether `code` stands there as a text of its own, or as printed: `error[code]`.
fn names(tests: &str, code: &str) -> bool {
    tests.match_indices(code).any(|(at, _)| {
        let before = tests[..at].ends_with(['"', '[']);
        before && tests[at + code.len()..].starts_with(['"', ']', '\\'])
    })
}
