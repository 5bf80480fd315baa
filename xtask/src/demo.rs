//! `cargo xtask demo`

use anyhow::Result;

use crate::{setup, shell};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build with optimisations
    #[arg(long)]
    release: bool,
    /// What the demo itself understands (`-- --help`)
    #[arg(last = true)]
    args: Vec<String>,
}

/// Builds the demo and the daemon that it starts from its own folder, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    shell::require_root("the demo's hosts")?;
    setup::complete()?;
    let profile = ["--profile", if args.release { "release" } else { "dev" }];
    let build = ["build", "--bin", "waggle", "--bin", "demo"];
    shell::succeed(shell::cargo(build).args(profile))?;
    let mut demo = shell::cargo(["run", "--quiet", "--bin", "demo"]);
    shell::succeed(demo.args(profile).arg("--").args(&args.args))
}
