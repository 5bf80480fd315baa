//! `cargo xtask bench`

use anyhow::Result;

use crate::{setup, shell};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What is measured
    #[arg(value_enum, default_value_t = Subject::Packets)]
    subject: Subject,
    /// What the benchmark itself understands (`-- --help`)
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Subject {
    /// What a packet costs in the kernel, beside two other programs
    Packets,
    /// What a whole connection costs, beside haproxy and nginx `stream`
    Connections,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    shell::require_root("benchmarks")?;
    setup::complete()?;
    let bench = match args.subject {
        Subject::Packets => "bench",
        Subject::Connections => {
            // It starts the daemon from its own folder.
            shell::succeed(&mut shell::cargo(["build", "-p", "lb-userspace"]))?;
            "connections"
        }
    };
    // Not `--release`: what is measured runs in the kernel, and that is always built optimised.
    let mut bench = shell::cargo(["run", "-p", "lb-tests", "--bin", bench, "--"]);
    shell::succeed(bench.args(&args.args))
}
