use std::collections::{BTreeMap, BTreeSet};

use lb_common::{Answer, Descriptor, Proof, Target, Tuple, VERDICTS, Verdict};

use super::{Decided, Difference, Found, Judgement, Run, chance::likely};
use crate::{
    model::{Departure, Identity, Mac},
    policy::Outcome,
    table::{Destination, slots_hash},
};

/// Holds what the kernel does for `flows` against the decision.
pub fn judge(decided: &Decided<'_>, flows: &[Tuple], found: &Found) -> Judgement {
    let case = Case {
        decided,
        flows,
        found,
    };
    let run = case.run();
    let differences = case.differences(&run);
    match differences.is_empty() {
        true => Judgement::Holds(run),
        false => Judgement::Differs { run, differences },
    }
}

struct Case<'a> {
    decided: &'a Decided<'a>,
    flows: &'a [Tuple],
    found: &'a Found,
}

impl Case<'_> {
    fn run(&self) -> Run {
        let answers = || self.found.answers.iter();
        Run {
            flows: answers().len(),
            class: answers().next().map_or(0, |it| it.class),
            ring: self.ring_found(),
            backends: count(answers().filter(|it| it.target != 0), |it| {
                self.backend_found(it.target)
            }),
            verdicts: count(answers(), |it| label(it.verdict).to_owned()),
        }
    }

    fn differences(&self, run: &Run) -> Vec<Difference> {
        let Some((class, descriptor)) = self.decided.row else {
            let mut all = vec![difference("service", "published", "not in the tables")];
            all.extend(self.pending());
            return all;
        };
        let mut all = Vec::new();
        all.extend(self.other_class(class));
        all.extend(self.other_descriptor(descriptor));
        all.extend(self.other_verdict());
        all.extend(self.other_ring(run));
        all.extend(self.other_targets());
        all.extend(self.other_backends());
        all.extend(self.unlikely(run));
        if !all.is_empty() {
            all.extend(self.pending());
        }
        all
    }

    fn pending(&self) -> Option<Difference> {
        let why = self.decided.pending?;
        Some(difference(
            Difference::TABLES,
            "all written",
            format!("they wait: {why}"),
        ))
    }

    fn other_class(&self, class: u32) -> Option<Difference> {
        let found = self.other(&class, |it| it.class)?;
        Some(difference("class", class, found))
    }

    fn other_descriptor(&self, descriptor: Descriptor) -> Option<Difference> {
        let shown = described(descriptor);
        let found = self.other(&shown, |it| described(it.ring))?;
        Some(difference("descriptor", shown, found))
    }

    fn other_verdict(&self) -> Option<Difference> {
        let verdict = self.verdict();
        if verdict == Verdict::Forwarded && self.has_answers() {
            return self.other_verdict_of_slot();
        }
        let verdict = verdict.label();
        let found = self.other(&verdict, |it| label(it.verdict))?;
        Some(difference("verdict", verdict, found))
    }

    fn has_answers(&self) -> bool {
        let mut slots = self.decided.ring.slots.iter();
        slots.any(|slot| Answer::of_slot(*slot).is_some())
    }

    /// Flows that do not end as what is in their slot of the decided ring says.
    fn other_verdict_of_slot(&self) -> Option<Difference> {
        let decided = |flow: &Tuple| match self.slot_decided(flow).and_then(Answer::of_slot) {
            None => Verdict::Forwarded,
            Some(Answer::PASS) => Verdict::PolicyPassed,
            Some(Answer::REJECT) => Verdict::Rejected,
            Some(_) => Verdict::PolicyDropped,
        };
        let both = self.flows.iter().zip(&self.found.answers);
        let both = both.map(|(flow, answer)| (decided(flow).label(), label(answer.verdict)));
        let others: Vec<_> = both.filter(|(decided, found)| decided != found).collect();
        let wanted = count(others.iter(), |it| it.0.to_owned());
        let found = count(others.iter(), |it| it.1.to_owned());
        (!others.is_empty()).then(|| difference("verdict", with_flows(&wanted), with_flows(&found)))
    }

    /// What the answers say that is not as decided, with the number of flows; none if all do.
    fn other<T: PartialEq + ToString>(
        &self,
        decided: &T,
        of: impl Fn(&Proof) -> T,
    ) -> Option<String> {
        let others = self.found.answers.iter().map(of).filter(|it| it != decided);
        let others = count(others, |it| it.to_string());
        (!others.is_empty()).then(|| with_flows(&others))
    }

    /// The ring's hash is that of the decision, not of the ring that was made of it.
    fn other_ring(&self, run: &Run) -> Option<Difference> {
        let decided = &self.decided.explanation.ring.hash;
        if self.verdict() != Verdict::Forwarded || run.ring.as_ref() == Some(decided) {
            return None;
        }
        let ring = self.decided.ring;
        let slot = |slot: usize| {
            let wanted = ring.destination(*ring.slots.get(slot)?)?;
            let found = *self.found.slots.get(slot)?;
            (self.destination_found(found) != Some(wanted))
                .then(|| (slot, self.shown(wanted), self.shown_slot(found)))
        };
        let mut others = (0..ring.slots.len()).filter_map(slot);
        let found = run.ring.as_deref().unwrap_or("no ring");
        let found = match (others.next(), others.count()) {
            (None, _) => found.to_owned(),
            (Some((slot, wanted, there)), more) => format!(
                "{found}: slot {slot} is {there}'s, not {wanted}'s{}",
                and_more(more)
            ),
        };
        Some(difference("ring", decided, found))
    }

    fn other_targets(&self) -> Vec<Difference> {
        let targets = self.found.targets.iter().filter(|(id, _)| **id != 0);
        let both = targets.map(|(id, found)| {
            let written = self.decided.targets.get(id).unwrap_or(&Target::FREE);
            (id, self.way(written), self.way(found))
        });
        both.filter(|(_, written, found)| written != found)
            .map(|(id, written, found)| difference(format!("target {id}"), written, found))
            .collect()
    }

    /// Which way a target leads.
    fn way(&self, target: &Target) -> String {
        match Identity::of(target) {
            Some(identity) => format!(
                "{} at {} in group {:08x}, {} by {}{}, MTU {}",
                self.named(identity),
                identity.place(),
                target.group,
                identity.forward.as_str(),
                Mac(target.next_hop),
                Departure::to(target),
                target.mtu
            ),
            None => "nobody".to_owned(),
        }
    }

    /// Flows that do not go to the backend in their slot of the decided ring.
    fn other_backends(&self) -> Vec<Difference> {
        let mut others = BTreeMap::<_, (usize, u16)>::new();
        for (flow, answer) in self.flows.iter().zip(&self.found.answers) {
            let decided = self.backend_decided(flow);
            let found = (answer.target != 0).then(|| self.backend_found(answer.target));
            if decided != found {
                let first = (0, flow.ports.client());
                others.entry((decided, found)).or_insert(first).0 += 1;
            }
        }
        let shown = |backend: Option<String>| backend.unwrap_or_else(|| "nobody".to_owned());
        let others = others.into_iter();
        others
            .map(|((decided, found), (number, first))| {
                let found = format!(
                    "{}: {}, the first from port {first}",
                    shown(found),
                    flows(number)
                );
                difference("backend", shown(decided), found)
            })
            .collect()
    }

    /// Backends that get more or fewer flows than by their share.
    fn unlikely(&self, run: &Run) -> Vec<Difference> {
        let shares = self.shares();
        let names: BTreeSet<_> = shares.keys().chain(run.backends.keys()).collect();
        let unlikely = names.into_iter().filter_map(|name| {
            let share = shares.get(name).copied().unwrap_or(0.);
            let likely = likely(run.flows, share, shares.len());
            let got = run.backends.get(name).copied().unwrap_or(0);
            (!likely.contains(&got)).then(|| {
                let decided = format!("{} to {} flows by its share", likely.start(), likely.end());
                difference(format!("share of {name}"), decided, flows(got))
            })
        });
        unlikely.collect()
    }

    fn verdict(&self) -> Verdict {
        let explanation = self.decided.explanation;
        match explanation.outcome {
            Outcome::Forward => Verdict::Forwarded,
            Outcome::Pass => Verdict::PolicyPassed,
            Outcome::Reject => Verdict::Rejected,
            Outcome::Drop => Verdict::PolicyDropped,
        }
    }

    fn ring_found(&self) -> Option<String> {
        let slots = self.found.slots.iter();
        let all: Option<Vec<_>> = slots.map(|id| self.destination_found(*id)).collect();
        let all = all.filter(|it| !it.is_empty())?;
        let columns = self.found.answers.first().map_or(0, |it| it.ring.columns());
        Some(format!("{:016x}", slots_hash(columns, all)))
    }

    fn destination_found(&self, slot: u16) -> Option<Destination> {
        match Answer::of_slot(slot) {
            Some(answer) => Some(Destination::Answer(answer)),
            None => self.identity_found(slot).map(Destination::Backend),
        }
    }

    fn shown(&self, destination: Destination) -> String {
        match destination {
            Destination::Backend(identity) => self.named(identity),
            Destination::Answer(Answer::PASS) => "pass".to_owned(),
            Destination::Answer(Answer::REJECT) => "reject".to_owned(),
            Destination::Answer(_) => "drop".to_owned(),
        }
    }

    fn shown_slot(&self, slot: u16) -> String {
        let destination = self.destination_found(slot);
        destination.map_or_else(|| format!("target {slot}"), |it| self.shown(it))
    }

    fn identity_found(&self, id: u16) -> Option<Identity> {
        Identity::of(self.found.targets.get(&id)?)
    }

    fn backend_found(&self, id: u16) -> String {
        match self.identity_found(id) {
            Some(identity) => self.named(identity),
            None => format!("target {id}"),
        }
    }

    /// The decided ring's backend for a flow.
    fn backend_decided(&self, flow: &Tuple) -> Option<String> {
        let destination = self.decided.ring.destination(self.slot_decided(flow)?)?;
        Some(self.named(destination.identity()?))
    }

    /// What is in the decided ring's slot for a flow.
    fn slot_decided(&self, flow: &Tuple) -> Option<u16> {
        let ring = self.decided.ring;
        let slot = ring.at(0).slot(flow, &self.decided.key);
        ring.slots.get(slot as usize).copied()
    }

    /// Each backend's share of the flows of the client: of all, or in a ring of rows what it has of the
    /// client's row.
    fn shares(&self) -> BTreeMap<String, f64> {
        let ring = self.decided.ring;
        let (columns, Some(flow)) = (ring.columns as usize, self.flows.first()) else {
            return BTreeMap::new();
        };
        if columns == 0 {
            let shares = self.decided.explanation.shares.iter();
            return shares
                .map(|(name, share)| (name.to_string(), *share))
                .collect();
        }
        let slot = ring.at(0).slot(flow, &self.decided.key) as usize;
        let row = ring
            .slots
            .iter()
            .skip(slot / columns * columns)
            .take(columns);
        let backends = row.filter_map(|slot| ring.destination(*slot)?.identity());
        let counts = count(backends, |it| self.named(it)).into_iter();
        counts
            .map(|(name, slots)| (name, slots as f64 / columns as f64))
            .collect()
    }

    fn named(&self, identity: Identity) -> String {
        let known = self.decided.backends.get(&identity);
        known.map_or_else(|| identity.address.to_string(), ToString::to_string)
    }
}

fn difference(what: impl ToString, decided: impl ToString, found: impl ToString) -> Difference {
    Difference {
        what: what.to_string(),
        decided: decided.to_string(),
        found: found.to_string(),
    }
}

fn count<T>(all: impl Iterator<Item = T>, key: impl Fn(T) -> String) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(key(one)).or_default() += 1;
    }
    counts
}

fn with_flows(counts: &BTreeMap<String, usize>) -> String {
    let counts = counts.iter();
    let counts: Vec<_> = counts
        .map(|(what, count)| format!("{what} for {}", flows(*count)))
        .collect();
    counts.join(", ")
}

fn flows(number: usize) -> String {
    match number {
        1 => "1 flow".to_owned(),
        many => format!("{many} flows"),
    }
}

fn and_more(slots: usize) -> String {
    match slots {
        0 => String::new(),
        more => format!(", and {more} more"),
    }
}

fn described(descriptor: Descriptor) -> String {
    match descriptor {
        Descriptor::NO_ANSWER => "no ring".to_owned(),
        Descriptor::DROP => "drop".to_owned(),
        Descriptor::PASS => "pass".to_owned(),
        Descriptor::REJECT => "reject".to_owned(),
        ring => format!("{} slots from {} on", ring.length(), ring.offset()),
    }
}

fn label(verdict: u16) -> &'static str {
    let known = VERDICTS.get(usize::from(verdict));
    known.map_or("unknown", |it| it.label())
}
