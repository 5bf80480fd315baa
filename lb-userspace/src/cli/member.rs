use std::str::FromStr;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::{Daemon, examples};
use crate::{
    engine::{Override, Subject},
    model::{Admin, Name},
};

/// Drain, disable, enable, weigh or reset one member of one group.
///
/// It overrides the configuration, outlives the daemon, and shows in `waggle status` until it is
/// reset. Where the backend itself is drained or disabled, the stricter of the two holds.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle member web/a weight 10", "waggle member web/a reset"]))]
pub(super) struct Arguments {
    /// Group and backend, as in `web/a`.
    #[arg(value_name = "GROUP/NAME")]
    member: Member,
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// No new flows and no probes for this group; running TCP flows end by themselves.
    Disable,
    /// No new flows; running ones go on to their end, and so do probes.
    Drain,
    /// Take part, also where the configuration disables it.
    Enable,
    /// What the configuration says, weight included.
    Reset,
    /// Set its weight.
    Weight {
        /// 1 to 1000, relative to the other members'.
        #[arg(value_name = "N")]
        weight: u16,
    },
}

#[derive(Clone, Debug)]
struct Member {
    group: Name,
    backend: Name,
}

impl FromStr for Member {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let Some((group, backend)) = text.split_once('/') else {
            bail!("write it as GROUP/NAME, for example web/a");
        };
        Ok(Self {
            group: group.parse()?,
            backend: backend.parse()?,
        })
    }
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let Member { group, backend } = self.member;
        let change = match self.verb {
            Verb::Disable => Override::Admin(Admin::Disable),
            Verb::Drain => Override::Admin(Admin::Drain),
            Verb::Enable => Override::Admin(Admin::Enable),
            Verb::Reset => Override::Reset,
            Verb::Weight { weight } => Override::Weight(weight),
        };
        self.daemon
            .change(Subject::Member { group, backend }, change)
    }
}
