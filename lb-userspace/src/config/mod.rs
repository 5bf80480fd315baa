//! From a configuration file to a [`Model`].
//!
//! `raw` knows TOML, `leaf` single values; then one file per kind of table (`edge`, `backend`,
//! `service`, `group`, `probe`) says which keys there are and what they may hold, and `check` puts
//! them together and compares them with each other, `family` by their addresses and `sizes` with the
//! kernel's tables. All of that is pure. `load` and `listeners` look at the host.
//!
//! A new key is one line in the file of its table, a field of the model, and a paragraph in
//! `config/waggle.toml`.

pub mod assume;
mod backend;
mod check;
mod clients;
mod edge;
mod family;
mod group;
mod leaf;
mod listeners;
mod load;
mod names;
mod probe;
mod problem;
mod raw;
mod service;
mod sizes;
mod spelling;
mod summary;

#[cfg(test)]
mod tests;

pub use self::{
    listeners::warnings_of_this_host,
    load::{LoadError, load},
    problem::{Errors, Problem},
    summary::{GroupSummary, MapMemory, ServiceSummary, Summary, summary},
};

use self::problem::Report;
use crate::model::Model;

/// A configuration without a mistake.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checked {
    /// What it says.
    pub model: Model,
    /// What is allowed and yet looks unintended.
    pub warnings: Vec<Problem>,
}

/// What the text of a configuration file says.
///
/// # Errors
/// Every mistake of the text at once; only a text that is not TOML stops at the first.
pub fn parse(text: &str) -> Result<Checked, Errors> {
    let report = Report::default();
    let checked = raw::document(text, &report, check::file);
    report.verdict(checked)
}
