use clap::{Args, Subcommand};

use super::{Daemon, unexpected};
use crate::{
    control::{Reply, Request},
    engine::{AdminChange, Override, Target},
    model::{Admin, Name},
};

/// Drain, disable or enable a backend in all its groups.
///
/// It overrides the configuration, outlives the daemon, and shows in `waggle status` until it is
/// cleared; enabling what the file enables clears it.
#[derive(Args, Debug)]
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
    /// Take part again.
    Enable(Which),
}

#[derive(Args, Debug)]
struct Which {
    /// The backend.
    name: Name,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let (which, admin) = match self.verb {
            Verb::Disable(which) => (which, Admin::Disable),
            Verb::Drain(which) => (which, Admin::Drain),
            Verb::Enable(which) => (which, Admin::Enable),
        };
        let change = AdminChange {
            target: Target::Backend(which.name.clone()),
            change: Override::Admin(admin),
        };
        match self.daemon.ask(&Request::Admin(change))? {
            Reply::Done => Ok(format!("backend {} {}\n", which.name, done(admin))),
            other => Err(unexpected(&other)),
        }
    }
}

/// What became of it, for people.
pub(super) fn done(admin: Admin) -> &'static str {
    match admin {
        Admin::Disable => "disabled: no new flows, no probes",
        Admin::Drain => "drains: no new flows, running ones go on",
        Admin::Enable => "enabled",
    }
}
