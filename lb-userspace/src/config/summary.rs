use std::{collections::BTreeMap, fmt, net::SocketAddr};

use lb_common::{CHUNK, Chunk, Entry};

use crate::{
    class::Clients,
    model::{
        Group, HttpProbe, Initial, Method, Model, Name, Probe, ProbeKind, Service, Share, Stage,
        Trust,
    },
    table::ring_length,
};

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
    /// Prefixes of clients that rules name, ranges cut into as few as possible.
    pub prefixes: usize,
    /// Classes of clients that rules tell apart; 1 without rules.
    pub classes: usize,
    /// Entries that tell where clients are.
    pub whereabouts: WhereaboutsSummary,
    /// Rings needed at a time.
    pub rings: usize,
    /// Slots of the ring pool needed: for all rings, and for the longest once more, as a new ring
    /// stands beside the one that it replaces.
    pub ring_slots: u64,
    /// Slots of the ring pool that there will be.
    pub ring_pool: u32,
    /// Memory of the tables whose size is a setting.
    pub memory: Vec<MapMemory>,
}

/// How many entries tell where clients are, in files and in the configuration.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize)]
pub struct WhereaboutsSummary {
    /// Addresses with a location.
    pub locations: usize,
    /// Addresses with a region of the geographic hierarchy.
    pub geography: usize,
    /// Prefixes with latencies to regions.
    pub latency: usize,
}

/// A service in a [`Summary`].
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct ServiceSummary {
    /// Its name.
    pub name: Name,
    /// Address and port.
    pub address: SocketAddr,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The group that serves it.
    pub group: Name,
    /// Number of rules.
    pub rules: usize,
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
        .flat_map(Service::groups)
        .filter_map(|group| model.groups.get_key_value(group))
        .collect();
    let services = model.services.values().map(|service| ServiceSummary {
        name: service.name.clone(),
        address: SocketAddr::new(service.address, service.port),
        protocol: service.protocol.to_string(),
        group: service.group.clone(),
        rules: service.rules.len(),
    });
    let rules = model.services.values().flat_map(|service| &service.rules);
    let prefixes = rules
        .flat_map(|rule| rule.clients())
        .map(|it| it.prefixes().count());
    let slots: Vec<u64> = used.values().map(|group| ring_slots(group)).collect();
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
        prefixes: prefixes.sum(),
        classes: Clients::of(model).partition().classes.len(),
        whereabouts: WhereaboutsSummary {
            locations: model.whereabouts.locations().entries(),
            geography: model.whereabouts.regions().entries(),
            latency: model.whereabouts.latencies().entries(),
        },
        rings: used.len(),
        ring_slots: slots.iter().sum::<u64>() + slots.iter().max().unwrap_or(&0),
        ring_pool: edge.ring_slots,
        memory: vec![
            memory("flow_entries", edge.flow_entries, size_of::<Entry>()),
            memory("ring_slots", edge.ring_slots, size_of::<Chunk>() / CHUNK),
        ],
    }
}

/// The slots that a group's longest ring takes in the pool. Shares are smallest when all members of
/// one priority take part, or, when all are down, all members alike.
fn ring_slots(group: &Group) -> u64 {
    let mut weights: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for member in &group.members {
        let weight = u64::from(member.weight.value());
        if weight == 0 {
            continue;
        }
        weights.entry(member.priority).or_default().push(weight);
    }
    let parts = weights.values().filter_map(|weights| {
        let smallest = weights.iter().min()?;
        Some(weights.iter().sum::<u64>().div_ceil(*smallest))
    });
    let parts = parts.chain([group.members.len() as u64]).max();
    let smallest = Share::new(1.into(), parts.unwrap_or(1).max(1).into());
    ring_length(&smallest).next_multiple_of(CHUNK) as u64
}

fn group_summary(group: &Group) -> GroupSummary {
    let probe = match &group.probe {
        None => "none: members always count as healthy".to_owned(),
        Some(probe) => format!(
            "{}, {}{}",
            probe_summary(probe),
            group.health,
            match probe.initial {
                Initial::Checking => ", traffic before the first verdict",
                Initial::Down => "",
            }
        ),
    };
    GroupSummary {
        name: group.name.clone(),
        stages: group.stages.iter().map(stage_summary).collect(),
        members: group.members.len(),
        disabled: group
            .members
            .iter()
            .filter(|member| !member.enabled)
            .count(),
        probe,
    }
}

fn stage_summary(stage: &Stage) -> String {
    match stage {
        Stage::Latency { window, .. } => {
            format!("latency within {}", humantime::format_duration(*window))
        }
        Stage::Subset { take } => format!("subset of {take}"),
        stage => stage.name().to_owned(),
    }
}

fn probe_summary(probe: &Probe) -> String {
    let port = probe.port;
    let interval = humantime::format_duration(probe.interval);
    let request = |http: &HttpProbe| {
        let method = match http.method {
            Method::Get => "GET",
            Method::Head => "HEAD",
        };
        format!("{method} :{port}{}", http.path)
    };
    match &probe.kind {
        ProbeKind::Http(http) => format!("{} every {interval}", request(http)),
        ProbeKind::Https(https) => {
            let certificate = match &https.trust {
                Trust::Anyone => "certificate not checked".to_owned(),
                Trust::Authorities(_) => format!("certificate for {}", https.server_name),
            };
            let request = request(&https.http);
            format!("{request} over TLS, {certificate}, every {interval}")
        }
        ProbeKind::Tcp => format!("TCP :{port} every {interval}"),
    }
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
                rules,
            } = service;
            write!(f, "service {name}: {address} {protocol}, group {group}")?;
            match rules {
                0 => writeln!(f)?,
                1 => writeln!(f, ", 1 rule")?,
                _ => writeln!(f, ", {rules} rules")?,
            }
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
        let Self {
            prefixes,
            classes,
            rings,
            ring_slots,
            ring_pool,
            ..
        } = self;
        writeln!(f, "prefixes   {prefixes}")?;
        writeln!(f, "classes    {classes}")?;
        if self.whereabouts != WhereaboutsSummary::default() {
            let WhereaboutsSummary {
                locations,
                geography,
                latency,
            } = self.whereabouts;
            writeln!(
                f,
                "clients    {locations} location, {geography} geography, {latency} latency entries"
            )?;
        }
        writeln!(f, "rings      {rings}")?;
        writeln!(
            f,
            "ring slots {ring_slots} of {ring_pool}, room to change a ring included"
        )?;
        for MapMemory { setting, bytes } in &self.memory {
            writeln!(f, "memory     {} KiB for {setting}", bytes.div_ceil(1024))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{
            parse,
            tests::{GOOD, with},
        },
        model::{Priority, Weight},
    };

    #[test]
    fn text() {
        let example = include_str!("../../../config/examples/front-door.toml");
        let expected = "\
edge fra-1 on eth0
service web: 203.0.113.10:80 tcp, group web
group web: 6 members, 1 disabled
  policy available, priority, latency within 30ms, weight
  probe  HEAD :80/healthz every 30s, 2 of 4
backends   6
targets    6
prefixes   0
classes    1
rings      1
ring slots 32768 of 1048576, room to change a ring included
memory     16384 KiB for flow_entries
memory     2048 KiB for ring_slots
";
        assert_eq!(
            summary(&parse(example).unwrap().model).to_string(),
            expected
        );
    }

    #[test]
    fn the_rules_of_health_in_words() {
        let example = include_str!("../../../config/examples/health.toml");
        let groups = summary(&parse(example).unwrap().model).groups;
        let said = |name: &str| {
            let group = groups.iter().find(|group| group.name.as_str() == name);
            group.unwrap().probe.clone()
        };
        assert_eq!(said("window"), "HEAD :80/healthz every 30s, 2 of 4");
        assert_eq!(
            said("consecutive"),
            "HEAD :80/healthz every 30s, down at 4 failures in a row, up at 1 good in a row, \
             traffic before the first verdict"
        );
        assert_eq!(
            said("burst"),
            "TCP :80 every 5s, down at 6 failures in a burst of 10, up at 2 good in a row"
        );
        assert_eq!(
            said("leaky"),
            "TCP :80 every 10s, down at 10 failures, cleared by 10 good in a row, up at 20 good in a row"
        );
    }

    #[test]
    fn json() {
        let json = serde_json::to_value(summary(&parse(GOOD).unwrap().model)).unwrap();
        let service =
            r#"{"name":"s","address":"203.0.113.10:80","protocol":"tcp","group":"g","rules":0}"#;
        let service: serde_json::Value = serde_json::from_str(service).unwrap();
        assert_eq!(json["services"][0], service);
        assert_eq!(json["memory"][0]["bytes"], 16 << 20);
        assert_eq!(json["ring_slots"], 32_768);
    }

    #[test]
    fn a_group_that_no_service_uses_takes_no_table() {
        let idle = "group = \"g\"\n[[group]]\nname = \"idle\"\nmember = [{ backend = \"a\" }]\n\
            probe = { kind = \"none\" }";
        let model = parse(&with("group = \"g\"", idle)).unwrap().model;
        let Summary {
            targets,
            rings,
            groups,
            ..
        } = summary(&model);
        assert_eq!((groups.len(), targets, rings), (2, 2, 1));
    }

    #[test]
    fn a_small_share_needs_a_long_ring() {
        let mut group = parse(GOOD).unwrap().model.groups.remove("g").unwrap();
        group.members.truncate(1);
        group.members[0].weight = Weight::new(1).unwrap();
        let mut large = group.members[0].clone();
        large.weight = Weight::new(1000).unwrap();
        let mut slots = |large_members: usize| {
            group.members.resize(1 + large_members, large.clone());
            ring_slots(&group)
        };
        let expected = [
            (0, 16_384),
            (1, 16_384),
            (2, 65_536),
            (7, 262_144),
            (200, 1_048_576),
        ];
        for (large_members, expected) in expected {
            assert_eq!(
                slots(large_members),
                expected,
                "1 part of {large_members}001"
            );
        }
    }

    #[test]
    fn members_of_another_priority_share_only_when_all_are_down() {
        let mut group = parse(GOOD).unwrap().model.groups.remove("g").unwrap();
        let [small, large] = [1, 1000].map(|weight| Weight::new(weight).unwrap());
        group.members[0].weight = small;
        group.members[1].weight = large;
        group.members[1].priority = Priority::new(2).unwrap();
        let spare = group.members[1].clone();
        group.members.resize(1000, spare.clone());
        assert_eq!(ring_slots(&group), 16_384);
        group.members.resize(1700, spare);
        assert_eq!(ring_slots(&group), 65_536);
    }
}
