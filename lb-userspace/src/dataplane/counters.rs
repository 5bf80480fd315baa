//! What the packet program has counted.

use std::{collections::BTreeMap, ops::AddAssign};

use aya::{
    Pod,
    maps::{Map, MapData, MapError, PerCpuArray, PerCpuValues},
    util::nr_cpus,
};
use lb_common::{Counter, FLOW_EVENTS, FlowEvent, ServiceCounter, ServiceKey, VERDICTS, Verdict};

use super::{kernel::failed, pins::Pins, tables::Tables};
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

/// The maps that it counts in.
pub(super) struct Counters {
    verdicts: PerCpuArray<MapData, Counter>,
    flow_events: PerCpuArray<MapData, Counter>,
    services: PerCpuArray<MapData, ServiceCounter>,
    targets: PerCpuArray<MapData, Counter>,
}

impl Counters {
    pub(super) fn open(pins: &Pins) -> Result<Self, Refusal> {
        Ok(Self {
            verdicts: open(pins, "VERDICTS")?,
            flow_events: open(pins, "FLOW_EVENTS")?,
            services: open(pins, "SERVICE_COUNTERS")?,
            targets: open(pins, "TARGET_COUNTERS")?,
        })
    }

    /// The sums for the services and targets in `tables`, and in all.
    pub(super) fn totals(&self, tables: &Tables) -> Result<Totals, Refusal> {
        let all = |map, counters, count: usize| {
            let sums = (0..count as u32).map(|id| sum(counters, id));
            let sums: Result<Vec<Counter>, _> = sums.collect();
            sums.map_err(|e| failed(map, e))
        };
        let mut verdicts = all("VERDICTS", &self.verdicts, VERDICTS.len())?;
        let mut events = all("FLOW_EVENTS", &self.flow_events, FLOW_EVENTS.len())?;
        let mut services = BTreeMap::new();
        for (key, service) in tables.services() {
            let counted = sum(&self.services, service.id);
            let counted = counted.map_err(|e| failed("SERVICE_COUNTERS", e))?;
            services.insert(key, counted.all());
            events[FlowEvent::Hit as usize] += counted.hits;
        }
        verdicts[Verdict::Forwarded as usize] += events[FlowEvent::Hit as usize];
        let targets = tables.targets().map(|(id, _)| {
            let counted = sum(&self.targets, id.into());
            Ok((id, counted.map_err(|e| failed("TARGET_COUNTERS", e))?))
        });
        Ok(Totals {
            targets: targets.collect::<Result<_, Refusal>>()?,
            verdicts: VERDICTS.iter().copied().zip(verdicts).collect(),
            flow_events: FLOW_EVENTS.iter().copied().zip(events).collect(),
            services,
        })
    }

    /// Forgets what was counted for a service, whose id may go to another one, but keeps in mind
    /// what belongs to sums over all: the program does not write the element of hits.
    pub(super) fn end_service(&mut self, id: u32) -> Result<(), Refusal> {
        let mut hits = sum(&self.services, id)
            .map_err(|e| failed("SERVICE_COUNTERS", e))?
            .hits;
        if hits != Counter::default() {
            let event = FlowEvent::Hit as u32;
            hits += sum(&self.flow_events, event).map_err(|e| failed("FLOW_EVENTS", e))?;
            put(&mut self.flow_events, event, hits).map_err(|e| failed("FLOW_EVENTS", e))?;
        }
        put(&mut self.services, id, ServiceCounter::default())
            .map_err(|e| failed("SERVICE_COUNTERS", e))
    }

    /// Forgets what was counted for a target, whose id may go to another one.
    pub(super) fn end_target(&mut self, id: u16) -> Result<(), Refusal> {
        let ended = put(&mut self.targets, id.into(), Counter::default());
        ended.map_err(|e| failed("TARGET_COUNTERS", e))
    }
}

/// The sum over all CPUs; nothing was counted where the map has no element.
fn sum<T: Pod + Default + AddAssign>(
    counters: &PerCpuArray<MapData, T>,
    id: u32,
) -> Result<T, MapError> {
    let mut sum = T::default();
    if id < counters.len() {
        for counter in counters.get(&id, 0)?.iter() {
            sum += *counter;
        }
    }
    Ok(sum)
}

/// Makes `value` the sum, if the map has the element.
fn put<T: Pod + Default>(
    counters: &mut PerCpuArray<MapData, T>,
    id: u32,
    value: T,
) -> Result<(), MapError> {
    if id >= counters.len() {
        return Ok(());
    }
    let cpus = nr_cpus().map_err(|(_, error)| MapError::IoError(error))?;
    let mut values = vec![T::default(); cpus];
    values[0] = value;
    counters.set(id, PerCpuValues::try_from(values)?, 0)
}

fn open<T: Pod>(pins: &Pins, map: &'static str) -> Result<PerCpuArray<MapData, T>, Refusal> {
    let open = || PerCpuArray::try_from(Map::from_map_data(pins.map(map)?)?);
    open().map_err(|e| failed(map, e))
}
