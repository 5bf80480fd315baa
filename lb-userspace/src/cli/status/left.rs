//! What can be said without a daemon, by what it has pinned.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use lb_common::{Counter, ServiceKey, Target, tick};
use serde::Serialize;

use super::{
    super::columns::{columns, header, without_empty},
    Part, counters,
};
use crate::{
    cli::{Format, json, names::Names},
    control::InterfaceView,
    dataplane::{look, monotonic},
    model::{Model, Name},
    refusal::{Refusal, Refused},
};

/// The tables and counters. Names are not in them: they are known where a configuration is given.
#[derive(Serialize)]
pub(super) struct Left {
    edge: Edge,
    services: Vec<Service>,
    targets: Vec<Membership>,
    verdicts: BTreeMap<String, u64>,
    flow_events: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Edge {
    /// Of the daemon: there is none.
    pid: Option<u32>,
    name: Option<Name>,
    pin_dir: String,
    attached: bool,
    interfaces: Vec<InterfaceView>,
    /// Since a daemon was last alive; none if it never was.
    heartbeat_age_s: Option<u64>,
    flows: u64,
    flow_entries: u32,
}

#[derive(Serialize)]
struct Service {
    name: Option<Name>,
    address: IpAddr,
    protocol: String,
    port: u16,
    group: Option<Name>,
    group_id: u32,
    packets: u64,
    bytes: u64,
    /// Clients that are pinned to a backend; none without affinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pins: Option<u64>,
}

#[derive(Serialize)]
struct Membership {
    target: u16,
    group: Option<Name>,
    group_id: u32,
    backend: Option<Name>,
    address: IpAddr,
    takes_new: bool,
    dead: bool,
    flows: u64,
    packets: u64,
    bytes: u64,
}

impl Left {
    /// Reads the pins; none if there are none.
    pub(super) fn read(pin_dir: &Path, model: Option<&Model>) -> Result<Option<Self>, Refusal> {
        let Some(left) = look(pin_dir)? else {
            return Ok(None);
        };
        let names = model.map(Names::of_model).unwrap_or_default();
        let now = monotonic();
        let tables = left.kernel.read_tables()?;
        let totals = left.kernel.counters(&tables);
        let live = left.kernel.live(&tables, tick(now))?;
        let interfaces = left.attached.into_iter().map(|(name, mode)| InterfaceView {
            name,
            xdp_mode: mode.to_string(),
            attached: true,
        });
        let interfaces: Vec<_> = interfaces.collect();
        let heartbeat = left.kernel.last_heartbeat();
        let age = Duration::from_nanos(now.saturating_sub(heartbeat)).as_secs();
        let counter = |found: Option<&Counter>| found.copied().unwrap_or_default();
        let services = tables.services().map(|(key, it)| {
            let counter = counter(totals.services.get(&key));
            let pins = live.pins.get(&key).copied();
            service(&names, &key, it.group, counter, pins)
        });
        let targets = tables.targets().map(|(id, target)| {
            let flows = live.flows.get(&id).copied().unwrap_or(0);
            membership(&names, id, target, flows, counter(totals.targets.get(&id)))
        });
        Ok(Some(Self {
            edge: Edge {
                pid: None,
                name: model.map(|model| model.edge.name.clone()),
                pin_dir: pin_dir.display().to_string(),
                attached: !interfaces.is_empty(),
                interfaces,
                heartbeat_age_s: (heartbeat != 0).then_some(age),
                flows: live.flows.values().sum(),
                flow_entries: left.kernel.flow_entries(),
            },
            services: services.collect(),
            targets: targets.collect(),
            verdicts: totals.packets_by_verdict(),
            flow_events: totals.packets_by_flow_event(),
        }))
    }

    /// All of it, or a part.
    pub(super) fn print(&self, format: Format, only: Option<Part>) -> Result<String, Refused> {
        Ok(match (format, only) {
            (Format::Json, None) => json(self)?,
            (Format::Json, Some(Part::Service)) => json(&self.services)?,
            (Format::Json, Some(Part::Backend | Part::Group)) => json(&self.targets)?,
            (Format::Text, Some(Part::Service)) => services(&self.services),
            (Format::Text, Some(Part::Backend | Part::Group)) => targets(&self.targets),
            (Format::Text, None) => [
                edge(&self.edge),
                services(&self.services),
                targets(&self.targets),
                counters("packets", &self.verdicts),
                counters("flow table", &self.flow_events),
            ]
            .join("\n"),
        })
    }
}

fn service(
    names: &Names,
    key: &ServiceKey,
    group: u32,
    counter: Counter,
    pins: Option<u64>,
) -> Service {
    Service {
        name: names.service(key).cloned(),
        address: key.address.into(),
        protocol: key.protocol.to_string(),
        port: u16::from_be_bytes(key.port),
        group: names.group(group).cloned(),
        group_id: group,
        packets: counter.packets,
        bytes: counter.bytes,
        pins,
    }
}

fn membership(names: &Names, id: u16, target: &Target, flows: u64, counter: Counter) -> Membership {
    Membership {
        target: id,
        group: names.group(target.group).cloned(),
        group_id: target.group,
        backend: names.backend(target).cloned(),
        address: target.address.into(),
        takes_new: target.state.takes_new(),
        dead: target.state.dead(),
        flows,
        packets: counter.packets,
        bytes: counter.bytes,
    }
}

fn edge(edge: &Edge) -> String {
    let name = edge
        .name
        .as_ref()
        .map_or(String::new(), |name| format!(" {name}"));
    let on: Vec<_> = edge.interfaces.iter().map(ToString::to_string).collect();
    let on = match on.is_empty() {
        true => "the program is NOT ATTACHED".to_owned(),
        false => format!("the program is on {}", on.join(", ")),
    };
    let last = edge.heartbeat_age_s.map_or_else(
        || "no daemon has ever run".to_owned(),
        |age| {
            format!(
                "last heartbeat {} ago",
                humantime::format_duration(Duration::from_secs(age))
            )
        },
    );
    format!(
        "edge{name}: NO DAEMON, {last}; {on}, packets go by the tables in {}\n{} of {} flow entries live\n",
        edge.pin_dir, edge.flows, edge.flow_entries
    )
}

fn services(services: &[Service]) -> String {
    let mut rows = vec![header(&[
        "SERVICE",
        "ADDRESS",
        "PROTOCOL",
        "GROUP",
        "PACKETS",
        "BYTES",
        "PINNED CLIENTS",
    ])];
    rows.extend(services.iter().map(|it| {
        vec![
            shown(it.name.as_ref()),
            SocketAddr::new(it.address, it.port).to_string(),
            it.protocol.clone(),
            group(it.group.as_ref(), it.group_id),
            it.packets.to_string(),
            it.bytes.to_string(),
            it.pins.map_or_else(String::new, |it| it.to_string()),
        ]
    }));
    columns(0, &without_empty("PINNED CLIENTS", rows))
}

fn targets(targets: &[Membership]) -> String {
    let head = [
        "TARGET", "GROUP", "BACKEND", "ADDRESS", "STATE", "FLOWS", "PACKETS", "BYTES",
    ];
    let mut rows = vec![header(&head)];
    rows.extend(targets.iter().map(|it| {
        let state = match (it.takes_new, it.dead) {
            (true, _) => "takes new flows",
            (false, false) => "keeps its flows",
            (false, true) => "dead",
        };
        vec![
            it.target.to_string(),
            group(it.group.as_ref(), it.group_id),
            shown(it.backend.as_ref()),
            it.address.to_string(),
            state.to_owned(),
            it.flows.to_string(),
            it.packets.to_string(),
            it.bytes.to_string(),
        ]
    }));
    columns(0, &rows)
}

fn shown(name: Option<&Name>) -> String {
    name.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn group(name: Option<&Name>, id: u32) -> String {
    name.map_or_else(|| format!("{id:08x}"), ToString::to_string)
}
