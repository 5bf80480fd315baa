use std::{net::IpAddr, path::PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::{Daemon, Format, json, unexpected};
use crate::{
    class::partition,
    config::{
        self,
        assume::{self, Assumed},
    },
    control::{Reply, Request},
    model::{Admin, Group, Health, MemberState, Name, Route},
    policy::{Asked, Explanation, Outcome, decide},
    table::{ring, shares},
};

/// Explain why clients of a service go where they go: every stage, who was kept, who was removed
/// and why, and the shares.
///
/// It asks the daemon, or works offline on a configuration (`--config`) with assumed health and
/// latencies (`--assume`).
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The service.
    #[arg(long, value_name = "NAME")]
    service: String,
    /// The client.
    #[arg(long, value_name = "IP")]
    client: IpAddr,
    /// Offline: the configuration.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edge", "control"])]
    config: Option<PathBuf>,
    /// Offline: what to assume of health and latency; what it does not name is up and unmeasured.
    #[arg(long, value_name = "FILE", requires = "config")]
    assume: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let explanation = match &self.config {
            Some(path) => self.offline(path)?,
            None => {
                let request = Request::Explain {
                    service: self.service,
                    client: self.client,
                };
                match self.daemon.ask(&request)? {
                    Reply::Explained(explanation) => *explanation,
                    other => return Err(unexpected(&other)),
                }
            }
        };
        match self.format {
            Format::Json => json(&explanation),
            Format::Text => Ok(explanation.to_string()),
        }
    }

    fn offline(&self, path: &std::path::Path) -> anyhow::Result<Explanation> {
        let model = config::load(path)?.model;
        let assumed = match &self.assume {
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                assume::parse(&text, &model.backends)
                    .with_context(|| format!("{} has mistakes", path.display()))?
            }
            None => Assumed::default(),
        };
        let service = model.service(&self.service)?;
        let asked = Asked::new(service, self.client, &partition(&model));
        let group = match service.route_for(asked.client) {
            Route::Drop => return Ok(Explanation::of_answer(asked, Outcome::Drop)),
            Route::Pass => return Ok(Explanation::of_answer(asked, Outcome::Pass)),
            Route::Group(group) => &model.groups[&group],
        };
        let decision = decide(group, &states(group, &assumed));
        let ring = ring(&group.name, &shares(group, &model.backends, &decision));
        Ok(Explanation::of_group(asked, group, &decision, &ring))
    }
}

fn states(group: &Group, assumed: &Assumed) -> Vec<MemberState> {
    let state = |backend: &Name| {
        let health = assumed.health.get(backend).copied().unwrap_or(Health::Up);
        MemberState {
            admin: Admin::Enable,
            unreachable: None,
            health,
            latency: assumed.latency.get(backend).copied(),
            why: match health {
                Health::Checking => "assumed to be checking",
                Health::Down => "assumed to be down",
                Health::Up => "assumed to be up",
            }
            .into(),
        }
    };
    group
        .members
        .iter()
        .map(|member| state(&member.backend))
        .collect()
}
