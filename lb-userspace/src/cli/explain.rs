use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Daemon, Format, Said, examples, json};
use crate::{
    class::Clients,
    config::{
        self,
        assume::{self, Assumed},
    },
    control::{Reply, Request},
    model::{Admin, Group, Health, Initial, MemberState, Name, Ramp, Route},
    policy::{Asked, Explanation, Outcome, Scene, decide},
    proof::Judgement,
    refusal::Refused,
    table::{ring, spread},
};

/// Explain why clients of a service go where they go: every stage, who was kept, who was removed
/// and why, and the shares.
///
/// It asks the daemon, which proves the answer: 1,000 flows of the client go through the packet program
/// in the kernel, by the tables in use, and leave no trace. If it does something else than was decided,
/// that is said and the exit status is 1. Or it works offline on a configuration (`--config`) with
/// assumed health and latencies (`--assume`).
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle explain --service web --client 198.51.100.7", "waggle explain --service web --client 198.51.100.7 --config waggle.toml --assume assumed.toml"]))]
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
    pub(super) format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Said, Refused> {
        let explanation = match &self.config {
            Some(path) => self.offline(path)?,
            None => {
                let request = Request::Explain {
                    service: self.service,
                    client: self.client,
                };
                self.daemon.ask(&request, |reply| match reply {
                    Reply::Explained(explanation) => Some(*explanation),
                    _ => None,
                })?
            }
        };
        let text = match self.format {
            Format::Json => json(&explanation)?,
            Format::Text => explanation.to_string(),
        };
        let proof = explanation.proof.as_ref();
        let lacks = proof.and_then(Judgement::refusal).map(Into::into);
        Ok(Said { text, lacks })
    }

    fn offline(&self, path: &Path) -> Result<Explanation, Refused> {
        let model = config::load(path)?.model;
        let assumed = match &self.assume {
            Some(path) => {
                let assumed = assume::parse(&config::text(path)?, &model.backends);
                assumed.map_err(|errors| Refused::file(path, errors))?
            }
            None => Assumed::default(),
        };
        let service = model.service(&self.service)?;
        let clients = Clients::of(&model);
        let asked = Asked::new(service, self.client, &clients, &model.whereabouts)?;
        let group = match service.route_for(asked.client, &model.whereabouts) {
            Route::Drop => return Ok(Explanation::of_answer(asked, Outcome::Drop)),
            Route::Pass => return Ok(Explanation::of_answer(asked, Outcome::Pass)),
            Route::Reject => return Ok(Explanation::of_answer(asked, Outcome::Reject)),
            Route::Group(group) => group,
        };
        let states = model.groups.iter();
        let states = states.map(|(name, group)| (name.clone(), states_of(group, &assumed)));
        let scene = Scene {
            groups: &model.groups,
            backends: &model.backends,
            states: &states.collect(),
        };
        let decision = decide(&scene, &group, &clients.client(&model, &group, asked.class));
        let ring = ring(&group, &spread(&model.backends, &decision));
        Ok(Explanation::of_decision(
            asked,
            &model.groups,
            &decision,
            &ring,
        ))
    }
}

fn states_of(group: &Group, assumed: &Assumed) -> Vec<MemberState> {
    let probe = group.probe.as_ref();
    let state = |backend: &Name| {
        let health = assumed.health.get(backend).copied().unwrap_or(Health::Up);
        MemberState {
            admin: Admin::Enable,
            unreachable: None,
            health,
            serves_unchecked: probe.is_some_and(|probe| probe.initial == Initial::Checking),
            ramp: Ramp::FULL,
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
        .map(|member| state(member.name()))
        .collect()
}
