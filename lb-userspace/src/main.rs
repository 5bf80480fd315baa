//! The binary `waggle`.

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;
use lb_userspace::cli::{Cli, unwritten};

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(said) => match io::stdout().lock().write_all(said.text.as_bytes()) {
            // Whoever reads has read enough: `waggle status | head`.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(unwritten(error)),
            _ => said.lacks.map_or(ExitCode::SUCCESS, fail),
        },
        Err(refused) => fail(refused),
    }
}

fn fail(refused: impl fmt::Display) -> ExitCode {
    // Where nobody reads it, the exit status says enough.
    let _unread = writeln!(io::stderr(), "{refused}");
    ExitCode::FAILURE
}
