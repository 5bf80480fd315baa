//! `cargo xtask setup`
//!
//! Brings a Debian 12 that has rustup, build-essential and root to where everything builds and
//! every test runs. It looks first and installs only what is missing, so it may run every time.

mod apt;
mod linker;
mod needs;
mod toolchain;

use anyhow::{Result, ensure};

use needs::Need;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Only tell what is missing
    #[arg(long)]
    check: bool,
}

/// Something that could not be set up, and why.
struct Failure {
    what: String,
    why: String,
}

/// Prints a line for every need and, unless only asked to look, installs what is missing.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (there, missing): (Vec<_>, Vec<_>) = needs::all().into_iter().partition(Need::is_met);
    for need in there {
        println!("have     {need}");
    }
    if !args.check {
        return install(&missing);
    }
    for need in &missing {
        println!("missing  {need}");
    }
    ensure!(
        missing.is_empty(),
        "{} missing: run `cargo xtask setup`",
        missing.len()
    );
    Ok(())
}

/// Installs what is missing; says nothing when that is nothing.
pub(crate) fn complete() -> Result<()> {
    let missing = needs::all()
        .into_iter()
        .filter(|need| !need.is_met())
        .collect::<Vec<_>>();
    install(&missing)
}

/// An error with the mend when something is missing without which nothing builds.
pub(crate) fn require_to_build() -> Result<()> {
    for need in needs::to_build() {
        ensure!(need.is_met(), "{need} is missing: run `cargo xtask setup`");
    }
    Ok(())
}

/// Whether a program of this name can be started.
pub(crate) fn has_program(name: &str) -> bool {
    needs::find_program(name).is_some()
}

fn install(missing: &[Need]) -> Result<()> {
    let components = missing.iter().filter_map(Need::component);
    let mut failures = toolchain::add(components);
    let packages = missing.iter().filter_map(Need::package).collect::<Vec<_>>();
    failures.extend(apt::install(&packages));
    if missing.contains(&Need::Linker) {
        failures.extend(linker::install().err().map(|error| Failure {
            what: Need::Linker.to_string(),
            why: format!("{error:#}"),
        }));
    }
    for Failure { what, why } in &failures {
        println!("failed   {what}: {why}");
    }
    ensure!(
        failures.is_empty(),
        "{} of what Waggle needs could not be set up",
        failures.len()
    );
    Ok(())
}
