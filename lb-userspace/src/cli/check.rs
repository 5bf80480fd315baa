use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;

use super::{Format, json};
use crate::config;

/// Check a configuration: all its errors at once, or what it means.
///
/// It needs no root and changes nothing. What it says of this host (for example of a service on an
/// address and port that something here listens on) holds for the host it runs on.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The configuration.
    file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let checked = config::load(&self.file)?;
        let mut warnings = checked.warnings;
        warnings.extend(config::warnings_of_this_host(&checked.model));
        for warning in &warnings {
            // Where nobody reads them, the rest is said all the same.
            let _unread = writeln!(io::stderr(), "warning: {warning}");
        }
        let summary = config::summary(&checked.model);
        match self.format {
            Format::Json => json(&summary),
            Format::Text => Ok(summary.to_string()),
        }
    }
}
