use std::str::FromStr;

use clap::{Args, Subcommand};

use super::{Daemon, Said, examples};
use crate::{
    engine::{Override, Subject},
    model::{Admin, Name},
    refusal::{Refusal, Refused, command::bad_member, value::bad_name},
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
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let (group, backend) = text.split_once('/').ok_or_else(|| bad_member(text))?;
        Ok(Self {
            group: name(group)?,
            backend: name(backend)?,
        })
    }
}

fn name(text: &str) -> Result<Name, Refusal> {
    text.parse()
        .map_err(|rule| bad_name(format_args!("`{text}`"), rule))
}

impl Arguments {
    pub(super) fn run(self) -> Result<Said, Refused> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_a_group_and_a_backend() {
        let code = |text: &str| text.parse::<Member>().map_err(|refusal| refusal.code);
        assert!(code("web/a").is_ok());
        for text in ["", "web", "web,a"] {
            assert_eq!(code(text).unwrap_err(), "bad-member", "{text}");
        }
        for text in ["/", "web/", "/a", "web/a/b", "web /a"] {
            assert_eq!(code(text).unwrap_err(), "bad-name", "{text}");
        }
    }
}
