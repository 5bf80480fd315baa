use std::{collections::BTreeSet, fmt, net::SocketAddr};

use lb_common::{CHUNK, Chunk, Entry};

use super::rings::rings;
use crate::{
    class::Clients,
    model::{Group, HttpProbe, Initial, Method, Model, Name, Probe, ProbeKind, Stage, Trust},
};

/// What a configuration means, for `waggle check`.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Name of the edge.
    pub edge: Name,
    /// The interfaces that it is attached to.
    pub interfaces: Vec<String>,
    /// Its services, by name.
    pub services: Vec<ServiceSummary>,
    /// Its groups, by name.
    pub groups: Vec<GroupSummary>,
    /// Number of backends.
    pub backends: usize,
    /// Entries needed in the table of targets: for each group that services name one for each backend in
    /// it or in groups within it.
    pub targets: usize,
    /// Prefixes of the clients of all classes but 0: the fewest of which none is within another.
    pub prefixes: usize,
    /// Classes of clients that rules and policies tell apart; 1 without any.
    pub classes: usize,
    /// Entries that tell where clients are.
    pub whereabouts: WhereaboutsSummary,
    /// Rings that differ, with all members up: one for each group that services name, or several if it
    /// decides by client.
    pub rings: usize,
    /// Slots of the ring pool needed for them, where the longest ring of each group is as long as any health
    /// of the members makes it, and for those of the group with the most once more, as new rings stand
    /// beside those that they replace.
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

/// Bytes that the kernel takes for a pin: key and value are 56 of them.
const PIN: usize = 120;

/// The same for a translated flow: 112.
const TRANSLATION: usize = 176;

/// The memory of a map.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct MapMemory {
    /// The setting that gives its size.
    pub setting: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What `model` means, with the classes of its clients.
pub(super) fn summary(model: &Model, clients: &Clients) -> Summary {
    let edge = &model.edge;
    let partition = clients.partition();
    let rings = rings(model, clients);
    let targets = model.root_groups().into_iter();
    let targets = targets.map(|root| model.backends_within(root).len());
    let services = model.services.values().map(|service| ServiceSummary {
        name: service.name.clone(),
        address: SocketAddr::new(service.address, service.port),
        protocol: service.protocol.to_string(),
        group: service.group.clone(),
        rules: service.rules.len(),
    });
    let memory = |setting, entries: u32, size: usize| MapMemory {
        setting,
        bytes: u64::from(entries) * size as u64,
    };
    Summary {
        edge: edge.name.clone(),
        interfaces: edge.interfaces.clone(),
        services: services.collect(),
        groups: model
            .groups
            .values()
            .map(|it| group_summary(model, it))
            .collect(),
        backends: model.backends.len(),
        targets: targets.sum(),
        prefixes: partition.prefixes(),
        classes: partition.classes.len(),
        whereabouts: WhereaboutsSummary {
            locations: model.whereabouts.locations().entries(),
            geography: model.whereabouts.regions().entries(),
            latency: model.whereabouts.latencies().entries(),
        },
        rings: rings.number,
        ring_slots: rings.slots,
        ring_pool: edge.ring_slots,
        memory: vec![
            memory("affinity_entries", edge.affinity_entries, PIN),
            memory("flow_entries", edge.flow_entries, size_of::<Entry>()),
            memory("nat_entries", edge.nat.entries, TRANSLATION),
            memory("ring_slots", edge.ring_slots, size_of::<Chunk>() / CHUNK),
        ],
    }
}

fn group_summary(model: &Model, group: &Group) -> GroupSummary {
    let probe = match &group.probe {
        None if group.backends().next().is_none() => "none: its members are groups".to_owned(),
        None => "none: members always count as healthy".to_owned(),
        Some(probe) => format!(
            "{}, {}{}",
            probe_summary(probe, &probed_ports(model, group, probe)),
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

/// The ports of a group's backends where `probe` goes to, with commas.
fn probed_ports(model: &Model, group: &Group, probe: &Probe) -> String {
    let backends = group
        .backends()
        .filter_map(|(.., name)| model.backends.get(name));
    let ports: BTreeSet<_> = backends.map(|it| probe.port_on(it)).collect();
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    ports.join(",")
}

fn probe_summary(probe: &Probe, port: &str) -> String {
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

impl fmt::Display for ServiceSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            address,
            protocol,
            group,
            rules,
        } = self;
        write!(f, "service {name}: {address} {protocol}, group {group}")?;
        match rules {
            0 => Ok(()),
            1 => write!(f, ", 1 rule"),
            _ => write!(f, ", {rules} rules"),
        }
    }
}

impl fmt::Display for GroupSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            stages,
            members,
            disabled,
            probe,
        } = self;
        let plural = if *members == 1 { "" } else { "s" };
        writeln!(
            f,
            "group {name}: {members} member{plural}, {disabled} disabled"
        )?;
        writeln!(f, "  policy {}", stages.join(", "))?;
        write!(f, "  probe  {probe}")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "edge {} on {}", self.edge, self.interfaces.join(", "))?;
        for service in &self.services {
            writeln!(f, "{service}")?;
        }
        for group in &self.groups {
            writeln!(f, "{group}")?;
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
    use crate::config::{
        parse,
        tests::{GOOD, with},
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
ring slots 32768 of 4194304, room to change a ring included
memory     7680 KiB for affinity_entries
memory     16384 KiB for flow_entries
memory     11264 KiB for nat_entries
memory     8192 KiB for ring_slots
";
        assert_eq!(parse(example).unwrap().summary.to_string(), expected);
    }

    #[test]
    fn the_rules_of_health_in_words() {
        let example = include_str!("../../../config/examples/health.toml");
        let groups = parse(example).unwrap().summary.groups;
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
        let json = serde_json::to_value(parse(GOOD).unwrap().summary).unwrap();
        let service =
            r#"{"name":"s","address":"203.0.113.10:80","protocol":"tcp","group":"g","rules":0}"#;
        let service: serde_json::Value = serde_json::from_str(service).unwrap();
        assert_eq!(json["services"][0], service);
        assert_eq!(json["memory"][1]["bytes"], 16 << 20);
        assert_eq!(json["ring_slots"], 32_768);
    }

    #[test]
    fn a_group_that_no_service_uses_takes_no_table() {
        let idle = "group = \"g\"\n[[group]]\nname = \"idle\"\nmember = [{ backend = \"a\" }]\n\
            probe = { kind = \"none\" }";
        let Summary {
            targets,
            rings,
            groups,
            ..
        } = parse(&with("group = \"g\"", idle)).unwrap().summary;
        assert_eq!((groups.len(), targets, rings), (2, 2, 1));
    }
}
