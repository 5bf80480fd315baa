use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Daemon, Format, columns::columns, json, unexpected};
use crate::{
    control::{EdgeView, Reply, Request, Status},
    engine::{GroupView, MemberView},
    model::{Admin, Health, Name},
};

/// Show what the daemon knows: services, groups, health, shares, flows, verdicts.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Show only these.
    #[arg(value_enum)]
    only: Option<Part>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Every backend in every group.
    Backend,
    /// Groups with their members.
    Group,
    /// Services.
    Service,
}

impl Arguments {
    pub(super) fn run(self) -> anyhow::Result<String> {
        let status = match self.daemon.ask(&Request::Status)? {
            Reply::Status(status) => status,
            other => return Err(unexpected(&other)),
        };
        match (self.format, self.only) {
            (Format::Json, None) => json(&status),
            (Format::Json, Some(Part::Service)) => json(&status.view.services),
            (Format::Json, Some(Part::Group)) => json(&status.view.groups),
            (Format::Json, Some(Part::Backend)) => json(&memberships(&status.view.groups)),
            (Format::Text, only) => Ok(text(&status, only)),
        }
    }
}

/// A member with the group that it is in.
#[derive(Serialize)]
struct Membership<'a> {
    group: &'a Name,
    #[serde(flatten)]
    member: &'a MemberView,
}

/// All members of all groups, by backend.
fn memberships(groups: &[GroupView]) -> Vec<Membership<'_>> {
    let members = groups.iter().flat_map(|GroupView { name, members, .. }| {
        members.iter().map(move |member| Membership {
            group: name,
            member,
        })
    });
    let mut members: Vec<_> = members.collect();
    members.sort_by_key(|it| (&it.member.backend, it.group));
    members
}

fn text(status: &Status, only: Option<Part>) -> String {
    match only {
        Some(Part::Service) => services(status),
        Some(Part::Group) => groups(&status.view.groups),
        Some(Part::Backend) => backends(&status.view.groups),
        None => [
            edge(status),
            services(status),
            groups(&status.view.groups),
            counters("packets", &status.verdicts),
            counters("flow table", &status.flow_events),
        ]
        .join("\n"),
    }
}

fn edge(status: &Status) -> String {
    let EdgeView {
        name,
        interface,
        xdp_mode,
        pid,
        uptime_s,
        config,
        flows,
        flow_entries,
        attached,
    } = &status.edge;
    let pending = (status.pending.iter()).map(|why| format!("NOT IN FORCE YET: {why}\n"));
    let uptime = humantime::format_duration(Duration::from_secs(*uptime_s));
    let mode = if *attached {
        format!("{xdp_mode} XDP")
    } else {
        "NOT ATTACHED: start the daemon anew".to_owned()
    };
    format!(
        "edge {name} on {interface} ({mode}), pid {pid}, up {uptime}, {}\n{flows} of {flow_entries} flow entries live\n{}",
        config.display(),
        pending.collect::<String>(),
    )
}

fn services(status: &Status) -> String {
    let mut rows = vec![header(&[
        "SERVICE", "ADDRESS", "PROTOCOL", "GROUP", "STATE",
    ])];
    for service in &status.view.services {
        rows.push(vec![
            service.name.to_string(),
            SocketAddr::new(service.address, service.port).to_string(),
            service.protocol.clone(),
            service.group.to_string(),
            if service.published {
                "served"
            } else {
                "waits for first probes"
            }
            .into(),
        ]);
    }
    columns(0, &rows)
}

fn groups(groups: &[GroupView]) -> String {
    groups.iter().map(group).collect::<Vec<_>>().join("\n")
}

fn group(group: &GroupView) -> String {
    let mut text = format!("group {}", group.name);
    if let Some(hash) = &group.ring_hash {
        text += &format!("  ring {hash}");
    }
    if group.undecided {
        text += "  waits for first probes";
    }
    if group.no_answer {
        text += "  NO MEMBER MAY GET TRAFFIC: new flows are dropped";
    }
    if group.best_effort {
        text += "  ALL DOWN: every enabled member is used";
    }
    text.push('\n');
    let mut rows = vec![header(&MEMBER_COLUMNS)];
    rows.extend(group.members.iter().map(member));
    text += &columns(2, &rows);
    if group.members.iter().any(|member| member.overridden) {
        text += "  * set by an operator, not by the file\n";
    }
    text
}

fn backends(groups: &[GroupView]) -> String {
    let mut head = header(&MEMBER_COLUMNS);
    head.insert(1, "GROUP".into());
    let mut rows = vec![head];
    rows.extend(memberships(groups).into_iter().map(|it| {
        let mut row = member(it.member);
        row.insert(1, it.group.to_string());
        row
    }));
    columns(0, &rows)
}

const MEMBER_COLUMNS: [&str; 10] = [
    "BACKEND", "ADDRESS", "STATE", "HEALTH", "LATENCY", "PRIORITY", "WEIGHT", "SHARE", "FLOWS",
    "WHY",
];

fn member(member: &MemberView) -> Vec<String> {
    let state = match member.admin {
        Admin::Disable => "disabled",
        Admin::Drain => "draining",
        Admin::Enable => "enabled",
    };
    let health = match member.health {
        Health::Checking => "checking",
        Health::Down => "DOWN",
        Health::Up => "up",
    };
    vec![
        member.backend.to_string(),
        member.address.to_string(),
        format!("{state}{}", if member.overridden { " *" } else { "" }),
        health.into(),
        member
            .latency_ms
            .map_or_else(|| "-".into(), |ms| format!("{ms:.2} ms")),
        member.priority.to_string(),
        member.weight.to_string(),
        format!("{:.1} %", member.share_value * 100.0),
        member
            .flows
            .map_or_else(|| "-".into(), |flows| flows.to_string()),
        member
            .unreachable
            .clone()
            .unwrap_or_else(|| member.why.clone()),
    ]
}

fn counters(title: &str, counters: &BTreeMap<String, u64>) -> String {
    let shown: Vec<_> = counters
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let shown = if shown.is_empty() {
        "none yet".into()
    } else {
        shown.join(", ")
    };
    format!("{title}: {shown}\n")
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
