//! The catalogue: everything that Waggle refuses or warns of, each with how to mend it.
//!
//! One file per area, one entry per refusal. An entry is the function that makes the [`Refusal`]:
//! what its texts have in braces are the arguments. There is no other way to make a refusal, and an
//! entry that nothing calls is dead code, so the catalogue is whole. `docs/errors.md` is made of the
//! entries, and an entry that no test provokes is a failing test.

/// The entries of an area: what it means, its code, its function, what is wrong, what would be right.
macro_rules! refusals {
    (
        $title:literal
        $(
            $(#[doc = $meaning:literal])+
            $code:literal $name:ident($($value:ident),*): $message:literal; $mend:literal;
        )+
    ) => {
        use super::{Area, Entry, Refusal};

        $(
            $(#[doc = $meaning])+
            pub(crate) fn $name($($value: impl std::fmt::Display),*) -> Refusal {
                Refusal {
                    code: std::borrow::Cow::Borrowed($code),
                    message: format!($message),
                    mend: format!($mend),
                }
            }
        )+

        pub(super) const AREA: Area = Area {
            title: $title,
            entries: &[$(
                Entry {
                    code: $code,
                    message: $message,
                    mend: $mend,
                    meaning: concat!($($meaning),+),
                }
            ),+],
        };
    };
}

pub(crate) mod command;
pub(crate) mod data;
pub(crate) mod edge;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod notice;
pub(crate) mod operator;
pub(crate) mod pins;
pub(crate) mod probe;
mod problem;
pub(crate) mod program;
pub(crate) mod room;
pub(crate) mod service;
pub(crate) mod size;
pub(crate) mod value;
pub(crate) mod warning;

use std::borrow::Cow;

pub use self::problem::{Errors, Problem, Refused};

/// What the catalogue calls a refusal. It stays when the texts become better.
pub type Code = Cow<'static, str>;

/// Why something was refused, or what was warned of.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}; {mend}")]
pub struct Refusal {
    /// What the catalogue calls it.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub mend: String,
}

impl Refusal {
    /// The same, told after how things stand.
    pub(crate) fn after(mut self, standing: &str) -> Self {
        self.message = format!("{standing}: {}", self.message);
        self
    }
}

/// What an error says, with all that caused it, in one line.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some errors tell their cause themselves.
        if !line.contains(&text) {
            line += &format!(": {text}");
        }
        cause = error.source();
    }
    line
}

/// One line of the catalogue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    /// What it is called, in kebab-case.
    pub code: &'static str,
    /// What is wrong; a name in braces stands for a value, as in [`format!`].
    pub message: &'static str,
    /// What would be right, in the same form.
    pub mend: &'static str,
    /// When it comes, and what it means.
    pub meaning: &'static str,
}

/// Entries that belong together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Area {
    /// Their heading.
    pub title: &'static str,
    /// In the order of the file.
    pub entries: &'static [Entry],
}

/// What the engine refuses an operator.
pub const CONTROL: &[Area] = &[operator::AREA];

/// What daemon and command line refuse otherwise, or warn of.
pub const OPERATION: &[Area] = &[
    host::AREA,
    edge::AREA,
    pins::AREA,
    program::AREA,
    room::AREA,
    command::AREA,
    kernel::AREA,
    notice::AREA,
];

/// What can be wrong with a configuration file.
pub const CONFIGURATION: &[Area] = &[
    file::AREA,
    value::AREA,
    service::AREA,
    group::AREA,
    data::AREA,
    probe::AREA,
    size::AREA,
    warning::AREA,
];

#[cfg(test)]
mod tests;
