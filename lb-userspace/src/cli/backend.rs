use clap::{Args, Subcommand};

use super::{Daemon, Said, examples};
use crate::{
    engine::{Override, Subject},
    model::{Admin, Name},
    refusal::Refused,
};

/// Drain, disable, enable or reset a backend in all its groups.
///
/// It overrides the configuration, outlives the daemon, and shows in `waggle status` until it is
/// reset.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle backend drain a", "waggle backend reset a"]))]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// No new flows and no probes; running TCP flows end by themselves, others move.
    Disable(Which),
    /// No new flows; running ones go on to their end, and so do probes.
    Drain(Which),
    /// Take part, also where the configuration disables it.
    Enable(Which),
    /// What the configuration says, weights included.
    Reset(Which),
}

#[derive(Args, Debug)]
struct Which {
    /// The backend.
    name: Name,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Said, Refused> {
        let (which, change) = match self.verb {
            Verb::Disable(which) => (which, Override::Admin(Admin::Disable)),
            Verb::Drain(which) => (which, Override::Admin(Admin::Drain)),
            Verb::Enable(which) => (which, Override::Admin(Admin::Enable)),
            Verb::Reset(which) => (which, Override::Reset),
        };
        self.daemon.change(Subject::Backend(which.name), change)
    }
}
