use std::path::{PathBuf, absolute};

use clap::Args;

use super::{Daemon, Format, examples, json, unexpected};
use crate::control::{Reloaded, Reply, Request};

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
    format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let path = self.file.map(absolute).transpose()?;
        let reloaded = match self.daemon.ask(&Request::Reload { path })? {
            Reply::Reloaded(reloaded) => reloaded,
            other => return Err(unexpected(&other)),
        };
        match self.format {
            Format::Json => json(&reloaded),
            Format::Text => Ok(text(&reloaded)),
        }
    }
}

fn text(Reloaded { changes, warnings }: &Reloaded) -> String {
    let mut lines = Vec::new();
    if changes.is_empty() {
        lines.push("nothing changed".to_owned());
    }
    lines.extend(changes.iter().cloned());
    lines.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n") + "\n"
}
