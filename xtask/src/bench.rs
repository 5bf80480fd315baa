//! `cargo xtask bench`

use anyhow::Result;

use crate::{setup, shell};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the benchmark itself understands (`-- --help`)
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    shell::require_root("benchmarks")?;
    setup::complete()?;
    // Not `--release`: what is measured runs in the kernel, and that is always built optimised.
    let mut bench = shell::cargo(["run", "-p", "lb-tests", "--bin", "bench", "--"]);
    shell::succeed(bench.args(&args.args))
}
