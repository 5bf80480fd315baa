use std::{collections::BTreeMap, fmt, net::SocketAddrV4};

use lb_common::{CHUNK, Chunk, Entry};

use crate::model::{Group, Method, Model, Name, Probe, ProbeKind, Stage};

/// Shortest ring, in slots.
const SHORTEST_RING: u64 = 16_381;
/// The smallest share gets at least as many slots of a ring.
const LEAST_SLOTS: u64 = 10;

/// What a configuration means, for `waggle check`.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Name of the edge.
    pub edge: Name,
    /// The interface that it is attached to.
    pub interface: String,
    /// Its services, by name.
    pub services: Vec<ServiceSummary>,
    /// Its groups, by name.
    pub groups: Vec<GroupSummary>,
    /// Number of backends.
    pub backends: usize,
    /// Entries needed in the table of targets: one for each member of a group that a service uses.
    pub targets: usize,
    /// Rings needed at a time.
    pub rings: usize,
    /// Slots of the ring pool needed at a time. While a ring changes it takes its place twice.
    pub ring_slots: u64,
    /// Slots of the ring pool that there will be.
    pub ring_pool: u32,
    /// Memory of the tables whose size is a setting.
    pub memory: Vec<MapMemory>,
}

/// A service in a [`Summary`].
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct ServiceSummary {
    /// Its name.
    pub name: Name,
    /// Address and port.
    pub address: SocketAddrV4,
    /// `tcp`.
    pub protocol: String,
    /// The group that serves it.
    pub group: Name,
}

/// A group in a [`Summary`].
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: Name,
    /// The stages of its policy, in order, each with its settings.
    pub stages: Vec<String>,
    /// Number of members.
    pub members: usize,
    /// Number of members that the file disables.
    pub disabled: usize,
    /// What is sent to the members, and how results become health.
    pub probe: String,
}

/// The memory of a map.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct MapMemory {
    /// The setting that gives its size.
    pub setting: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What `model` means. The need for ring slots is the most that any health of the members leads to.
pub fn summary(model: &Model) -> Summary {
    let edge = &model.edge;
    let used: BTreeMap<&Name, &Group> = model
        .services
        .values()
        .filter_map(|service| model.groups.get_key_value(&service.group))
        .collect();
    let services = model.services.values().map(|service| ServiceSummary {
        name: service.name.clone(),
        address: SocketAddrV4::new(service.address, service.port),
        protocol: service.protocol.to_string(),
        group: service.group.clone(),
    });
    let memory = |setting, entries: u32, size: usize| MapMemory {
        setting,
        bytes: u64::from(entries) * size as u64,
    };
    Summary {
        edge: edge.name.clone(),
        interface: edge.interface.clone(),
        services: services.collect(),
        groups: model.groups.values().map(group_summary).collect(),
        backends: model.backends.len(),
        targets: used.values().map(|group| group.members.len()).sum(),
        rings: used.len(),
        ring_slots: used.values().map(|group| ring_slots(group)).sum(),
        ring_pool: edge.ring_slots,
        memory: vec![
            memory("flow_entries", edge.flow_entries, size_of::<Entry>()),
            memory("ring_slots", edge.ring_slots, size_of::<Chunk>() / CHUNK),
        ],
    }
}

/// The slots of a group's longest ring. Shares are smallest when all members of one priority take
/// part, or, when all are down, all members alike.
fn ring_slots(group: &Group) -> u64 {
    let mut weights: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for member in &group.members {
        let weight = u64::from(member.weight.value());
        weights.entry(member.priority).or_default().push(weight);
    }
    let smallest = weights.values().filter_map(|weights| {
        let least = weights.iter().min()?;
        Some((LEAST_SLOTS * weights.iter().sum::<u64>()).div_ceil(*least))
    });
    smallest
        .chain([LEAST_SLOTS * group.members.len() as u64, SHORTEST_RING])
        .max()
        .unwrap_or(SHORTEST_RING)
        .next_multiple_of(CHUNK as u64)
}

fn group_summary(group: &Group) -> GroupSummary {
    let probe = match &group.probe {
        None => "none: members always count as healthy".to_owned(),
        Some(probe) => format!(
            "{}, {} of {}",
            probe_summary(probe),
            group.health.required(),
            group.health.window()
        ),
    };
    GroupSummary {
        name: group.name.clone(),
        stages: group
            .stages
            .iter()
            .map(|stage| stage_summary(*stage))
            .collect(),
        members: group.members.len(),
        disabled: group
            .members
            .iter()
            .filter(|member| !member.enabled)
            .count(),
        probe,
    }
}

fn stage_summary(stage: Stage) -> String {
    match stage {
        Stage::Available(_) => "available".to_owned(),
        Stage::Priority => "priority".to_owned(),
        Stage::Latency { window } => {
            format!("latency within {}", humantime::format_duration(window))
        }
        Stage::Weight => "weight".to_owned(),
    }
}

fn probe_summary(probe: &Probe) -> String {
    let ProbeKind::Http(http) = &probe.kind;
    let method = match http.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
    };
    let interval = humantime::format_duration(probe.interval);
    format!("{method} :{}{} every {interval}", probe.port, http.path)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "edge {} on {}", self.edge, self.interface)?;
        for service in &self.services {
            let ServiceSummary {
                name,
                address,
                protocol,
                group,
            } = service;
            writeln!(f, "service {name}: {address} {protocol}, group {group}")?;
        }
        for group in &self.groups {
            let GroupSummary {
                name,
                stages,
                members,
                disabled,
                probe,
            } = group;
            writeln!(f, "group {name}: {members} members, {disabled} disabled")?;
            writeln!(f, "  policy {}", stages.join(", "))?;
            writeln!(f, "  probe  {probe}")?;
        }
        writeln!(f, "backends   {}", self.backends)?;
        writeln!(f, "targets    {}", self.targets)?;
        writeln!(f, "ring slots {} of {}", self.ring_slots, self.ring_pool)?;
        for MapMemory { setting, bytes } in &self.memory {
            writeln!(f, "memory     {} KiB for {setting}", bytes.div_ceil(1024))?;
        }
        Ok(())
    }
}
