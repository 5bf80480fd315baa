use std::path::{PathBuf, absolute};

use clap::Args;

use super::{Daemon, Format, Said, examples, json};
use crate::{
    control::{Reloaded, Reply, Request},
    refusal::{Problem, Refused, file::unreadable_file},
};

/// Take the configuration up again, whole or not at all.
///
/// It is refused, and nothing changes, if it has an error or does not fit into the kernel's tables.
/// Health, latencies and overrides of what stays are kept.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle reload", "waggle reload /etc/waggle/next.toml"]))]
pub(super) struct Arguments {
    /// Another file, to be used until the daemon is started anew; without it the one in use is read
    /// again.
    file: Option<PathBuf>,
    /// How to print what changed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Said, Refused> {
        let path = self.file.map(|file| {
            let path = absolute(&file);
            path.map_err(|error| unreadable_file(file.display(), error))
        });
        let path = path.transpose()?;
        let reloaded = self
            .daemon
            .ask(&Request::Reload { path }, |reply| match reply {
                Reply::Reloaded(reloaded) => Some(reloaded),
                _ => None,
            })?;
        match self.format {
            Format::Json => Ok(json(&reloaded)?.into()),
            Format::Text => Ok(text(&reloaded).into()),
        }
    }
}

fn text(Reloaded { changes, warnings }: &Reloaded) -> String {
    let mut lines = Vec::new();
    if changes.is_empty() {
        lines.push("nothing changed".to_owned());
    }
    lines.extend(changes.iter().cloned());
    lines.extend(warnings.iter().map(Problem::warning));
    lines.join("\n") + "\n"
}
