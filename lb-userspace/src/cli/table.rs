mod print;
#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use clap::Args;

use self::print::View;
use super::{Daemon, Format, examples, json, names::Names};
use crate::{
    config,
    control::{Reply, Request, Status},
    dataplane::{Tables, look},
    model::{Edge, Model},
    refusal::{Refusal, Refused, kernel},
};

/// Show what packets go by: for each service its classes of clients, with their prefixes, the group and
/// its ring, and the slots of each backend.
///
/// It is read from the kernel's maps, with or without a daemon. Names are not in there: a daemon tells
/// them, or --config, and what nobody names is shown by its number or address. A class has its number
/// in the kernel, which is not the one that `waggle explain` gives by the configuration.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle table", "waggle table web --client 198.51.100.7", "waggle table --class 1 --config waggle.toml", "waggle table web --format json"]))]
pub(super) struct Arguments {
    /// Show only this service, by its name or as ADDRESS:PORT.
    service: Option<String>,
    /// Show only the class that this client is of, and the services that it can reach.
    #[arg(long, value_name = "IP", conflicts_with = "class")]
    client: Option<IpAddr>,
    /// Show only this class.
    #[arg(long, value_name = "N")]
    class: Option<u32>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Take the places of socket and pins, and the names, from this configuration.
    #[arg(long, value_name = "FILE", conflicts_with = "edge")]
    config: Option<PathBuf>,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(mut self) -> Result<String, Refused> {
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
        let tables = match (pin_dir, gone) {
            (Some(pin_dir), _) => read(&pin_dir)?,
            (None, Some(gone)) if self.daemon.control.is_some() => return Err(gone),
            (None, _) => return Err(kernel::no_pinned_tables(Edge::PIN_ROOT).into()),
        };
        let names = names(status.as_ref(), model.as_ref(), &tables);
        let view = self.view(&tables, &names)?;
        match self.format {
            Format::Json => json(&view),
            Format::Text => Ok(view.to_string()),
        }
    }

    fn status(&self) -> Result<Status, Refused> {
        self.daemon.ask(&Request::Status, |reply| match reply {
            Reply::Status(status) => Some(*status),
            _ => None,
        })
    }

    fn view(&self, tables: &Tables, names: &Names) -> Result<View, Refusal> {
        let mut view = View::of(tables, names);
        if let Some(service) = &self.service {
            view.keep_service(service)?;
        }
        if let Some(client) = self.client {
            view.keep_client(client.to_canonical(), tables)?;
        }
        if let Some(class) = self.class {
            view.keep_class(class)?;
        }
        Ok(view)
    }
}

/// What the maps hold that are pinned there.
fn read(pin_dir: &Path) -> Result<Tables, Refusal> {
    let left = look(pin_dir)?.ok_or_else(|| kernel::no_pinned_tables(pin_dir.display()))?;
    left.kernel.read_tables()
}

fn names(status: Option<&Status>, model: Option<&Model>, tables: &Tables) -> Names {
    match (status, model) {
        (Some(status), _) => Names::of_status(status, tables),
        (None, Some(model)) => Names::of_model(model),
        (None, None) => Names::default(),
    }
}
