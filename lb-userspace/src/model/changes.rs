//! What one configuration changes against another, for people.

use std::{collections::BTreeMap, fmt};

use super::{Group, Model, Name};

/// What differs between two models, one line each: `backend a: address 10.0.0.1 -> 10.0.0.2`.
pub fn changes(old: &Model, new: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    edge(old, new, &mut lines);
    if old.whereabouts != new.whereabouts {
        lines.push("where clients are: changed".to_owned());
    }
    compare(
        "backend",
        &old.backends,
        &new.backends,
        &mut lines,
        |a, b, out| {
            out.field("address", a.address, b.address);
            out.field("forward", a.forward.as_str(), b.forward.as_str());
            out.opaque(
                "gue_port",
                &a.forward.tunnel_port(),
                &b.forward.tunnel_port(),
            );
            out.opaque("port", &a.port, &b.port);
            out.opaque("vlan", &a.vlan, &b.vlan);
            out.opaque("probe", &a.probe, &b.probe);
            out.opaque("location", &a.location, &b.location);
            out.opaque("region", &a.region, &b.region);
        },
    );
    compare(
        "group",
        &old.groups,
        &new.groups,
        &mut lines,
        |a, b, out| {
            out.opaque("stages", &a.stages, &b.stages);
            out.opaque("probe", &a.probe, &b.probe);
            out.opaque("health rule", &a.health, &b.health);
            out.opaque("slow_start", &a.slow_start, &b.slow_start);
            out.opaque("affinity", &a.affinity, &b.affinity);
            out.opaque("on_down", &a.on_down, &b.on_down);
            members(a, b, out);
        },
    );
    compare(
        "service",
        &old.services,
        &new.services,
        &mut lines,
        |a, b, out| {
            out.field("address", a.address, b.address);
            out.field("protocol", a.protocol, b.protocol);
            out.field("port", a.port, b.port);
            out.field("group", &a.group, &b.group);
            out.opaque("rules", &a.rules, &b.rules);
        },
    );
    lines
}

fn edge(old: &Model, new: &Model, lines: &mut Vec<String>) {
    let (a, b) = (&old.edge, &new.edge);
    let changed = [
        ("startup_grace", a.startup_grace != b.startup_grace),
        ("ring_grace", a.ring_grace != b.ring_grace),
        ("nat_source", a.nat.sources != b.nat.sources),
        ("flow_idle", a.flow_idle != b.flow_idle),
        ("location", a.location != b.location),
    ];
    let changed = changed.into_iter().filter(|(_, differs)| *differs);
    lines.extend(changed.map(|(key, _)| format!("edge: {key} changed")));
}

/// The keys of `[edge]` that differ and take effect only at a start.
pub fn needs_restart(old: &Model, new: &Model) -> Vec<&'static str> {
    let (a, b) = (&old.edge, &new.edge);
    [
        ("name", a.name != b.name),
        ("interfaces", a.interfaces != b.interfaces),
        ("xdp_mode", a.xdp_mode != b.xdp_mode),
        ("ring_key", a.ring_key != b.ring_key),
        ("packet_log", a.packet_log != b.packet_log),
        ("pin_dir", a.pin_dir != b.pin_dir),
        ("state_dir", a.state_dir != b.state_dir),
        ("control", a.control != b.control),
        ("metrics", a.metrics != b.metrics),
        ("flow_entries", a.flow_entries != b.flow_entries),
        ("ring_slots", a.ring_slots != b.ring_slots),
        ("insert_limit", a.insert_limit != b.insert_limit),
        ("reply_limit", a.reply_limit != b.reply_limit),
        ("answer_echo", a.answer_echo != b.answer_echo),
        ("affinity_entries", a.affinity_entries != b.affinity_entries),
        ("nat_ports", a.nat.ports != b.nat.ports),
        ("nat_entries", a.nat.entries != b.nat.entries),
        ("tunnel_hop", a.tunnels.are_hops != b.tunnels.are_hops),
        (
            "tunnel_checksum",
            a.tunnels.have_checksums != b.tunnels.have_checksums,
        ),
        ("tunnel_sources", a.tunnels.sources != b.tunnels.sources),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}

/// Lines about one thing, each led by what it is.
struct Lines<'a> {
    of: String,
    lines: &'a mut Vec<String>,
}

impl Lines<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        self.lines.push(format!("{}: {text}", self.of));
    }

    fn field<T: PartialEq + fmt::Display>(&mut self, field: &str, old: T, new: T) {
        if old != new {
            self.line(format_args!("{field} {old} -> {new}"));
        }
    }

    fn opaque<T: PartialEq>(&mut self, field: &str, old: &T, new: &T) {
        if old != new {
            self.line(format_args!("{field} changed"));
        }
    }
}

fn compare<T: PartialEq>(
    kind: &str,
    old: &BTreeMap<Name, T>,
    new: &BTreeMap<Name, T>,
    lines: &mut Vec<String>,
    differ: impl Fn(&T, &T, &mut Lines<'_>),
) {
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        lines.push(format!("{kind} {name} removed"));
    }
    for (name, b) in new {
        match old.get(name) {
            Some(a) if a != b => {
                let told = lines.len();
                let of = format!("{kind} {name}");
                differ(a, b, &mut Lines { of, lines });
                if lines.len() == told {
                    lines.push(format!("{kind} {name} changed"));
                }
            }
            Some(_) => {}
            None => lines.push(format!("{kind} {name} added")),
        }
    }
}

fn members(old: &Group, new: &Group, out: &mut Lines<'_>) {
    let by_name = |group: &Group| -> BTreeMap<_, _> {
        group
            .members
            .iter()
            .map(|member| (member.name().clone(), member.clone()))
            .collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        out.line(format_args!("member {name} removed"));
    }
    for (name, b) in &new {
        let Some(a) = old.get(name) else {
            out.line(format_args!("member {name} added"));
            continue;
        };
        if a.enabled != b.enabled {
            let now = if b.enabled { "enabled" } else { "disabled" };
            out.line(format_args!("member {name} {now}"));
        }
        out.field(
            &format!("member {name} priority"),
            a.priority.value(),
            b.priority.value(),
        );
        out.field(
            &format!("member {name} weight"),
            a.weight.value(),
            b.weight.value(),
        );
    }
}
