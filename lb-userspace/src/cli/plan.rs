mod print;

use std::path::{Path, PathBuf, absolute};

use clap::Args;

use super::{
    Daemon, Format, Said, json,
    offline::{Offline, assumed},
};
use crate::{
    config,
    control::{Reply, Request},
    plan::{Plan, plan},
    refusal::{Refused, file::unreadable_file},
};

/// Show what a configuration would change, and change nothing: services, groups and backends, and for
/// each service which part of the clients' addresses gets something else, from what to what.
///
/// It asks the daemon, which compares the file with what is in use, by the health, latencies and overrides
/// of now, and says how many flows each backend holds. Members that nobody has observed yet are
/// assumed to be up. With `--against` it compares two files offline: all members are up, or as `--assume` says.
#[derive(Args, Debug)]
#[command(
    after_long_help = "Examples:\n  waggle plan next.toml\n  waggle plan next.toml --against /etc/waggle/waggle.toml\n\n\
    Exit status: 0 nothing changes, 1 refused or failed with a message on standard error, 2 wrong usage, \
    3 something changes."
)]
pub(super) struct Arguments {
    /// The configuration that would be taken up.
    file: PathBuf,
    /// Offline: the configuration that it is compared with.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edge", "control"])]
    against: Option<PathBuf>,
    /// Offline: what to assume of health and latency; what it does not name is up and unmeasured.
    #[arg(long, value_name = "FILE", requires = "against")]
    assume: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Said, Refused> {
        let plan = match &self.against {
            Some(old) => self.offline(old)?,
            None => {
                let path = absolute(&self.file);
                let path = path.map_err(|error| unreadable_file(self.file.display(), error))?;
                self.daemon
                    .ask(&Request::Plan { path }, |reply| match reply {
                        Reply::Planned(plan) => Some(*plan),
                        _ => None,
                    })?
            }
        };
        let text = match self.format {
            Format::Json => json(&plan)?,
            Format::Text => print::text(&plan),
        };
        Ok(Said {
            changes: !plan.is_empty(),
            ..text.into()
        })
    }

    fn offline(&self, old: &Path) -> Result<Plan, Refused> {
        let [old, new] = [config::load(old)?, config::load(&self.file)?];
        let mut backends = old.model.backends.clone();
        backends.extend(new.model.backends.clone());
        let assumed = assumed(self.assume.as_deref(), &backends)?;
        let [old, new] = [old, new].map(|checked| Offline::new(checked, &assumed));
        Ok(plan(&old.side(), &new.side()))
    }
}
