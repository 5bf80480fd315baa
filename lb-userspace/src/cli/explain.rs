mod classes;

use std::{net::IpAddr, path::PathBuf};

use clap::Args;

use super::{Daemon, Format, Said, examples, json, offline::Offline};
use crate::{
    control::{Reply, Request},
    policy::{Asked, Explanation, ServiceClasses, decide},
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
///
/// With `--all-classes` it tells in one line each what every class of clients gets, without stages and
/// proof.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle explain --service web --client 198.51.100.7", "waggle explain --service web --client 198.51.100.7 --config waggle.toml --assume assumed.toml", "waggle explain --service web --all-classes"]))]
pub(super) struct Arguments {
    /// The service.
    #[arg(long, value_name = "NAME")]
    service: String,
    /// The client.
    #[arg(long, value_name = "IP", required_unless_present = "all_classes")]
    client: Option<IpAddr>,
    /// All classes of clients instead of one client.
    #[arg(long, conflicts_with = "client")]
    all_classes: bool,
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
        match self.client {
            Some(client) => self.explain(client),
            None => self.explain_classes(),
        }
    }

    fn explain(&self, client: IpAddr) -> Result<Said, Refused> {
        let explanation = match self.offline()? {
            Some(offline) => explain(&offline, &self.service, client)?,
            None => {
                let service = self.service.clone();
                let request = Request::Explain { service, client };
                self.daemon.ask(&request, |reply| match reply {
                    Reply::Explained(explanation) => Some(*explanation),
                    _ => None,
                })?
            }
        };
        let text = self.format.print(&explanation)?;
        let proof = explanation.proof.as_ref();
        Ok(Said {
            lacks: proof.and_then(Judgement::refusal).map(Into::into),
            ..text.into()
        })
    }

    fn explain_classes(&self) -> Result<Said, Refused> {
        let classes = match self.offline()? {
            Some(offline) => {
                let Offline { model, clients, .. } = &offline;
                let service = model.service(&self.service)?;
                ServiceClasses::of(clients, &offline.scene(), service, ring)
            }
            None => {
                let service = self.service.clone();
                let request = Request::ExplainClasses { service };
                self.daemon.ask(&request, |reply| match reply {
                    Reply::Classes(classes) => Some(*classes),
                    _ => None,
                })?
            }
        };
        match self.format {
            Format::Json => json(&classes).map(Into::into),
            Format::Text => Ok(classes::text(&classes).into()),
        }
    }

    fn offline(&self) -> Result<Option<Offline>, Refused> {
        let assume = self.assume.as_deref();
        let offline = |path: &PathBuf| Offline::load(path, assume);
        self.config.as_ref().map(offline).transpose()
    }
}

fn explain(offline: &Offline, service: &str, client: IpAddr) -> Result<Explanation, Refused> {
    let Offline { model, clients, .. } = offline;
    let service = model.service(service)?;
    let asked = Asked::new(service, client, clients, &model.whereabouts)?;
    let route = service.route_for(asked.client, &model.whereabouts);
    let group = match route.leads_to() {
        Ok(group) => group,
        Err(answer) => return Ok(Explanation::of_answer(asked, answer.into())),
    };
    let client = clients.client(model, group, asked.class);
    let decision = decide(&offline.scene(), group, &client);
    let ring = ring(group, &spread(&model.backends, &decision));
    Ok(Explanation::of_decision(
        asked,
        &model.groups,
        &decision,
        &ring,
    ))
}
