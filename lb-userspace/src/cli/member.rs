use std::str::FromStr;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::{Daemon, backend::done, unexpected};
use crate::{
    control::{Reply, Request},
    engine::{AdminChange, Override, Target},
    model::{Admin, Name},
};

/// Drain, disable, enable or weigh one member of one group.
///
/// It overrides the configuration, outlives the daemon, and shows in `waggle status` until it is
/// cleared; enabling what the file enables clears it, and so does `weight file`. Where the backend
/// itself is drained or disabled, the stricter of the two holds.
#[derive(Args, Debug)]
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
    /// Take part again.
    Enable,
    /// Set its weight.
    Weight {
        /// 1 to 1000, or `file` to go back to the configuration's.
        #[arg(value_name = "N|file")]
        weight: Weight,
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

#[derive(Clone, Copy, Debug)]
struct Weight(Option<u16>);

impl FromStr for Weight {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "file" => Ok(Self(None)),
            number => match number.parse() {
                Ok(weight) => Ok(Self(Some(weight))),
                Err(_) => bail!("write a number from 1 to 1000, or `file`"),
            },
        }
    }
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let Member { group, backend } = self.member;
        let (change, became) = match self.verb {
            Verb::Disable => (Override::Admin(Admin::Disable), done(Admin::Disable).into()),
            Verb::Drain => (Override::Admin(Admin::Drain), done(Admin::Drain).into()),
            Verb::Enable => (Override::Admin(Admin::Enable), done(Admin::Enable).into()),
            Verb::Weight {
                weight: Weight(Some(weight)),
            } => (
                Override::Weight(Some(weight)),
                format!("has weight {weight}"),
            ),
            Verb::Weight {
                weight: Weight(None),
            } => (
                Override::Weight(None),
                "has the configuration's weight".into(),
            ),
        };
        let said = format!("member {group}/{backend} {became}\n");
        let target = Target::Member { group, backend };
        match self
            .daemon
            .ask(&Request::Admin(AdminChange { target, change }))?
        {
            Reply::Done => Ok(said),
            other => Err(unexpected(&other)),
        }
    }
}
