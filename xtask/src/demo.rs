//! `cargo xtask demo`

use anyhow::Result;

use crate::{setup, shell};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Build with optimisations
    #[arg(long)]
    release: bool,
}

/// Builds the demo and the programs that it starts from its own folder, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    shell::require_root("the demo's hosts")?;
    setup::complete()?;
    let profile = ["--profile", if args.release { "release" } else { "dev" }];
    shell::succeed(shell::cargo(["build", "--workspace", "--bins"]).args(profile))?;
    shell::succeed(shell::cargo(["run", "--quiet", "--bin", "demo"]).args(profile))
}
