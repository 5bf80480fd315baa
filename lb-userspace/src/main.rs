//! The binary `waggle`.

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;
use lb_userspace::cli::{Cli, unwritten};

/// The exit status of a plan that is not empty.
const CHANGES: u8 = 3;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(said) => match io::stdout().lock().write_all(said.text.as_bytes()) {
            // Whoever reads has read enough: `waggle status | head`.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(unwritten(error)),
            _ => match said.lacks {
                Some(refused) => fail(refused),
                None if said.changes => ExitCode::from(CHANGES),
                None => ExitCode::SUCCESS,
            },
        },
        Err(refused) => fail(refused),
    }
}

fn fail(refused: impl fmt::Display) -> ExitCode {
    // Where nobody reads it, the exit status says enough.
    let _unread = writeln!(io::stderr(), "{refused}");
    ExitCode::FAILURE
}
