//! The files in `docs/` that are made of the code.

use std::{env, fs, path::Path};

use lb_common::{FLOW_EVENTS, FlowEvent, VERDICTS, Verdict};
use lb_userspace::refusal::{self, Area, Entry};

/// Set, it has the files written instead of compared.
const WRITE: &str = "WAGGLE_WRITE_DOCS";

#[test]
fn errors_md_is_the_catalogue() {
    check("errors.md", &errors());
}

#[test]
fn verdicts_md_has_every_way_out_of_the_packet_program() {
    check("verdicts.md", &verdicts());
}

/// The document `name` is `text`.
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name);
    if env::var_os(WRITE).is_some() {
        fs::write(&path, text).expect("docs/ can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/{name} is out of date; write it anew: \
         `{WRITE}=1 cargo test -p lb-userspace --test documents`"
    );
}

/// The catalogue of refusals.
fn errors() -> String {
    let mut text = "# What Waggle refuses, and how to mend it

Made of `lb-userspace/src/refusal`. Every command prints `error[code]: what is wrong; what would be
right`, or `warning[code]: ..`, and so does the daemon when it does not start; its log has `code=..` at
the end of a line. A mistake in a file has its place before it: `group[2].member[0].weight`, counted
from 0. What stands in braces differs from case to case. With `--format json` there is a document on
standard output with `errors`, each with `code`, `message`, `mend` and, in a file, `path`. A daemon that
refuses a change adds `note: nothing changed`. Wrong usage (exit status 2) has no code.
"
    .to_owned();
    let areas = [refusal::CONFIGURATION, refusal::CONTROL, refusal::OPERATION].concat();
    for Area { title, entries } in areas {
        text += &format!("\n## {title}\n\n| code | message | what it means | what to do |\n");
        text += "|---|---|---|---|\n";
        for entry in entries {
            let Entry {
                code,
                message,
                mend,
                meaning,
            } = entry;
            let [message, mend, meaning] = [message, mend, meaning].map(|cell| cell_of(cell));
            text += &format!("| `{code}` | {message} | {meaning} | {mend} |\n");
        }
    }
    text
}

/// `template` as one cell of a table, with single braces where the template doubles them.
fn cell_of(template: &str) -> String {
    template
        .trim()
        .replace("{{", "{")
        .replace("}}", "}")
        .replace('|', "\\|")
}

/// The ways out of the packet program, and the looks-up in its flow table.
fn verdicts() -> String {
    let mut text = "# What became of packets

Made of `lb-common/src/verdict.rs`. Every packet that the program sees leaves by exactly one verdict. `waggle status`
shows the counts since the tables were made; metrics have them as `waggle_packets_total{verdict=\"..\"}`, and
`packet_log = \"debug\"` logs each packet of a service with its own.

| verdict | what it means | what to do if it grows |
|---|---|---|
"
    .to_owned();
    for verdict in VERDICTS {
        let (label, meaning, hint) = (verdict.label(), verdict.meaning(), of_verdict(*verdict));
        text += &format!("| `{label}` | {meaning} | {hint} |\n");
    }
    text += "
## Flow table

Packets by what became of their look-up in the flow table, and of what was written for them
(`waggle_flow_events_total{event=\"..\"}`). Those that are not of a service, or are fragments behind the first or ICMP
messages, are in none.

| event | what it means | what to do if it grows |
|---|---|---|
";
    for event in FLOW_EVENTS {
        let (label, meaning, hint) = (event.label(), event.meaning(), of_event(*event));
        text += &format!("| `{label}` | {meaning} | {hint} |\n");
    }
    text
}

fn of_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::EchoAnswered | Verdict::Forwarded | Verdict::NotOurs => "nothing",
        Verdict::FragmentUnknown => {
            "see why fragments come out of order, or by other edges than the first of their packet; \
             lower the clients' MTU; with `limited` below, raise `edge.insert_limit`"
        }
        Verdict::TooBig => {
            "if it goes on, clients do not get or heed the ICMP error: let ICMP pass on the way to them, \
             or raise the MTU between edge and backends by the tunnel's header"
        }
        Verdict::NoAnswer => "`waggle explain` says why nobody may get them",
        Verdict::NoNextHop => {
            "`waggle status backend` names the way that is not open; see that its next hop answers ARP or \
             neighbour solicitations"
        }
        Verdict::NoTarget => "start the daemon anew, and report it with the log",
        Verdict::NoHeadroom => {
            "set `edge.xdp_mode = \"generic\"`, or use a driver that leaves 256 bytes in front of packets"
        }
        Verdict::TtlExpired => {
            "a few are traceroutes; many are a loop: see that no backend sends packets of the service back"
        }
        Verdict::PolicyDropped | Verdict::PolicyPassed | Verdict::Rejected => {
            "`waggle explain` names the rule or the group that says so"
        }
        Verdict::Returned => "nothing",
        Verdict::Untranslated => {
            "a few come after a restart of clients or of the host; if it grows, raise `edge.nat_entries`"
        }
        Verdict::NoPort => {
            "widen `edge.nat_ports`, or add backends; `edge.nat_source` with an address of its own has \
             room for 64,000 flows to each backend"
        }
        Verdict::TranslationLimited => "look for a flood; else raise `edge.insert_limit`",
        Verdict::BackendDown => {
            "nothing: it follows from a backend that went down and `on_down` of its group"
        }
        Verdict::ReplyLimited => "look for a flood; else raise `edge.reply_limit`",
        Verdict::ReplySilent => "nothing, unless it is many: then somebody forges addresses",
    }
}

fn of_event(event: FlowEvent) -> &'static str {
    match event {
        FlowEvent::Former
        | FlowEvent::Hit
        | FlowEvent::Inserted
        | FlowEvent::Pinned
        | FlowEvent::PinSet => "nothing",
        FlowEvent::Miss => {
            "nothing; if most packets miss, flows are short, or the table is too small"
        }
        FlowEvent::Foreign => "nothing: one in some millions is chance",
        FlowEvent::Left => "nothing: it follows from a drain, a flush or a dead backend",
        FlowEvent::Ended => "as for `backend_down` above",
        FlowEvent::Evicted => "make `edge.flow_entries` four times the connections at a time",
        FlowEvent::Limited | FlowEvent::PinLimited => {
            "look for a flood; else raise `edge.insert_limit`"
        }
    }
}
