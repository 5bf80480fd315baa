//! `cargo xtask layers`
//!
//! Pure code decides and names nothing that acts: no kernel, file system, socket, clock, thread.
//! `unsafe` stands only in files that are listed here, so each new one is seen in review.

mod rules;
mod source;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use crate::shell;
use source::Source;

/// Files and folders of pure code, below the workspace.
const PURE: &[&str] = &[
    "lb-userspace/src/engine.rs",
    "lb-userspace/src/model",
    "lb-userspace/src/policy",
    "lb-userspace/src/table",
];

/// The files that may say `unsafe`.
const UNSAFE: &[&str] = &["lb-common/src/abi.rs", "lb-ebpf/src/main.rs"];

/// Files longer than this are named, as a hint to cut them.
const LONG: usize = 400;

pub(crate) fn run() -> Result<()> {
    let root = shell::workspace();
    for listed in PURE.iter().chain(UNSAFE) {
        ensure!(
            root.join(listed).exists(),
            "xtask/src/layers.rs lists {listed}, which does not exist"
        );
    }
    let mut breaches = Vec::new();
    for file in rust_files(root)? {
        let path = root.join(&file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        breaches.extend(breaches_in(&file, &text));
        let lines = text.lines().count();
        if lines > LONG {
            println!("long: {} has {lines} lines", file.display());
        }
    }
    for breach in &breaches {
        println!("{breach}");
    }
    ensure!(breaches.is_empty(), "{} against the layers", breaches.len());
    Ok(())
}

/// A place where code names what its layer may not.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    file: PathBuf,
    line: usize,
    name: String,
    rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            name,
            rule,
        } = self;
        write!(f, "{}:{line}: `{name}`: {rule}", file.display())
    }
}

/// All breaches in one file; its path below the workspace tells the rules that it is under.
fn breaches_in(file: &Path, text: &str) -> Vec<Breach> {
    let source = Source::new(text);
    let breach = |line, name: &str, rule: String| Breach {
        file: file.to_owned(),
        line,
        name: name.to_owned(),
        rule,
    };
    let mut breaches = Vec::new();
    if !UNSAFE.iter().any(|listed| file == Path::new(listed)) {
        let rule = "only the files listed in xtask/src/layers.rs may be unsafe";
        let lines = source.lines_with("unsafe").into_iter();
        breaches.extend(lines.map(|line| breach(line, "unsafe", rule.to_owned())));
    }
    if PURE.iter().any(|listed| file.starts_with(listed)) && !is_test_code(file) {
        for name in source.without_tests().names() {
            if let Some(what) = rules::what_it_reaches(&name) {
                let rule = format!("pure code knows nothing of {what}");
                breaches.push(breach(name.line, &name.to_string(), rule));
            }
        }
    }
    breaches
}

/// Tests may use clocks and files; `x/tests.rs` and `x/tests/..` are compiled for tests only.
fn is_test_code(file: &Path) -> bool {
    file.iter()
        .any(|part| part == "tests" || part == "tests.rs")
}

/// The Rust files of the workspace, as paths below its root, in order.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry.with_context(|| folder.display().to_string())?;
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if name != "target" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the check says about a text at a path, as `line name`.
    fn check(file: &str, text: &str) -> Vec<String> {
        breaches_in(Path::new(file), text)
            .into_iter()
            .map(|breach| format!("{} {}", breach.line, breach.name))
            .collect()
    }

    const PURE_FILE: &str = "lb-userspace/src/policy/mod.rs";

    #[test]
    fn pure_code_that_names_the_file_system_is_found_with_its_line() {
        let text = "//! Doc.\nuse std::{\n    collections::BTreeMap,\n    fs::{self, File},\n};\n";
        assert_eq!(
            check(PURE_FILE, text),
            ["4 std::fs::self", "4 std::fs::File"]
        );
    }

    #[test]
    fn a_breach_says_where_what_and_why() {
        let breaches = breaches_in(Path::new(PURE_FILE), "fn f() { tokio::spawn(g()); }");
        assert_eq!(
            breaches[0].to_string(),
            "lb-userspace/src/policy/mod.rs:1: `tokio::spawn`: pure code knows nothing of the asynchronous runtime"
        );
    }

    #[test]
    fn the_same_names_are_free_outside_of_pure_code() {
        let text = "use std::{fs, thread};\nuse tokio::net::TcpStream;\n";
        assert_eq!(check("lb-userspace/src/daemon.rs", text), [""; 0]);
        assert_eq!(
            check("lb-userspace/src/policy_shell.rs", text),
            [""; 0],
            "a folder's name is not a prefix of text"
        );
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        let text = r##"
            //! Like tokio::spawn, or unsafe.
            /* std::fs /* nested */ Instant::now() */
            /// [`std::thread`]
            const A: &str = "unsafe \" std::fs::read";
            const B: &str = r#"tokio::spawn " unsafe"#;
            const C: &[u8] = b"aya::Ebpf";
            const D: (char, char, char) = ('"', '\'', 'x');
            fn f<'unsafe_like>(_: &'unsafe_like str) {}
        "##;
        assert_eq!(check(PURE_FILE, text), [""; 0]);
    }

    #[test]
    fn code_after_quotes_of_every_kind_is_still_seen() {
        for quoted in [
            r#""\\""#,
            r##"r#"""#"##,
            r"'\\'",
            r#"b'"'"#,
            "'a'",
            "\"//\"",
        ] {
            let text = format!("const A: X = {quoted}; use std::fs;");
            assert_eq!(check(PURE_FILE, &text), ["1 std::fs"], "{quoted}");
        }
    }

    #[test]
    fn tests_may_use_the_clock_but_not_unsafe() {
        let text = "\
            fn pure() {}\n\
            #[cfg(test)]\n\
            mod tests {\n\
                fn now() -> Instant { let _ = [0; 2]; Instant::now() }\n\
                fn f() { unsafe { g() } }\n\
            }\n";
        assert_eq!(check(PURE_FILE, text), ["5 unsafe"]);
    }

    #[test]
    fn code_after_the_tests_is_not_exempt() {
        for tests in [
            "mod tests;",
            "mod tests {}",
            "use std::env::{self};",
            "fn f() -> [u8; 2] { [0; 2] }",
            "#[expect(dead_code)] mod tests;",
        ] {
            let text = format!("#[cfg(test)]\n{tests}\nuse std::fs;\n");
            assert_eq!(check(PURE_FILE, &text), ["3 std::fs"], "{tests}");
        }
    }

    #[test]
    fn a_file_of_tests_is_exempt_from_purity_only() {
        let text = "use std::fs;\nunsafe fn f() {}\n";
        assert_eq!(
            check("lb-userspace/src/policy/tests.rs", text),
            ["2 unsafe"]
        );
        assert_eq!(
            check("lb-userspace/src/policy/tests/vectors.rs", text),
            ["2 unsafe"]
        );
    }

    #[test]
    fn unsafe_is_found_everywhere_but_in_the_listed_files() {
        let text = "#[unsafe(no_mangle)]\nstatic A: u8 = 0;\nunsafe impl Pod for X {}\n";
        assert_eq!(check("tests/src/lab.rs", text), ["1 unsafe", "3 unsafe"]);
        assert_eq!(check("lb-common/src/abi.rs", text), [""; 0]);
        assert_eq!(
            check("lb-common/src/flow.rs", "#![deny(unsafe_code)]"),
            [""; 0]
        );
    }

    #[test]
    fn every_source_file_of_the_workspace_is_looked_at() {
        let files = rust_files(shell::workspace()).unwrap();
        for listed in UNSAFE.iter().chain(&["xtask/src/layers.rs"]) {
            assert!(files.contains(&PathBuf::from(listed)), "{listed}");
        }
        assert!(files.iter().all(|file| !file.starts_with("target")));
    }
}
