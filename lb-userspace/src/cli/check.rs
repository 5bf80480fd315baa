use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;

use serde::Serialize;

use super::{Format, examples, json};
use crate::config::{self, LoadError, Problem, Summary};

/// Check a configuration: all its errors at once, or what it means.
///
/// It needs no root and changes nothing. What it says of this host (for example of a service on an
/// address and port that something here listens on) holds for the host it runs on.
///
/// `docs/errors.md` lists every error with what it means. With `--format json` the document on
/// standard output has `errors`, or the meaning and `warnings`; each with its code.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle check /etc/waggle/waggle.toml", "waggle check --format json waggle.toml"]))]
pub(super) struct Arguments {
    /// The configuration.
    file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let checked = config::load(&self.file).or_else(|error| self.refuse(error))?;
        let mut warnings = checked.warnings;
        warnings.extend(config::warnings_of_this_host(&checked.model));
        let summary = config::summary(&checked.model);
        match self.format {
            Format::Json => json(&Meaning { summary, warnings }),
            Format::Text => {
                for warning in &warnings {
                    // Where nobody reads them, the rest is said all the same.
                    let _unread = writeln!(io::stderr(), "warning: {warning}");
                }
                Ok(summary.to_string())
            }
        }
    }

    /// For tools the mistakes go to standard output, so that each of its two forms is one document.
    fn refuse<T>(&self, error: LoadError) -> anyhow::Result<T> {
        let LoadError::Mistakes { path, errors } = error else {
            return Err(error.into());
        };
        if matches!(self.format, Format::Text) {
            return Err(LoadError::Mistakes { path, errors }.into());
        }
        let document = json(&Mistakes { errors: &errors.0 })?;
        // Where nobody reads it, the exit status says enough.
        let _unread = io::stdout().write_all(document.as_bytes());
        anyhow::bail!("{} has {} mistakes", path.display(), errors.0.len())
    }
}

/// What `--format json` prints of a file without a mistake.
#[derive(Serialize)]
struct Meaning {
    #[serde(flatten)]
    summary: Summary,
    warnings: Vec<Problem>,
}

/// What `--format json` prints of a file with mistakes.
#[derive(Serialize)]
struct Mistakes<'a> {
    errors: &'a [Problem],
}
