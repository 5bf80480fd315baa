//! `cargo xtask layers`
//!
//! The daemon's crate is pure: it decides and names nothing that acts, no kernel, file system,
//! socket, clock or thread. The files that act are listed here, and so are those that may be
//! `unsafe`; each new one is thereby seen in review.

mod rules;
mod source;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use crate::shell;
use source::Source;

/// Where code is pure.
const PURE: &str = "lb-userspace/src";

/// Files and folders in there that act.
const ACTS: &[&str] = &[
    "lb-userspace/src/accept.rs",
    "lb-userspace/src/cli",
    "lb-userspace/src/config/listeners.rs",
    "lb-userspace/src/config/load.rs",
    "lb-userspace/src/config/own_ports.rs",
    "lb-userspace/src/control/client.rs",
    "lb-userspace/src/control/server.rs",
    "lb-userspace/src/daemon",
    "lb-userspace/src/daemon.rs",
    "lb-userspace/src/dataplane/attach.rs",
    "lb-userspace/src/dataplane/clients.rs",
    "lb-userspace/src/dataplane/clock.rs",
    "lb-userspace/src/dataplane/counters.rs",
    "lb-userspace/src/dataplane/detach.rs",
    "lb-userspace/src/dataplane/host.rs",
    "lb-userspace/src/dataplane/interface.rs",
    "lb-userspace/src/dataplane/kernel.rs",
    "lb-userspace/src/dataplane/lock.rs",
    "lb-userspace/src/dataplane/look.rs",
    "lb-userspace/src/dataplane/mapped.rs",
    "lb-userspace/src/dataplane/object.rs",
    "lb-userspace/src/dataplane/parts.rs",
    "lb-userspace/src/dataplane/pins.rs",
    "lb-userspace/src/dataplane/prover.rs",
    "lb-userspace/src/dataplane/start.rs",
    "lb-userspace/src/main.rs",
    "lb-userspace/src/metrics/listener.rs",
    "lb-userspace/src/neighbour",
    "lb-userspace/src/probe/connect.rs",
    "lb-userspace/src/probe/http.rs",
    "lb-userspace/src/probe/https.rs",
    "lb-userspace/src/probe/nginx.rs",
    "lb-userspace/src/probe/scheduler.rs",
    "lb-userspace/src/probe/server.rs",
    "lb-userspace/src/probe/tcp.rs",
    "lb-userspace/src/probe/tls.rs",
];

/// The files that may say `unsafe`.
const UNSAFE: &[&str] = &[
    "lb-common/src/abi.rs",
    "lb-ebpf/src/cursor.rs",
    "lb-ebpf/src/header.rs",
    "lb-ebpf/src/program/clock.rs",
    "lb-ebpf/src/program/mod.rs",
    "lb-ebpf/src/program/packet.rs",
    "lb-ebpf/src/program/settings.rs",
    "lb-ebpf/src/program/tables.rs",
    "lb-ebpf/src/program/tables/flows.rs",
    "lb-ebpf/src/program/tables/known.rs",
    "lb-ebpf/src/program/tables/pins.rs",
    "lb-ebpf/src/program/tables/translations.rs",
    "lb-ebpf/src/program/ways.rs",
    "lb-ebpf/src/word.rs",
    "lb-userspace/src/dataplane/mapped.rs",
    "tests/ebpf/src/program/decapsulate.rs",
    "tests/ebpf/src/program/trunk.rs",
    "tests/ebpf/src/program/generator.rs",
    "tests/ebpf/src/program/mod.rs",
    "tests/ebpf/src/program/narrow.rs",
    "tests/ebpf/src/program/reference/mod.rs",
    "tests/ebpf/src/program/reference/v4.rs",
    "tests/ebpf/src/program/reference/v6.rs",
    "tests/src/lab/pass.rs",
];

/// Files longer than this are named, as a hint to cut them.
const LONG: usize = 400;

pub(crate) fn run() -> Result<()> {
    check(shell::workspace())
}

/// Prints every breach in the workspace at `root`; an error when there is one, or a list is stale.
fn check(root: &Path) -> Result<()> {
    for listed in ACTS.iter().chain(UNSAFE).chain([&PURE]) {
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
    ensure!(breaches.is_empty(), "layers broken: {}", breaches.len());
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
    let may_be_unsafe = UNSAFE.iter().any(|listed| file == Path::new(listed));
    let lines = source.lines_with("unsafe");
    if may_be_unsafe && lines.is_empty() {
        let rule = "it is listed in xtask/src/layers.rs, but no longer says so";
        breaches.push(breach(1, "unsafe", rule.to_owned()));
    } else if !may_be_unsafe {
        let rule = "only the files listed in xtask/src/layers.rs may be unsafe";
        let lines = lines.into_iter();
        breaches.extend(lines.map(|line| breach(line, "unsafe", rule.to_owned())));
    }
    if is_pure(file) {
        for name in source.without_tests().names() {
            if let Some(what) = rules::what_it_reaches(&name) {
                let rule = format!("pure code knows nothing of {what}");
                breaches.push(breach(name.line, &name.to_string(), rule));
            }
        }
    }
    breaches
}

fn is_pure(file: &Path) -> bool {
    // Tests may act; `x/tests.rs` and `x/tests/..` are compiled for tests only.
    let is_test = file
        .iter()
        .any(|part| part == "tests" || part == "tests.rs");
    file.starts_with(PURE) && !is_test && !ACTS.iter().any(|listed| file.starts_with(listed))
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

    /// What is found in a text at a path, as `line name`.
    fn found(file: &str, text: &str) -> Vec<String> {
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
            found(PURE_FILE, text),
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
    fn a_file_that_acts_may_name_it_all() {
        let text = "use std::{fs, thread};\nuse tokio::net::TcpStream;\n";
        for file in [
            "lb-userspace/src/daemon.rs",
            "lb-userspace/src/cli/run.rs",
            "tests/src/lab.rs",
        ] {
            assert_eq!(found(file, text), [""; 0], "{file}");
        }
    }

    #[test]
    fn a_new_file_of_the_daemon_is_pure_until_it_is_listed() {
        for file in [
            "lb-userspace/src/new.rs",
            "lb-userspace/src/client.rs",
            "lb-userspace/src/class/mod.rs",
        ] {
            assert_eq!(found(file, "use std::fs;"), ["1 std::fs"], "{file}");
        }
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
        assert_eq!(found(PURE_FILE, text), [""; 0]);
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
            assert_eq!(found(PURE_FILE, &text), ["1 std::fs"], "{quoted}");
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
        assert_eq!(found(PURE_FILE, text), ["5 unsafe"]);
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
            assert_eq!(found(PURE_FILE, &text), ["3 std::fs"], "{tests}");
        }
    }

    #[test]
    fn a_file_of_tests_is_exempt_from_purity_only() {
        let text = "use std::fs;\nunsafe fn f() {}\n";
        assert_eq!(
            found("lb-userspace/src/policy/tests.rs", text),
            ["2 unsafe"]
        );
        assert_eq!(
            found("lb-userspace/src/policy/tests/vectors.rs", text),
            ["2 unsafe"]
        );
    }

    #[test]
    fn unsafe_is_found_everywhere_but_in_the_listed_files() {
        let text = "#[unsafe(no_mangle)]\nstatic A: u8 = 0;\nunsafe impl Pod for X {}\n";
        assert_eq!(found("tests/src/lab.rs", text), ["1 unsafe", "3 unsafe"]);
        assert_eq!(found("lb-common/src/abi.rs", text), [""; 0]);
        assert_eq!(
            found("lb-common/src/flow.rs", "#![deny(unsafe_code)]"),
            [""; 0]
        );
    }

    #[test]
    fn a_file_that_is_no_longer_unsafe_is_to_leave_the_list() {
        assert_eq!(found("lb-common/src/abi.rs", "// unsafe"), ["1 unsafe"]);
    }

    #[test]
    fn a_list_that_names_what_is_not_there_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let error = check(root.path()).unwrap_err().to_string();
        assert!(error.ends_with("which does not exist"), "{error}");
    }

    #[test]
    fn one_breach_in_a_workspace_fails_the_check() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for path in ACTS {
            let is_file = path.ends_with(".rs");
            let file = if is_file {
                (*path).to_owned()
            } else {
                format!("{path}/mod.rs")
            };
            write(&file, "use std::fs;");
        }
        for file in UNSAFE {
            write(file, "unsafe fn f() {}");
        }
        write("target/debug/build/out.rs", "unsafe fn f() {}");
        check(root.path()).unwrap();
        write("lb-userspace/src/policy/mod.rs", "use std::fs;");
        assert_eq!(
            check(root.path()).unwrap_err().to_string(),
            "layers broken: 1"
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
