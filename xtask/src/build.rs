//! `cargo xtask build`

use anyhow::Result;

use crate::{setup, shell};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build with optimisations
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    setup::require_to_build()?;
    let release = args.release.then_some("--release");
    shell::succeed(&mut shell::cargo(["build"].into_iter().chain(release)))
}
