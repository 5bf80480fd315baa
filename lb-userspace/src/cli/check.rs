use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde::Serialize;

use super::{Format, examples, json};
use crate::{
    config::{self, Summary},
    refusal::{Problem, Refused},
};

/// Check a configuration: all its errors at once, or what it means.
///
/// It needs no root and changes nothing. What it says of this host (for example of a service on an
/// address and port that something here listens on) holds for the host it runs on.
///
/// `docs/errors.md` lists every error by its code, with what it means. With `--format json` the
/// document on standard output has `errors`, or the meaning and `warnings`; each with its code.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle check /etc/waggle/waggle.toml", "waggle check --format json waggle.toml"]))]
pub(super) struct Arguments {
    /// The configuration.
    file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let checked = config::load(&self.file)?;
        let (summary, mut warnings) = (checked.summary, checked.warnings);
        warnings.extend(config::warnings_of_this_host(&checked.model));
        match self.format {
            Format::Json => json(&Meaning { summary, warnings }),
            Format::Text => {
                for warning in &warnings {
                    // Where nobody reads them, the rest is said all the same.
                    let _unread = writeln!(io::stderr(), "{}", warning.warning());
                }
                Ok(summary.to_string())
            }
        }
    }
}

/// What `--format json` prints of a file without a mistake.
#[derive(Serialize)]
struct Meaning {
    #[serde(flatten)]
    summary: Summary,
    warnings: Vec<Problem>,
}
