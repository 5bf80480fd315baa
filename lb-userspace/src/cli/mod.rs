//! The command line, one file per command.

mod backend;
mod check;
mod columns;
mod completions;
mod detach;
mod explain;
#[cfg(test)]
mod fixtures;
mod flows;
mod member;
mod names;
mod offline;
mod pinned;
mod plan;
mod reload;
mod run;
mod service;
mod status;
mod table;

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::{
    control::{Reply, Request, ask, find},
    engine::{AdminChange, Override, Subject},
    model::{Edge, Model, Name},
    refusal::{
        Refusal, Refused,
        command::{bad_answer, several_tables, unwritten_output},
    },
};

/// Waggle: a layer-4 load balancer that steers packets in XDP to the backends that serve each
/// client best.
///
/// A daemon (`waggle run`) probes the backends and writes the kernel's tables; every other command
/// asks it, or works on a file. Exit status: 0 done, 1 refused or failed, 2 wrong usage; 3 is `plan`'s
/// when something changes.
#[derive(Debug, Parser)]
#[command(name = "waggle", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Backend(backend::Arguments),
    Check(check::Arguments),
    Completions(completions::Arguments),
    Detach(detach::Arguments),
    Explain(explain::Arguments),
    Flows(flows::Arguments),
    Member(member::Arguments),
    Plan(plan::Arguments),
    Reload(reload::Arguments),
    Run(run::Arguments),
    Status(status::Arguments),
    Table(table::Arguments),
}

/// What a command has to say.
#[derive(Debug)]
pub struct Said {
    /// What to print.
    pub text: String,
    /// Why it is not all that was asked for, or not as it should be, if so: the exit status is 1.
    pub lacks: Option<Refused>,
    /// Whether a plan is not empty: the exit status is 3.
    pub changes: bool,
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self {
            text,
            lacks: None,
            changes: false,
        }
    }
}

impl Cli {
    /// Does what was asked and returns what to print.
    ///
    /// # Errors
    ///
    /// It was refused or failed; the error says why and how to mend it. Where a document for tools
    /// was asked for, [`Said::lacks`] has the error, and the document too.
    pub fn run(self) -> Result<Said, Refused> {
        let format = self.command.format();
        let said = match self.command {
            Command::Backend(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run().map(Said::from),
            Command::Completions(arguments) => Ok(arguments.run().into()),
            Command::Detach(arguments) => arguments.run().map(Said::from),
            Command::Explain(arguments) => arguments.run(),
            Command::Flows(arguments) => arguments.run().map(Said::from),
            Command::Member(arguments) => arguments.run(),
            Command::Plan(arguments) => arguments.run(),
            Command::Reload(arguments) => arguments.run(),
            Command::Run(arguments) => arguments.run().map(Said::from),
            Command::Status(arguments) => arguments.run(),
            Command::Table(arguments) => arguments.run().map(Said::from),
        };
        said.or_else(|refused| match format {
            Format::Json => Ok(Said {
                lacks: Some(refused.clone()),
                ..json(&refused)?.into()
            }),
            Format::Text => Err(refused),
        })
    }
}

impl Command {
    /// How it was asked to print.
    fn format(&self) -> Format {
        match self {
            Self::Check(arguments) => arguments.format,
            Self::Explain(arguments) => arguments.format,
            Self::Flows(arguments) => arguments.pinned.format,
            Self::Plan(arguments) => arguments.format,
            Self::Reload(arguments) => arguments.format,
            Self::Status(arguments) => arguments.format,
            Self::Table(arguments) => arguments.pinned.format,
            Self::Backend(_)
            | Self::Completions(_)
            | Self::Detach(_)
            | Self::Member(_)
            | Self::Run(_) => Format::Text,
        }
    }
}

/// Which daemon to ask.
#[derive(Args, Debug)]
struct Daemon {
    /// Name of the edge, where several run on this host.
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "control")]
    edge: Option<String>,
    /// Path of the daemon's control socket, where the configuration sets one.
    #[arg(long, global = true, value_name = "PATH")]
    control: Option<PathBuf>,
}

impl Daemon {
    /// Takes the place of the socket from a configuration, unless one was given.
    fn locate(&mut self, model: Option<&Model>) {
        if let (None, Some(model)) = (&self.control, model) {
            self.control = Some(model.edge.control.clone());
        }
    }

    /// Where a daemon that is gone has its pins, as far as that can be known.
    fn pin_dir(&self, model: Option<&Model>) -> Result<Option<PathBuf>, Refusal> {
        match (model, &self.edge, &self.control) {
            (Some(model), _, _) => Ok(Some(model.edge.pin_dir.clone())),
            (None, Some(edge), _) => Ok(Some(Edge::default_pin_dir(edge))),
            // Whose socket that is, nobody knows.
            (None, None, Some(_)) => Ok(None),
            (None, None, None) => only_directory(Path::new(Edge::PIN_ROOT)),
        }
    }

    /// Asks, and takes from the reply what `expected` finds in it.
    fn ask<T>(
        &self,
        request: &Request,
        expected: impl FnOnce(Reply) -> Option<T>,
    ) -> Result<T, Refused> {
        let path = match &self.control {
            Some(path) => path.clone(),
            None => find(self.edge.as_deref())?,
        };
        match ask(&path, request)? {
            Reply::Refused(refused) => Err(refused),
            reply => expected(reply)
                .ok_or_else(|| bad_answer(path.display(), "it answers another request").into()),
        }
    }

    /// Asks for a change and returns how its subject stands then.
    fn change(&self, subject: Subject, change: Override) -> Result<Said, Refused> {
        let request = Request::Admin(AdminChange { subject, change });
        let done = self.ask(&request, |reply| match reply {
            Reply::Done(lines) => Some(lines),
            _ => None,
        });
        done.map(|lines| Said::from(lines.join("\n") + "\n"))
    }
}

/// The only directory in `root`, if there is one at all.
fn only_directory(root: &Path) -> Result<Option<PathBuf>, Refusal> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let directories: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|it| it.is_dir())
        .collect();
    match directories.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => Err(several_tables(root.display())),
    }
}

/// How to print.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For tools: one JSON document.
    Json,
    /// For people.
    Text,
}

impl Format {
    /// The same view in either way.
    fn print(self, view: &(impl Serialize + fmt::Display)) -> Result<String, Refused> {
        match self {
            Self::Json => json(view),
            Self::Text => Ok(view.to_string()),
        }
    }
}

/// `a 3/10, b 7/10`: backends, and then answers in parentheses; words where there is but one.
fn distribution(shares: &BTreeMap<Name, String>, answers: &BTreeMap<String, String>) -> String {
    let mut all = shares
        .keys()
        .map(Name::as_str)
        .chain(answers.keys().map(String::as_str));
    match (all.next(), all.next(), answers.len()) {
        (Some(only), None, 0) => format!("all to {only}"),
        (Some("drop"), None, _) => "dropped".to_owned(),
        (Some("pass"), None, _) => "left to this host".to_owned(),
        (Some("reject"), None, _) => "rejected".to_owned(),
        _ => {
            let shares = shares.iter().map(|(name, part)| format!("{name} {part}"));
            let answers = answers
                .iter()
                .map(|(name, part)| format!("({name}) {part}"));
            shares.chain(answers).collect::<Vec<_>>().join(", ")
        }
    }
}

fn json(value: &impl Serialize) -> Result<String, Refused> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(unwritten_output)? + "\n")
}

/// What is to be said of an answer that could not be printed.
pub fn unwritten(error: io::Error) -> Refused {
    unwritten_output(error).into()
}

/// What stands at the end of a command's long help.
fn examples(commands: &[&str]) -> String {
    format!(
        "Examples:\n  {}\n\nExit status: 0 done, 1 refused or failed with a message on standard \
         error, 2 wrong usage.",
        commands.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_has_a_long_description_and_examples_that_are_no_wrong_usage() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_long_about().is_some(), "{name}");
            let end = command.get_after_long_help().unwrap().to_string();
            let examples: Vec<_> = end
                .lines()
                .filter_map(|line| line.strip_prefix("  "))
                .collect();
            assert!(!examples.is_empty(), "{name}");
            for example in examples {
                let words = example.split(' ').skip_while(|word| word.contains('='));
                let words = words.take_while(|word| *word != ">");
                let parsed = Cli::try_parse_from(words.clone());
                assert!(parsed.is_ok(), "{example}: {parsed:?}");
                assert_eq!(words.clone().nth(1), Some(name), "{example}");
            }
        }
    }
}
