mod print;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use clap::Args;

use self::print::View;
use super::{
    examples,
    names::Names,
    pinned::{Pinned, Read},
};
use crate::{
    dataplane::Tables,
    refusal::{Refusal, Refused},
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
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    pub(super) pinned: Pinned,
}

/// Which part of the tables to show.
#[derive(Args, Debug)]
struct Wanted {
    /// Show only this service, by its name or as ADDRESS:PORT or ADDRESS:PORT/PROTOCOL.
    service: Option<String>,
    /// Show only the class that this client is of, and the services that it can reach.
    #[arg(long, value_name = "IP", conflicts_with = "class")]
    client: Option<IpAddr>,
    /// Show only this class.
    #[arg(long, value_name = "N")]
    class: Option<u32>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let format = self.pinned.format;
        let (wanted, Read { tables, names, .. }) = (self.wanted, self.pinned.read()?);
        format.print(&wanted.view(&tables, &names)?)
    }
}

impl Wanted {
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
