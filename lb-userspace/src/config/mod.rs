//! From a configuration file to a [`Model`].
//!
//! `raw` knows TOML, `leaf` single values; then one file per kind of table (`edge`, `backend`,
//! `service`, `group`, `probe`, `whereabouts`) says which keys there are and what they may hold, and
//! `check` puts them together and compares them with each other, `family` by their addresses and `sizes`
//! with the kernel's tables. `data` makes tables of the files that `whereabouts` names. All of that is pure.
//! `load`, `listeners` and `own_ports` look at the host.
//!
//! A new key is one line in the file of its table, a field of the model, and a paragraph in
//! `config/waggle.toml`.

mod affinity;
pub mod assume;
mod authorities;
mod backend;
mod check;
mod clients;
mod data;
mod edge;
mod family;
mod group;
mod leaf;
mod listeners;
mod load;
mod member;
mod names;
mod nat;
mod nesting;
mod on_down;
mod own_ports;
mod preset;
mod probe;
mod raw;
mod report;
mod rings;
mod service;
mod sizes;
mod spelling;
mod stages;
mod summary;
mod tunnels;
mod whereabouts;

#[cfg(test)]
mod tests;

pub use self::{
    load::{load, load_text, stamp, text},
    own_ports::own_ports,
    summary::{GroupSummary, MapMemory, ServiceSummary, Summary, WhereaboutsSummary},
};

/// Warnings about what a configuration means on this host, which a file alone does not tell.
pub fn warnings_of_this_host(model: &Model) -> Vec<Problem> {
    let mut warnings = listeners::warnings(model);
    warnings.extend(own_ports(model));
    warnings
}

use self::{authorities::Host, report::Report, summary::summary};
use crate::{
    class::Clients,
    model::Model,
    refusal::{Errors, Problem},
};

/// A configuration without a mistake.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checked {
    /// What it says.
    pub model: Model,
    /// The classes of clients that follow from it.
    pub clients: Clients,
    /// What it means for people, and the sizes that it needs.
    pub summary: Summary,
    /// What is allowed and yet looks unintended.
    pub warnings: Vec<Problem>,
}

impl Checked {
    /// What follows from a model without a mistake.
    pub(crate) fn new(model: Model, warnings: Vec<Problem>) -> Self {
        let clients = Clients::of(&model);
        Self {
            summary: summary(&model, &clients),
            clients,
            model,
            warnings,
        }
    }
}

/// What the text of a configuration file says, on a host that has no other file.
///
/// # Errors
/// Every mistake of the text at once; only a text that is not TOML stops at the first.
pub fn parse(text: &str) -> Result<Checked, Errors> {
    parse_on(text, Host::empty())
}

/// The same on `host`.
fn parse_on(text: &str, host: Host<'_>) -> Result<Checked, Errors> {
    let report = Report::default();
    let checked = raw::document(text, &report, |root| check::file(root, host));
    report.verdict(checked)
}
