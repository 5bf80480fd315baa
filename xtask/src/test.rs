//! `cargo xtask test`

use std::{
    fmt,
    io::{self, BufRead as _, BufReader, IsTerminal as _},
};

use anyhow::{Context as _, Result, ensure};

use crate::{setup, shell};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the tests with one of these in their path
    filter: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    shell::require_root("the tests")?;
    setup::complete()?;
    println!("{}", everything(&args.filter)?);
    Ok(())
}

/// Runs the tests that match one of `filters`, or all; an error when one failed or none ran.
pub(crate) fn everything(filters: &[String]) -> Result<Summary> {
    // With the binaries: network tests start the `waggle` that lies beside them.
    shell::succeed(&mut shell::cargo([
        "build",
        "--workspace",
        "--bins",
        "--tests",
    ]))?;
    let summary = run_and_count(filters)?;
    for test in &summary.failures {
        println!("failed: {test}");
    }
    ensure!(summary.failed == 0, "{summary}");
    ensure!(
        summary.passed > 0,
        "no test ran: none has {filters:?} in its path"
    );
    Ok(summary)
}

/// Shows what cargo and the tests print, as they print it, and adds up the results.
fn run_and_count(filters: &[String]) -> Result<Summary> {
    let (reader, writer) = io::pipe().context("no pipe to the tests")?;
    let mut command = shell::cargo(["test", "--workspace", "--no-fail-fast", "--"]);
    command
        .args(filters)
        .stdout(writer.try_clone().context("no pipe to the tests")?)
        .stderr(writer);
    if io::stdout().is_terminal() {
        command.arg("--color=always");
    }
    let mut cargo = command.spawn().context("cargo did not start")?;
    // It holds the writing ends, and only when all are closed do the lines end.
    drop(command);
    let mut summary = Summary::default();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.context("the tests' output broke off")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        summary.add(&line);
    }
    let status = cargo.wait().context("cargo did not end")?;
    ensure!(
        status.success() || summary.failed > 0,
        "`cargo test`: {status}, and no failed test was named; {summary}"
    );
    Ok(summary)
}

/// What all test programs together said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    passed: u64,
    failed: u64,
    skipped: u64,
    failures: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
            failures: _,
        } = self;
        write!(f, "tests: {passed} passed, {failed} failed")?;
        if *skipped > 0 {
            write!(f, ", {skipped} skipped")?;
        }
        Ok(())
    }
}

impl Summary {
    /// Reads one line of a test program.
    fn add(&mut self, line: &str) {
        let line = without_colour(line);
        if let Some(result) = line.strip_prefix("test result: ") {
            for part in result.split([';', '.']) {
                match part.trim().split_once(' ') {
                    Some((count, "passed")) => self.passed += number(count),
                    Some((count, "failed")) => self.failed += number(count),
                    Some((count, "ignored")) => self.skipped += number(count),
                    _ => {}
                }
            }
        } else if let Some(test) = line.strip_prefix("test ")
            && let Some((name, "FAILED")) = test.rsplit_once(" ... ")
        {
            self.failures.push(name.to_owned());
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// The line without the escape sequences of a terminal (`ESC [ .. m`, `ESC ( B`).
fn without_colour(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(lines: &[&str]) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            summary.add(line);
        }
        summary
    }

    #[test]
    fn results_of_several_programs_add_up() {
        let lines = [
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test ring::every_slot_is_filled ... FAILED",
            "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
        ];
        let sum = summary(&lines);
        assert_eq!(sum.to_string(), "tests: 7 passed, 1 failed, 1 skipped");
        assert_eq!(sum.failures, ["ring::every_slot_is_filled"]);
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let lines = [
            "test a::b ... \x1b[31mFAILED\x1b[m",
            "test result: \x1b[31mFAILED\x1b(B\x1b[m. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ];
        let sum = summary(&lines);
        assert_eq!((sum.failed, sum.failures), (1, vec!["a::b".to_owned()]));
    }

    #[test]
    fn what_a_test_prints_is_not_a_result() {
        let lines = [
            "the test result: 5 passed",
            "test a ... ok",
            "test of the lab FAILED",
        ];
        assert_eq!(summary(&lines), Summary::default());
    }
}
