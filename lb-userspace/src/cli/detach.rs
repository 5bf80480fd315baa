use std::path::PathBuf;

use clap::Args;

use super::examples;
use crate::{
    config,
    dataplane::{self, Detached},
    model::Edge,
    refusal::{Refused, pins::nothing_pinned},
};

/// Remove the program, its link and its tables, with or without a daemon.
///
/// Packets for the services are no longer steered from that moment on, and the flow table is lost.
/// End the daemon first, or it goes on with tables that no packet reads.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle detach --edge fra-1"]))]
pub(super) struct Arguments {
    /// Take the pins' place from this configuration.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edge", "pin_dir"])]
    config: Option<PathBuf>,
    /// Name of the edge, where its pins are in the default place.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["config", "pin_dir"])]
    edge: Option<String>,
    /// The pins' place.
    #[arg(long, value_name = "DIR", conflicts_with = "edge")]
    pin_dir: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let place = match (self.config, self.pin_dir, self.edge) {
            (Some(path), _, _) => config::load(&path)?.model.edge.pin_dir,
            (_, Some(pin_dir), _) => pin_dir,
            (_, _, edge) => Edge::default_pin_dir(&edge.unwrap_or_default()),
        };
        let detached = dataplane::detach(&place)?;
        if detached == Detached::default() {
            return Err(nothing_pinned(place.display()).into());
        }
        Ok(format!("{detached}\n"))
    }
}
