use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::{Cli, examples};

/// Print the completions of a shell.
///
/// They are made of the commands of this very binary, so print them anew after an upgrade.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&[
    "waggle completions bash > /etc/bash_completion.d/waggle",
    "waggle completions fish > ~/.config/fish/completions/waggle.fish",
]))]
pub(super) struct Arguments {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Arguments {
    pub(super) fn run(self) -> String {
        let mut text = Vec::new();
        generate(self.shell, &mut Cli::command(), "waggle", &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}
