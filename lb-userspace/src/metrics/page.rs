//! The status page, in plain HTML.

use std::fmt::{self, Write as _};

use super::snapshot::Snapshot;
use crate::{
    engine::{GroupView, MemberView, ServiceView},
    model::{Admin, Health},
};

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>Waggle</title><style>\
    body{background:#14171a;color:#d5d8da;font:15px/1.5 sans-serif;margin:2em}\
    table{border-collapse:collapse;margin:.5em 0 1.5em}\
    th,td{text-align:left;padding:.15em 1.2em .15em 0}th{color:#8d959c;font-weight:normal}\
    a{color:#9cc4e4}.bad{color:#ff8f80;font-weight:bold}.odd{color:#f0c674}\
    </style></head><body>\n";

/// A page with services, groups and members. Whatever it shows is escaped.
pub fn page(snapshot: &Snapshot) -> String {
    let mut html = Html(HEAD.to_owned());
    edge(snapshot, &mut html);
    html.table(
        &["service", "address", "protocol", "group", "state"],
        snapshot.status.view.services.iter().map(service),
    );
    for it in &snapshot.status.view.groups {
        group(it, &mut html);
    }
    html.0 += "<p><a href=\"/metrics\">metrics</a></p></body></html>\n";
    html.0
}

fn edge(snapshot: &Snapshot, html: &mut Html) {
    let edge = &snapshot.status.edge;
    html.element("h1", "", &format!("edge {}", edge.name));
    let on: Vec<_> = edge.interfaces.iter().map(ToString::to_string).collect();
    let standing = format!(
        "on {}, pid {}, {}, {} of {} flow entries live",
        on.join(", "),
        edge.pid,
        edge.config.display(),
        edge.flows,
        edge.flow_entries
    );
    html.element("p", "", &standing);
    if !edge.attached {
        let alarm = "The packet program is not attached: start the daemon anew.";
        html.element("p", "bad", alarm);
    }
    if let Some(why) = &snapshot.status.pending {
        html.element("p", "bad", &format!("Not in force yet: {why}"));
    }
    for file in &snapshot.status.data_files {
        if let Some(why) = &file.broken {
            let path = file.path.display();
            let alarm = format!("{path} is broken, what it said before holds: {why}");
            html.element("p", "bad", &alarm);
        }
    }
}

fn service(service: &ServiceView) -> Vec<Cell> {
    let (state, class) = match service.published {
        true => ("served", ""),
        false => ("waits for first probes", "odd"),
    };
    vec![
        service.name.to_string().into(),
        std::net::SocketAddr::new(service.address, service.port)
            .to_string()
            .into(),
        service.protocol.clone().into(),
        service.group.to_string().into(),
        Cell(state.to_owned(), class),
    ]
}

fn group(group: &GroupView, html: &mut Html) {
    html.element("h2", "", &format!("group {}", group.name));
    if group.undecided {
        html.element("p", "odd", "Waits for first probes.");
    } else if group.no_answer {
        html.element(
            "p",
            "bad",
            "No member may get traffic: new flows get no backend.",
        );
    } else if group.best_effort {
        html.element("p", "bad", "All down: every enabled member is used.");
    }
    html.table(
        &[
            "backend", "address", "state", "health", "latency", "share", "flows", "why",
        ],
        group.members.iter().map(member),
    );
    if group.by_client {
        let note = "Shares are those of clients of whom nothing is known.";
        html.element("p", "", note);
    }
    if let Some(hash) = &group.ring_hash {
        html.element("p", "", &format!("ring {hash}"));
    }
}

fn member(member: &MemberView) -> Vec<Cell> {
    let (state, unusual) = match member.admin {
        Admin::Disable => ("disabled", "odd"),
        Admin::Drain => ("draining", "odd"),
        Admin::Enable => ("enabled", ""),
    };
    let (health, alarm) = match member.health {
        Health::Checking => ("checking", "odd"),
        Health::Down => ("DOWN", "bad"),
        Health::Up => ("up", ""),
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned()).into();
    let why = match &member.unreachable {
        Some(why) => Cell(why.clone(), "bad"),
        None => member.why.clone().into(),
    };
    vec![
        member.backend.to_string().into(),
        member
            .address
            .map_or_else(|| "group".to_owned(), |it| it.to_string())
            .into(),
        Cell(state.to_owned(), unusual),
        Cell(health.to_owned(), alarm),
        or_none(member.latency_ms.map(|ms| format!("{ms:.2} ms"))),
        format!("{:.1} %", member.share_value * 100.0).into(),
        or_none(member.flows.map(|flows| flows.to_string())),
        why,
    ]
}

/// Text of a table's cell, and its class.
struct Cell(String, &'static str);

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self(text, "")
    }
}

struct Html(String);

impl Html {
    fn element(&mut self, tag: &str, class: &str, text: &str) {
        // A string takes everything.
        let _ = match class {
            "" => writeln!(self.0, "<{tag}>{}</{tag}>", Escaped(text)),
            _ => writeln!(self.0, "<{tag} class=\"{class}\">{}</{tag}>", Escaped(text)),
        };
    }

    fn table(&mut self, head: &[&str], rows: impl Iterator<Item = Vec<Cell>>) {
        self.0 += "<table><tr>\n";
        head.iter().for_each(|name| self.element("th", "", name));
        for row in rows {
            self.0 += "</tr><tr>\n";
            row.iter()
                .for_each(|Cell(text, class)| self.element("td", class, text));
        }
        self.0 += "</tr></table>\n";
    }
}

/// Text that is nothing but text in HTML.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::nested;

    #[test]
    fn a_group_that_decides_by_client_says_whose_shares_it_shows() {
        let shown = nested().into_iter().map(|it| {
            let mut html = Html(String::new());
            group(&it, &mut html);
            html.0
        });
        let [inner, plain, web] = &shown.collect::<Vec<_>>()[..] else {
            panic!("three groups")
        };
        let note = "<p>Shares are those of clients of whom nothing is known.</p>\n";
        assert!(inner.contains(note) && web.contains(note), "{web}");
        assert!(!plain.contains(note), "{plain}");
    }

    #[test]
    fn a_group_in_a_group_is_a_row_without_address_and_has_no_ring() {
        let groups = nested();
        let mut html = Html(String::new());
        group(&groups[0], &mut html);
        assert!(!html.0.contains("<p>ring "), "{}", html.0);
        group(&groups[2], &mut html);
        let row = "<td>inner</td>\n<td>group</td>\n<td>enabled</td>\n<td>up</td>\n<td>-</td>\n\
            <td>75.0 %</td>\n<td>-</td>\n";
        assert!(
            html.0.contains(row) && html.0.contains("<p>ring "),
            "{}",
            html.0
        );
    }

    #[test]
    fn what_would_be_a_tag_is_text() {
        let mut html = Html(String::new());
        let rows = [vec![Cell::from("<b>&\"'".to_owned())]].into_iter();
        html.table(&["<i>"], rows);
        assert_eq!(
            html.0,
            "<table><tr>\n<th>&lt;i&gt;</th>\n</tr><tr>\n\
             <td>&lt;b&gt;&amp;&quot;&#39;</td>\n</tr></table>\n"
        );
    }
}
