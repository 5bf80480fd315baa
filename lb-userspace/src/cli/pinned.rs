//! The tables in the kernel, be it that a daemon runs or not, and who names what is in them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Daemon, Format, names::Names};
use crate::{
    config,
    control::{Reply, Request, Status},
    dataplane::{Kernel, Left, Tables, look},
    model::{Edge, Model},
    refusal::{Refusal, Refused, kernel::no_pinned_tables},
};

/// Whose tables to read, and how to show them.
#[derive(Args, Debug)]
pub(super) struct Pinned {
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Take the places of socket and pins, and the names, from this configuration.
    #[arg(long, value_name = "FILE", conflicts_with = "edge")]
    config: Option<PathBuf>,
    #[command(flatten)]
    daemon: Daemon,
}

/// What was read.
pub(super) struct Read {
    pub(super) kernel: Kernel,
    pub(super) tables: Tables,
    pub(super) names: Names,
}

impl Pinned {
    /// Reads the tables. A daemon tells their place and the names, or else the configuration.
    pub(super) fn read(mut self) -> Result<Read, Refused> {
        let checked = self.config.as_deref().map(config::load).transpose()?;
        let model = checked.map(|checked| checked.model);
        self.daemon.locate(model.as_ref());
        let (status, gone) = match self.status() {
            Ok(status) => (Some(status), None),
            Err(refused) if refused.has("no-daemon") => (None, Some(refused)),
            Err(refused) => return Err(refused),
        };
        let pin_dir = match &status {
            Some(status) => Some(status.edge.pin_dir.clone()),
            None => self.daemon.pin_dir(model.as_ref())?,
        };
        let pin_dir = match (pin_dir, gone) {
            (Some(pin_dir), _) => pin_dir,
            (None, Some(gone)) if self.daemon.control.is_some() => return Err(gone),
            (None, _) => return Err(no_pinned_tables(Edge::PIN_ROOT).into()),
        };
        let left = left(&pin_dir)?;
        let tables = left.kernel.read_tables()?;
        Ok(Read {
            names: names(status.as_ref(), model.as_ref(), &tables),
            kernel: left.kernel,
            tables,
        })
    }

    fn status(&self) -> Result<Status, Refused> {
        self.daemon.ask(&Request::Status, |reply| match reply {
            Reply::Status(status) => Some(*status),
            _ => None,
        })
    }
}

fn left(pin_dir: &Path) -> Result<Left, Refusal> {
    look(pin_dir)?.ok_or_else(|| no_pinned_tables(pin_dir.display()))
}

fn names(status: Option<&Status>, model: Option<&Model>, tables: &Tables) -> Names {
    match (status, model) {
        (Some(status), _) => Names::of_status(status, tables),
        (None, Some(model)) => Names::of_model(model),
        (None, None) => Names::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_daemon_one_edge_is_found_and_several_are_told_apart_by_their_names() {
        let root = tempfile::tempdir().unwrap();
        let found = || crate::cli::only_directory(root.path());
        assert_eq!(found().unwrap(), None);
        let [first, second] = ["fra-1", "fra-2"].map(|edge| root.path().join(edge));
        std::fs::create_dir(&first).unwrap();
        assert_eq!(found().unwrap(), Some(first.clone()));
        std::fs::create_dir(second).unwrap();
        assert_eq!(found().unwrap_err().code, "several-tables");
        let nothing = left(&first).err().unwrap();
        assert_eq!(nothing.code, "no-pinned-tables");
        assert!(nothing.message.contains("fra-1"), "{nothing}");
    }
}
