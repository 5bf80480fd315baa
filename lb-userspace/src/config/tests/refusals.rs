//! Every entry of the catalogue that concerns a file is provoked here.

mod files;

use std::{collections::BTreeSet, net::Ipv4Addr};

use lb_common::Protocol;

use super::{GOOD, with};
use crate::{
    config::{assume, listeners, own_ports, parse},
    refusal::{CONFIGURATION, Code, Errors, Problem},
};

/// For each code what [`GOOD`] is changed by to provoke it: a part and what stands in its place.
const CASES: &[(&str, &str, &str)] = &[
    ("no-toml", "[edge]", "[edge"),
    ("unknown-key", "name = \"e\"", "name = \"e\"\ncolour = 1"),
    ("missing-key", "name = \"e\"", ""),
    ("empty-list", "\"eth0\"", ""),
    ("wrong-type", "port = 80", "port = \"80\""),
    ("taken-name", "name = \"b\"", "name = \"a\""),
    ("unknown-name", "group = \"g\"", "group = \"h\""),
    ("out-of-range", "port = 80", "port = 0"),
    ("unknown-word", "\"tcp\"", "\"sctp\""),
    ("bad-name", "name = \"e\"", "name = \"-\""),
    ("bad-address", "\"10.0.0.1\"", "\"web.example\""),
    ("unusable-address", "\"10.0.0.1\"", "\"127.0.0.1\""),
    ("mapped-address", "\"10.0.0.1\"", "\"::ffff:10.0.0.1\""),
    ("decorated-address", "\"10.0.0.1\"", "\"[2001:db8::1]\""),
    ("bad-listener", "[edge]", "[edge]\nmetrics = \"here\""),
    ("bad-ports", "[edge]", "[edge]\nnat_ports = \"80\""),
    (
        "several-nat-sources",
        "[edge]",
        "[edge]\nnat_source = [\"10.0.0.7\", \"10.0.0.8\"]",
    ),
    (
        "port-without-nat",
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\nport = 8080",
    ),
    (
        "gue-port-without-gue",
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\ngue_port = 8080",
    ),
    ("missing-unit", "[edge]", "[edge]\nstartup_grace = 10"),
    ("bad-duration", "[edge]", "[edge]\nstartup_grace = \"soon\""),
    ("relative-path", "[edge]", "[edge]\nstate_dir = \"waggle\""),
    ("bad-interface-name", "\"eth0\"", "\"eth0:1\""),
    (
        "interface-twice",
        "\"eth0\"",
        "\"eth0\", \"eth1\", \"eth0\"",
    ),
    (
        "bad-vlan",
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\nvlan = 4095",
    ),
    (
        "bad-prefix",
        "[edge]",
        "[edge]\ntunnel_sources = [\"10.0.0.1\"]",
    ),
    (
        "several-tunnel-sources",
        "[edge]",
        "[edge]\ntunnel_sources = [\"10.0.0.0/24\", \"10.0.1.0/24\"]",
    ),
    ("empty-text", "[edge]", "[edge]\nring_key = \"\""),
    ("odd-size", "[edge]", "[edge]\nflow_entries = 1000"),
    ("backend-is-service", "\"10.0.0.1\"", "\"203.0.113.10\""),
    ("member-twice", "backend = \"b\"", "backend = \"a\""),
    ("server-twice", "10.0.0.2", "10.0.0.1"),
    (
        "zero-weight",
        "backend = \"b\"",
        "backend = \"b\", weight = 0",
    ),
    ("long-timeout", "\"http\"", "\"http\", timeout = \"31s\""),
    ("bad-request-path", "\"http\"", "\"http\", path = \"x\""),
    ("bad-host", "\"http\"", "\"http\", host = \"a b\""),
    (
        "header-twice",
        "\"http\"",
        "\"http\", headers = { a = \"1\", A = \"2\" }",
    ),
    (
        "bad-header-name",
        "\"http\"",
        "\"http\", headers = { \"a b\" = \"1\" }",
    ),
    (
        "reserved-header",
        "\"http\"",
        "\"http\", headers = { Host = \"a\" }",
    ),
    (
        "bad-header-value",
        "\"http\"",
        "\"http\", user_agent = \" a\"",
    ),
    (
        "other-health-rule",
        "\"http\"",
        "\"http\", health = { window = 4, fall = 4 }",
    ),
    ("bad-status", "\"http\"", "\"http\", expect = [\"ok\"]"),
    ("meaningless-key", "\"http\"", "\"tcp\", path = \"/\""),
    ("no-server-name", "\"http\"", "\"https\", host = \"~\""),
    (
        "bad-server-name",
        "\"http\"",
        "\"https\", host = \"a\", sni = \"~\"",
    ),
    (
        "unasked-authorities",
        "\"http\"",
        "\"https\", host = \"a\", verify = false, ca_file = \"/ca.pem\"",
    ),
    ("unprobed-members", "\"http\"", "\"none\""),
    ("group-of-other-family", "203.0.113.10", "2001:db8::10"),
    ("backend-of-other-family", "10.0.0.2", "2001:db8::2"),
    ("unused-backend", "{ backend = \"a\" }, ", ""),
    ("bad-location", "[edge]", "[edge]\nlocation = \"Europe.\""),
    ("bad-region", "\"10.0.0.1\"", "\"10.0.0.1\"\nregion = \"\""),
    (
        "bad-data-path",
        "[edge]",
        "[latency]\nfiles = [\"\"]\n[edge]",
    ),
    (
        "unreadable-data",
        "[edge]",
        "[latency]\nfiles = [\"gone.csv\"]\n[edge]",
    ),
];

/// For each code the rules of the service that provoke it.
const RULES: &[(&str, &str)] = &[
    ("rule-without-route", "{ clients = [\"192.0.2.0/24\"] }"),
    (
        "rule-with-two-routes",
        "{ clients = [\"192.0.2.0/24\"], group = \"g\", answer = \"drop\" }",
    ),
    (
        "clients-twice",
        "{ clients = [\"192.0.2.0/24\", \"192.0.2.0-192.0.2.255\"], answer = \"drop\" }",
    ),
    ("bad-clients", "{ clients = [\"all\"], answer = \"drop\" }"),
    (
        "host-bits",
        "{ clients = [\"192.0.2.1/24\"], answer = \"drop\" }",
    ),
    (
        "mixed-range",
        "{ clients = [\"192.0.2.1-2001:db8::1\"], answer = \"drop\" }",
    ),
    (
        "reversed-range",
        "{ clients = [\"192.0.2.9-192.0.2.1\"], answer = \"drop\" }",
    ),
    (
        "mapped-clients",
        "{ clients = [\"::ffff:192.0.2.1\"], answer = \"drop\" }",
    ),
    (
        "rule-by-several",
        "{ clients = [\"192.0.2.0/24\"], geo = [\"IE\"], answer = \"drop\" }",
    ),
    (
        "answer-that-prefers",
        "{ geo = [\"IE\"], prefer = [\"Europe.UK\"], answer = \"drop\" }",
    ),
    (
        "many-preferred",
        "{ geo = [\"IE\"], prefer = [\"A\", \"B\", \"C\", \"D\", \"E\", \"F\", \"G\", \"H\", \"I\"] }",
    ),
    (
        "idle-preference",
        "{ geo = [\"IE\"], prefer = [\"Europe.UK\"] }",
    ),
];

const IDLE: &str = "[[group]]
name = \"h\"
member = [{ backend = \"a\", enabled = false }]
probe = { kind = \"none\" }
";

/// A further service of a group.
fn service(name: &str, port: u16, group: &str) -> String {
    format!(
        "[[service]]\nname = \"{name}\"\naddress = \"203.0.113.10\"\nprotocol = \"tcp\"\n\
         port = {port}\ngroup = \"{group}\"\n"
    )
}

/// A group that only another group names, with this line.
fn inner(line: &str) -> String {
    let member = "{ backend = \"b\" }";
    let outer = with(member, &format!("{member}, {{ group = \"h\" }}"));
    outer + &IDLE.replace("\"h\"", &format!("\"h\"\n{line}"))
}

/// The cases that are more than another value.
fn longer() -> [(&'static str, String); 15] {
    let served = service("t", 81, "h");
    let many: String = (1..1025)
        .map(|port| service(&format!("s{port}"), 1000 + port, "g"))
        .collect();
    let ranges: Vec<_> = (200..209).map(|code| format!("\"{code}\"")).collect();
    let ranges = format!("\"http\", expect = [{}]", ranges.join(", "));
    let headers: Vec<_> = (0..9).map(|i| format!("x-{i} = \"1\"")).collect();
    let headers = format!("\"http\", headers = {{ {} }}", headers.join(", "));
    let control = format!("[edge]\ncontrol = \"/{}\"", "x".repeat(107));
    [
        ("long-socket-path", with("[edge]", &control)),
        ("taken-endpoint", GOOD.to_owned() + &service("t", 80, "g")),
        (
            "taken-group-number",
            GOOD.to_owned()
                + &IDLE.replace("\"h\"", "\"g19493\"")
                + &IDLE.replace("\"h\"", "\"g48715\""),
        ),
        (
            "no-probe-port",
            GOOD.to_owned() + &IDLE.replace("none", "http"),
        ),
        (
            "several-probe-ports",
            GOOD.to_owned() + &service("t", 81, "g"),
        ),
        ("many-headers", with("\"http\"", &headers)),
        ("many-ranges", with("\"http\"", &ranges)),
        ("too-many", with("\"http\"", "\"http\", port = 80") + &many),
        (
            "small-ring-pool",
            with("[edge]", "[edge]\nring_slots = 32768") + IDLE + &served,
        ),
        (
            "no-service",
            GOOD.split("[[service]]")
                .next()
                .unwrap_or_default()
                .replace("\"http\"", "\"http\", port = 80"),
        ),
        ("unused-group", GOOD.to_owned() + IDLE),
        ("unused-affinity", inner("affinity = {}")),
        ("unused-on-down", inner("on_down = { tcp = \"reset\" }")),
        (
            "shared-preference",
            super::rules::text("{ geo = [\"IE\"], prefer = [\"Europe.UK\"] }")
                + &service("t", 81, "g"),
        ),
        ("disabled-group", GOOD.to_owned() + IDLE + &served),
    ]
}

/// A rule that drops these clients.
fn rule(clients: impl Iterator<Item = String>) -> String {
    let clients: Vec<_> = clients.map(|it| format!("\"{it}\"")).collect();
    format!(
        "rule = [{{ clients = [{}], answer = \"drop\" }}]\n",
        clients.join(", ")
    )
}

/// Services that make 2 to the power of `bits` classes of IPv4 clients: the n-th drops those whose
/// n-th bit is set.
fn classes(bits: u8) -> String {
    let services = (0..bits).map(|bit| {
        let networks = (0..1_u32 << bit).map(move |high| {
            let network = (high << 1 | 1) << (31 - bit);
            format!("{}/{}", Ipv4Addr::from_bits(network), bit + 1)
        });
        service(&format!("c{bit}"), 1000 + u16::from(bit), "g") + &rule(networks)
    });
    services.collect()
}

/// The cases in which the kernel's tables are too small.
fn large() -> [(&'static str, String); 5] {
    let text = with("\"http\"", "\"http\", port = 80");
    let halves = (0..8193_u32).map(|n| format!("{}/25", Ipv4Addr::from_bits(n << 8)));
    let every_second =
        (0..65_537_u32).map(|n| format!("{:x}:{:x}::/32", n >> 15 | 0x2000, n << 1 & 0xffff));
    let others = (0..24).map(|n| {
        let client = format!("2001:db8::{n}");
        service(&format!("d{n}"), 2000 + n, "g") + &rule(std::iter::once(client))
    });
    let others: String = others.collect();
    let interfaces: Vec<_> = (0..65).map(|n| format!("\"eth{n}\"")).collect();
    [
        ("many-classes", format!("{text}{}", classes(15))),
        ("many-long-prefixes", format!("{text}{}", rule(halves))),
        ("many-v6-prefixes", format!("{text}{}", rule(every_second))),
        ("many-rows", format!("{text}{}{others}", classes(12))),
        ("many-interfaces", with("\"eth0\"", &interfaces.join(", "))),
    ]
}

/// What is wrong with the text of a configuration, or looks unintended.
fn found(text: &str) -> Vec<Problem> {
    parse(text).map_or_else(|Errors(errors)| errors, |checked| checked.warnings)
}

/// The codes that came where they should.
fn provoked() -> BTreeSet<Code> {
    let short = CASES.iter();
    let short = short.map(|(code, part, instead)| (*code, with(part, instead)));
    let mut provoked = BTreeSet::new();
    let rules = RULES.iter();
    let rules = rules.map(|(code, rules)| (*code, super::rules::text(rules)));
    let groups = super::groups::CASES.iter();
    let groups = groups.map(|(code, groups)| (*code, super::groups::text(groups)));
    let all = short.chain(rules).chain(longer()).chain(large());
    for (code, text) in all.chain(groups) {
        let codes: Vec<_> = found(&text).into_iter().map(|it| it.code).collect();
        let code = Code::from(code);
        assert!(codes.contains(&code), "{code} is expected, {codes:?} came");
        provoked.insert(code);
    }
    let model = parse(GOOD).unwrap().model;
    let Errors(assumed) = assume::parse("pin = 1", &model.backends).unwrap_err();
    let listener = (Protocol::TCP, "203.0.113.10:80".parse().unwrap());
    let served = listeners::warnings_for_listeners(&model, &[listener], &BTreeSet::new());
    let translated = with(
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\nforward = \"full-nat\"",
    );
    let translated = parse(&translated).unwrap().model;
    let own = own_ports::warning_for(&translated, "1024 65535", "");
    provoked.extend(
        assumed
            .into_iter()
            .chain(served)
            .chain(own)
            .map(|problem| problem.code),
    );
    provoked.extend(files::unread());
    provoked.extend(files::untrusted());
    provoked.extend(files::misled());
    provoked
}

#[test]
fn every_refusal_of_a_file_is_provoked() {
    let entries = CONFIGURATION.iter().flat_map(|area| area.entries);
    let codes: BTreeSet<_> = entries.map(|entry| Code::from(entry.code)).collect();
    let provoked = provoked();
    let untested: Vec<_> = codes.difference(&provoked).collect();
    assert!(untested.is_empty(), "add a case for {untested:?}");
    assert_eq!(provoked, codes);
}
