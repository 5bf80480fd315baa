//! A decision proven by the packet program in the kernel.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use anyhow::{Context as _, bail, ensure};
use lb_common::{Target, Tuple};
use tokio::{sync::mpsc, task};

use super::Daemon;
use crate::{
    control::{Question, Request},
    dataplane::{Prover, Unasked},
    model::{Identity, Name},
    policy::Explanation,
    proof::{Decided, Found, Judgement, flows, frame, judge},
    refusal::Refusal,
    table::{Ring, ring_key},
};

/// A prover, and the question that it was loaded for.
pub(super) type Loaded = (Result<Prover, Unasked>, Question);

/// The program that tells how it decides.
pub(super) struct Proving {
    /// Loaded for the first question, and kept; or why it could not be.
    prover: Option<Result<Prover, Unasked>>,
    loaded: mpsc::Sender<Loaded>,
}

impl Proving {
    /// Nothing is loaded yet; what will be comes out of the receiver.
    pub(super) fn new() -> (Self, mpsc::Receiver<Loaded>) {
        let (loaded, provers) = mpsc::channel(64);
        let prover = None;
        (Self { prover, loaded }, provers)
    }
}

impl Daemon {
    /// Answers a question, at once or when a prover is loaded for it. To load one takes far longer than
    /// to ask it, so that is done beside the loop, once.
    pub(super) fn take(&mut self, question: Question) {
        let is_explain = matches!(question.0, Request::Explain { .. });
        if !is_explain || !self.is_attached() || matches!(self.proving.prover, Some(Ok(_))) {
            return self.answer(question);
        }
        let edge = self.engine.model().edge.clone();
        let loaded = self.proving.loaded.clone();
        task::spawn_blocking(move || {
            let _the_daemon_ends = loaded.blocking_send((Prover::load(&edge), question));
        });
    }

    /// Answers a question whose prover was loaded, or could not be: the next one is told anew.
    pub(super) fn take_loaded(&mut self, (prover, question): Loaded) {
        self.proving.prover = Some(prover);
        self.answer(question);
    }

    /// Why clients of a service go where they go, with its proof.
    pub(super) fn explain(
        &mut self,
        service: &str,
        client: IpAddr,
    ) -> Result<Explanation, Refusal> {
        let mut explanation = self.engine.explain(service, client)?;
        self.look_at_the_interfaces();
        let proof = self.prove(&explanation);
        explanation.proof = Some(proof.unwrap_or_else(|error| Judgement::Unproven {
            why: format!("{error:#}"),
        }));
        Ok(explanation)
    }

    /// Asks the program and judges its answers. Nothing else happens meanwhile, so that the tables are
    /// those of the decision.
    fn prove(&self, explanation: &Explanation) -> anyhow::Result<Judgement> {
        ensure!(
            self.is_attached(),
            "the packet program is not on the interface; start the daemon anew to attach it"
        );
        ensure!(
            !explanation.undecided,
            "what was decided is not in force yet"
        );
        let prover = match &self.proving.prover {
            Some(Ok(prover)) => prover,
            Some(Err(error)) => bail!("{error}"),
            None => bail!("the packet program was not loaded for it"),
        };
        let model = self.engine.model();
        let service = model.service(explanation.service.as_str())?;
        let (key, client) = (service.key(), explanation.client);
        let route = service.route_for(client, &model.whereabouts);
        let image = self.engine.image().context("nothing was decided yet")?;
        let no_ring = Ring::default();
        let class = image.clients.class_of(client);
        let ring = route.group().and_then(|group| image.ring(group, class));
        let flows = flows(&key, client.into());
        let found = self.find(prover, &flows)?;
        let decided = Decided {
            explanation,
            ring: ring.unwrap_or(&no_ring),
            key: ring_key(&model.edge.ring_key),
            backends: &self.backends(),
            row: self.tables.row_for(&key, client),
            targets: &self.tables.targets().map(|(id, it)| (id, *it)).collect(),
            pending: self.pending.as_ref().map(|(_, why)| why.message.as_str()),
        };
        Ok(judge(&decided, &flows, &found))
    }

    /// What the kernel has and does for flows of one client.
    fn find(&self, prover: &Prover, flows: &[Tuple]) -> Result<Found, Unasked> {
        let station = self.station();
        let answers = flows.iter().map(|flow| prover.ask(&frame(station, flow)));
        let answers: Vec<_> = answers.collect::<Result<_, _>>()?;
        let ring = answers.first().map(|it| it.ring).unwrap_or_default();
        let slots = self.kernel.slots(ring);
        let ids: BTreeSet<u16> = slots
            .iter()
            .copied()
            .chain(answers.iter().map(|it| it.target))
            .collect();
        let targets: BTreeMap<u16, Target> = ids
            .into_iter()
            .filter_map(|id| Some((id, self.kernel.target(id)?)))
            .collect();
        Ok(Found {
            answers,
            slots,
            targets,
        })
    }

    /// The MAC address that packets for the services come to.
    fn station(&self) -> [u8; 6] {
        let mut known = self.tables.targets().map(|(_, target)| target.source);
        known.find(|source| *source != [0; 6]).unwrap_or_default()
    }

    fn backends(&self) -> BTreeMap<Identity, Name> {
        let backends = self.engine.model().backends.values();
        backends
            .map(|backend| (backend.identity(), backend.name.clone()))
            .collect()
    }
}
