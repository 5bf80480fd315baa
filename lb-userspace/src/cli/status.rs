mod left;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use serde::Serialize;

use self::left::Left;
use super::{
    Daemon, Format, Said,
    columns::{columns, header, without_empty},
    examples, json,
};
use crate::{
    config,
    control::{EdgeView, Reply, Request, Status},
    engine::{GroupView, MemberView},
    model::{Admin, Health, Model, Name},
    refusal::Refused,
};

/// Show what the daemon knows: services, groups, health, shares, flows, verdicts.
///
/// A member's line says why it gets its share or none, and a star marks what an operator has set over
/// the file. Counters are those since the tables were made.
///
/// Without a daemon it shows what the last one left in the kernel, with the age of its last heartbeat,
/// and exits with 1; the names are not in there, but --config tells them.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle status", "waggle status backend --format json"]))]
pub(super) struct Arguments {
    /// Show only these.
    #[arg(value_enum)]
    only: Option<Part>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Take the places of socket and pins, and the names, from this configuration.
    #[arg(long, value_name = "FILE", conflicts_with = "edge")]
    config: Option<PathBuf>,
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
    pub(super) fn run(mut self) -> Result<Said, Refused> {
        let checked = self.config.as_deref().map(config::load).transpose()?;
        let model = checked.map(|checked| checked.model);
        self.daemon.locate(model.as_ref());
        let status = self.daemon.ask(&Request::Status, |reply| match reply {
            Reply::Status(status) => Some(status),
            _ => None,
        });
        match status {
            Ok(status) => self.print(&status).map(Said::from),
            Err(refused) if refused.has("no-daemon") => match self.left(model.as_ref())? {
                Some(left) => Ok(Said {
                    lacks: Some(refused),
                    ..left.print(self.format, self.only)?.into()
                }),
                None => Err(refused),
            },
            Err(refused) => Err(refused),
        }
    }

    /// What a daemon that is gone has left.
    fn left(&self, model: Option<&Model>) -> Result<Option<Left>, Refused> {
        let pin_dir = self.daemon.pin_dir(model)?;
        let left = pin_dir.map_or(Ok(None), |dir| Left::read(&dir, model));
        Ok(left?)
    }

    fn print(&self, status: &Status) -> Result<String, Refused> {
        match (self.format, self.only) {
            (Format::Json, None) => json(status),
            (Format::Json, Some(Part::Service)) => json(&status.view.services),
            (Format::Json, Some(Part::Group)) => json(&status.view.groups),
            (Format::Json, Some(Part::Backend)) => json(&memberships(&status.view.groups)),
            (Format::Text, only) => Ok(text(status, only)),
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
        interfaces,
        pid,
        uptime_s,
        heartbeat_age_s,
        config,
        flows,
        flow_entries,
        translations,
        nat_entries,
        attached: _,
        pin_dir: _,
    } = &status.edge;
    let pending = (status.pending.iter()).map(|why| format!("NOT IN FORCE YET: {why}\n"));
    let broken = status.data_files.iter().filter_map(|file| {
        let why = file.broken.as_ref()?;
        let path = file.path.display();
        Some(format!("BROKEN {path}, what it said before holds: {why}\n"))
    });
    let warnings = status.warnings.iter();
    let warnings = warnings.map(|warning| format!("WARNING {warning}\n"));
    let uptime = humantime::format_duration(Duration::from_secs(*uptime_s));
    let silent = match heartbeat_age_s {
        0..=5 => String::new(),
        age => format!(", NO HEARTBEAT FOR {age} s"),
    };
    let on: Vec<_> = interfaces.iter().map(ToString::to_string).collect();
    let on = on.join(", ");
    format!(
        "edge {name} on {on}, pid {pid}, up {uptime}{silent}, {}\n{flows} of {flow_entries} flow entries live\n{}{}",
        config.display(),
        match translations {
            0 => String::new(),
            live => format!("{live} of {nat_entries} translations live\n"),
        },
        pending.chain(broken).chain(warnings).collect::<String>(),
    )
}

fn services(status: &Status) -> String {
    let mut rows = vec![header(&[
        "SERVICE",
        "ADDRESS",
        "PROTOCOL",
        "GROUP",
        "STATE",
        "PINNED CLIENTS",
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
            service.pins.map_or_else(String::new, |it| it.to_string()),
        ]);
    }
    columns(0, &without_empty("PINNED CLIENTS", rows))
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
        text += "  NO MEMBER MAY GET TRAFFIC: new flows get no backend";
    }
    if group.best_effort {
        text += "  ALL DOWN: every enabled member is used";
    }
    text.push('\n');
    let mut rows = vec![header(&MEMBER_COLUMNS)];
    rows.extend(group.members.iter().map(member));
    text += &columns(2, &rows);
    if group.by_client {
        text += "  shares are those of clients of whom nothing is known\n";
    }
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
        member
            .address
            .map_or_else(|| "group".to_owned(), |it| it.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::nested;

    #[test]
    fn groups_in_groups_are_members_and_by_client_is_said_below() {
        let mut views = nested();
        for hash in views.iter_mut().filter_map(|it| it.ring_hash.as_mut()) {
            *hash = "HASH".to_owned();
        }
        let expected = "\
group inner
  BACKEND  ADDRESS       STATE    HEALTH  LATENCY  PRIORITY  WEIGHT  SHARE    FLOWS  WHY
  a        198.51.100.1  enabled  up      1.00 ms  1         1       0.0 %    -      the last probe was good
  b        198.51.100.2  enabled  up      1.00 ms  1         1       100.0 %  -      the last probe was good
  shares are those of clients of whom nothing is known

group plain  ring HASH
  BACKEND  ADDRESS       STATE    HEALTH  LATENCY  PRIORITY  WEIGHT  SHARE   FLOWS  WHY
  a        198.51.100.1  enabled  up      1.00 ms  1         1       25.0 %  -      the last probe was good
  c        198.51.100.3  enabled  up      1.00 ms  1         3       75.0 %  -      the last probe was good

group web  ring HASH
  BACKEND  ADDRESS       STATE    HEALTH  LATENCY  PRIORITY  WEIGHT  SHARE   FLOWS  WHY
  inner    group         enabled  up      -        1         3       75.0 %  -      2 of its 2 members healthy, 1 needed
  c        198.51.100.3  enabled  up      1.00 ms  1         1       25.0 %  -      the last probe was good
  shares are those of clients of whom nothing is known
";
        assert_eq!(groups(&views), expected);
    }

    #[test]
    fn by_backend_groups_in_groups_have_lines_of_their_own() {
        let text = backends(&nested());
        let first = |line: &str| {
            line.split_whitespace()
                .take(3)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let lines: Vec<_> = text.lines().map(first).collect();
        let expected = [
            "BACKEND GROUP ADDRESS",
            "a inner 198.51.100.1",
            "a plain 198.51.100.1",
            "b inner 198.51.100.2",
            "c plain 198.51.100.3",
            "c web 198.51.100.3",
            "inner web group",
        ];
        assert_eq!(lines, expected);
    }
}
