//! What the packet program has counted.

use std::{collections::BTreeMap, ops::AddAssign};

use aya::Pod;
use lb_common::{Counter, FLOW_EVENTS, FlowEvent, ServiceCounter, ServiceKey, VERDICTS, Verdict};

use super::{kernel::mapped_by, mapped::Mapped, parts::CounterParts, pins::Pins, tables::Tables};
use crate::refusal::Refusal;

/// What the packet program has counted, summed over CPUs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// By the way that packets left.
    pub verdicts: BTreeMap<Verdict, Counter>,
    /// By what became of the look-up in the flow table.
    pub flow_events: BTreeMap<FlowEvent, Counter>,
    /// By service.
    pub services: BTreeMap<ServiceKey, Counter>,
    /// By target id.
    pub targets: BTreeMap<u16, Counter>,
}

impl Totals {
    /// Packets by the name of the way that they left.
    pub fn packets_by_verdict(&self) -> BTreeMap<String, u64> {
        let named = self.verdicts.iter();
        named
            .map(|(it, counter)| (it.label().to_owned(), counter.packets))
            .collect()
    }

    /// Packets by the name of what became of their look-up in the flow table.
    pub fn packets_by_flow_event(&self) -> BTreeMap<String, u64> {
        let named = self.flow_events.iter();
        named
            .map(|(it, counter)| (it.label().to_owned(), counter.packets))
            .collect()
    }
}

/// The map that it counts in, by CPU.
pub(super) struct Counters(Vec<CounterParts>);

impl Counters {
    pub(super) fn open(pins: &Pins) -> Result<Self, Refusal> {
        mapped_by(pins, "CPUS", CounterParts::of_cpus).map(Self)
    }

    /// The sums for the services and targets in `tables`, and in all.
    pub(super) fn totals(&self, tables: &Tables) -> Totals {
        let verdicts = VERDICTS.iter().copied();
        let sum = |verdict| (verdict, self.sum(|cpu| &cpu.verdicts, verdict as u32));
        let mut verdicts: BTreeMap<_, _> = verdicts.map(sum).collect();
        let events = FLOW_EVENTS.iter().copied();
        let sum = |event| (event, self.sum(|cpu| &cpu.flow_events, event as u32));
        let mut flow_events: BTreeMap<_, _> = events.map(sum).collect();
        let mut services = BTreeMap::new();
        let mut hits = flow_events[&FlowEvent::Hit];
        for (key, service) in tables.services() {
            let counted = self.sum(|cpu| &cpu.services, service.id);
            services.insert(key, counted.all());
            hits += counted.hits;
        }
        flow_events.insert(FlowEvent::Hit, hits);
        *verdicts.entry(Verdict::Forwarded).or_default() += hits;
        let targets = tables.targets();
        Totals {
            targets: targets
                .map(|(id, _)| (id, self.sum(|cpu| &cpu.targets, id.into())))
                .collect(),
            verdicts,
            flow_events,
            services,
        }
    }

    /// Forgets what was counted for a service, whose id may go to another one, but keeps in mind
    /// what belongs to sums over all: the program does not write the element of hits.
    pub(super) fn end_service(&self, id: u32) {
        let mut hits = self.sum(|cpu| &cpu.services, id).hits;
        if hits != Counter::default() {
            let event = FlowEvent::Hit as u32;
            hits += self.sum(|cpu| &cpu.flow_events, event);
            self.put(|cpu| &cpu.flow_events, event, hits);
        }
        self.put(|cpu| &cpu.services, id, ServiceCounter::default());
    }

    /// Forgets what was counted for a target, whose id may go to another one.
    pub(super) fn end_target(&self, id: u16) {
        self.put(|cpu| &cpu.targets, id.into(), Counter::default());
    }

    /// The sum over all CPUs; nothing was counted where there is no element.
    fn sum<T: Pod + Default + AddAssign>(
        &self,
        part: impl Fn(&CounterParts) -> &Mapped<T>,
        id: u32,
    ) -> T {
        let mut sum = T::default();
        let parts = self.0.iter().map(part);
        for counters in parts.filter(|counters| id < counters.len()) {
            sum += counters.load(id);
        }
        sum
    }

    /// Makes `value` the sum, if there is the element.
    fn put<T: Pod + Default>(&self, part: impl Fn(&CounterParts) -> &Mapped<T>, id: u32, value: T) {
        let parts = self.0.iter().map(part).enumerate();
        for (cpu, counters) in parts.filter(|(_, counters)| id < counters.len()) {
            let own = if cpu == 0 { value } else { T::default() };
            counters.store(id, &own);
        }
    }
}
