//! The binary `waggle`.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;
use lb_userspace::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(said) => match io::stdout().lock().write_all(said.text.as_bytes()) {
            // Whoever reads has read enough: `waggle status | head`.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&error.into()),
            _ => said.lacks.map_or(ExitCode::SUCCESS, |error| fail(&error)),
        },
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    // Where nobody reads it, the exit status says enough.
    let _unread = writeln!(io::stderr(), "waggle: {error:#}");
    ExitCode::FAILURE
}
