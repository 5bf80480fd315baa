mod groups;
mod panics;
mod refusals;
mod rules;

use std::{fs, path::Path, time::Duration};

use super::*;
use crate::model::{HealthRule, Method, ProbeKind, Smoothing};

/// A small configuration without a mistake.
pub(super) const GOOD: &str = r#"
[edge]
name = "e"
interfaces = ["eth0"]

[[backend]]
name = "a"
address = "10.0.0.1"

[[backend]]
name = "b"
address = "10.0.0.2"

[[group]]
name = "g"
member = [{ backend = "a" }, { backend = "b" }]
probe = { kind = "http" }

[[service]]
name = "s"
address = "203.0.113.10"
protocol = "tcp"
port = 80
group = "g"
"#;

/// The configuration that is [`GOOD`] but for one part.
pub(super) fn with(part: &str, instead: &str) -> String {
    assert_eq!(GOOD.matches(part).count(), 1, "{part}");
    GOOD.replace(part, instead)
}

/// What is wrong with a configuration.
pub(super) fn mistakes(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(Errors(problems)) => problems.iter().map(Problem::to_string).collect(),
    }
}

/// Puts each of `cases` in the place of `part`, and compares what is wrong then.
pub(super) fn expect(part: &str, cases: &[(&str, &[&str])]) {
    for (instead, expected) in cases {
        assert_eq!(mistakes(&with(part, instead)), *expected, "{instead}");
    }
}

fn warnings(text: &str) -> Vec<String> {
    let warnings = parse(text).unwrap().warnings;
    warnings.iter().map(Problem::to_string).collect()
}

#[test]
fn defaults() {
    let Checked {
        model, warnings, ..
    } = parse(GOOD).unwrap();
    assert_eq!(warnings, []);
    let edge = &model.edge;
    assert_eq!(edge.pin_dir, Path::new("/sys/fs/bpf/waggle/e"));
    assert_eq!(edge.state_dir, Path::new("/var/lib/waggle/e"));
    assert_eq!(edge.control, Path::new("/run/waggle/e.sock"));
    assert_eq!(edge.startup_grace, Duration::from_secs(10));
    assert_eq!(edge.ring_grace, Duration::from_secs(10));
    let group = &model.groups["g"];
    assert_eq!(group.members[0].weight.value(), 50);
    assert_eq!(group.members[0].priority.value(), 1);
    assert!(group.members[0].enabled);
    assert_eq!(group.health, HealthRule::DEFAULT);
    assert_eq!(group.slow_start, Duration::ZERO);
    let probe = group.probe.as_ref().unwrap();
    assert_eq!(probe.port, 80, "the service's");
    assert_eq!(probe.interval, Duration::from_secs(30));
    assert_eq!(probe.timeout, Duration::from_secs(5));
    assert_eq!(probe.smoothing, Smoothing::default());
    let ProbeKind::Http(http) = &probe.kind else {
        panic!("{probe:?}")
    };
    assert_eq!((http.method, http.path.as_str()), (Method::Head, "/"));
    let user_agent = ("User-Agent".to_owned(), "Waggle Health Probe".to_owned());
    assert_eq!(http.headers, [user_agent]);
    assert!(http.expect.len() == 1 && http.expect[0].contains(200));
}

#[test]
fn the_order_of_the_tables_does_not_matter() {
    let parts: Vec<&str> = GOOD.trim().split("\n\n").collect();
    let reversed: Vec<&str> = parts.iter().rev().copied().collect();
    assert_eq!(parse(&reversed.join("\n\n")), parse(GOOD));
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let text = r#"
        colour = "red"
        [edge]
        name = "one\ntwo"
        interfaces = ["eth0"]
        startup_grace = 10
        flow_entries = 1000
        [[backend]]
        name = "a"
        adress = "10.0.0.1"
        [[backend]]
        name = "a"
        address = "10.0.0.256"
        [[group]]
        name = "web"
        probe = { kind = "http", health = { window = 4, required = 5 } }
        [[group.member]]
        backend = "a"
        weight = 1001
        [[group.member]]
        backend = "b"
        weight = 0
        priority = 6
        [[service]]
        name = "web"
        address = "203.0.113.10"
        protocol = "sctp"
        port = "80"
        group = "wep"
    "#;
    let expected = [
        r#"backend[1].name: "a" is also the name of backend[0]; give each its own name"#,
        r#"edge.name: "one\ntwo" is no name; a name is 1 to 63 letters, digits, `.`, `_` or `-` and begins with a letter or digit"#,
        r#"edge.startup_grace: 10 has no unit; use a number with a unit, like "10s" or "250ms""#,
        "edge.flow_entries: 1000 does not fit; use a power of two from 64 to 67108864",
        r#"backend[0].address: is missing; add `address = "10.0.1.11"`"#,
        "backend[0].adress: unknown key; did you mean `address`?",
        r#"backend[1].address: "10.0.0.256" is no IP address; use an IP address like "192.0.2.1" or "2001:db8::1""#,
        r#"service[0].protocol: "sctp" is unknown; use "tcp" or "udp""#,
        r#"service[0].port: "80" is a string; use 1 to 65535"#,
        r#"service[0].group: no group is named "wep"; did you mean "web"?"#,
        "group[0].member[0].weight: 1001 is out of range in front-door; use 1 to 1000, or list `stages`, which take 0 to 1000",
        r#"group[0].member[1].backend: no backend is named "b"; did you mean "a"?"#,
        "group[0].member[1].priority: 6 is out of range in front-door; use 1 to 5, or list `stages`, which take 1 to 1000",
        "group[0].member[1].weight: weight 0 does not exist in front-door; use 1 to 1000, or `enabled = false`, or `waggle backend drain`",
        "group[0].probe.health.required: 5 is out of range; use 1 to 4",
        "colour: unknown key; known here: edge, backend, service, group, locations, geography, latency",
    ];
    assert_eq!(mistakes(text), expected);
    assert_eq!(parse(text).unwrap_err().to_string(), expected.join("\n"));
}

#[test]
fn a_text_that_is_not_toml_stops_at_its_place() {
    for (text, place) in [
        ("[edge]\nname = ", "line 2, column 8"),
        ("[edge]\nname = \"a\nb\"\n", "line 2, column 10"),
        ("[edge]\nname = \"a\"\nname = \"b\"\n", "line 3, column 1"),
        ("[edge]\nnäme = 1\n", "line 2, column 2"),
        ("]", "line 1, column 1"),
        ("[edge]\nname = 99999999999999999999", "line 2, column 8"),
        ("\0", "line 1, column 1"),
    ] {
        let mistakes = mistakes(text);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        assert!(mistakes[0].starts_with(place), "{mistakes:?}");
        assert!(!mistakes[0].contains('\n'), "{mistakes:?}");
    }
}

#[test]
fn a_wrong_type_in_place_of_a_table_does_not_hide_other_mistakes() {
    let text = "edge = 1\nbackend = {}\ngroup = 3\nservice = [1, {}]\n";
    let expected = [
        "edge: 1 is an integer; use a table: `edge = { .. }`",
        "backend: is a table; use a list of tables: `[[backend]]` or `backend = [{ .. }]`",
        "service[0]: 1 is an integer; use a table: `{ .. }`",
        r#"service[1].name: is missing; add `name = "web"`"#,
        r#"service[1].address: is missing; add `address = "203.0.113.10"`"#,
        r#"service[1].protocol: is missing; add `protocol = "tcp"`"#,
        "service[1].port: is missing; add `port = 443`",
        r#"service[1].group: is missing; add `group = "web"`"#,
        "group: 3 is an integer; use a list of tables: `[[group]]` or `group = [{ .. }]`",
    ];
    assert_eq!(mistakes(text), expected);
}

#[test]
fn an_empty_file_is_told_how_to_begin() {
    for text in ["", "\n", "# nothing\n"] {
        let expected = ["edge: is missing; add `[edge]` with `name` and `interfaces`"];
        assert_eq!(mistakes(text), expected);
    }
}

#[test]
fn what_is_not_used_is_a_warning() {
    let spare = "\n[[backend]]\nname = \"spare\"\naddress = \"10.0.0.3\"\n\
        [[group]]\nname = \"idle\"\nmember = [{ backend = \"b\", enabled = false }]\n\
        probe = { kind = \"none\" }\n";
    let expected = [
        r#"backend[2]: backend "spare" is in no group; add it to one or remove it"#,
        r#"group[1]: no service uses group "idle"; add one or remove it"#,
        r#"group[1]: all members of "idle" are disabled; its services answer nobody until one is enabled"#,
    ];
    assert_eq!(warnings(&format!("{GOOD}{spare}")), expected);
    let edge = "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\n";
    let expected = ["service: there is none; add a `[[service]]`, or nothing is forwarded"];
    assert_eq!(warnings(edge), expected);
}

#[test]
fn every_file_in_config_is_without_mistake_and_warning() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config");
    let mut seen = 0;
    for directory in [directory.clone(), directory.join("examples")] {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                assert_eq!(load(&path).unwrap().warnings, [], "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 2);
}

const ANNOTATED: &str = include_str!("../../../config/waggle.toml");

/// The annotated file with the settings that it shows as comments, and how many these are.
fn uncommented() -> (String, usize) {
    let is_key = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let mut shown = 0;
    let mut uncomment = |line: &str| {
        let text = line.strip_prefix("# ").unwrap_or("");
        match text.split_once(" = ") {
            Some((key, _)) if is_key(key) => {
                shown += 1;
                // What follows two spaces is a remark.
                text.split("  ").next().unwrap_or(text).to_owned() + "\n"
            }
            _ => line.to_owned() + "\n",
        }
    };
    let text = ANNOTATED.lines().map(&mut uncomment).collect();
    (text, shown)
}

#[test]
fn the_annotated_file_states_the_defaults() {
    let (text, shown) = uncommented();
    assert_eq!(shown, 52);
    assert!(parse(&text).is_ok());
    // Nothing is rounded by default.
    let text = text.replace("quantum = \"5ms\"\n", "");
    let mut given = parse(&text).unwrap().model;
    let mut default = parse(ANNOTATED).unwrap().model;
    // Host, headers, VLANs and places have no default: the file shows an example.
    assert_eq!(given.edge.location, "Europe.DE.Frankfurt".parse().ok());
    for model in [&mut given, &mut default] {
        model.edge.location = None;
        for backend in model.backends.values_mut() {
            (backend.vlan, backend.location, backend.region) = (None, None, None);
        }
        let probe = model.groups.get_mut("web").unwrap().probe.as_mut().unwrap();
        let ProbeKind::Http(http) = &mut probe.kind else {
            panic!("{probe:?}")
        };
        http.host = None;
        probe.is_service_port = true;
        http.headers.truncate(1);
    }
    assert_eq!(given, default);
}

/// For every table that there is a change of [`GOOD`] that has an unknown key in it.
fn unknown_keys() -> Vec<(&'static str, String)> {
    const KEY: &str = "zzzzzzzzzzzzzzz = 1";
    let after =
        |line: &'static str, more: &str| (line, format!("{line}\n{}", more.replace('~', KEY)));
    let before = |more: &str| ("[edge]", format!("{}\n[edge]", more.replace('~', KEY)));
    let instead = |part: &'static str, other: &str| (part, other.replace('~', KEY));
    let probe = |keys: &str| {
        let probe = "probe = { kind = \"http\" }";
        instead(probe, &format!("probe = {{ kind = {keys}, ~ }}"))
    };
    let members = "member = [{ backend = \"a\" }, { backend = \"b\" }]";
    let mut changes = vec![
        before("~"),
        after("[edge]", "~"),
        after("[edge]", "flow_idle = { ~ }"),
        after("name = \"a\"", "~"),
        after("name = \"a\"", "probe = { ~ }"),
        after("name = \"g\"", "~"),
        after("name = \"g\"", "affinity = { ~ }"),
        after("name = \"g\"", "on_down = { ~ }"),
        after("name = \"g\"", "affinity = { prefix = { ~ } }"),
        after("name = \"s\"", "~"),
        after("name = \"s\"", "rule = [{ ~ }]"),
        instead(
            members,
            "member = [{ backend = \"b\", ~ }, { backend = \"a\" }]",
        ),
        instead(members, "member = [{ group = \"g\", ~ }]"),
        probe("\"http\""),
        probe("\"https\", host = \"a\", verify = false"),
        probe("\"http\", health = { ~ }"),
        probe("\"http\", health = { leaky = { ~ } }"),
        probe("\"http\", latency = { ~ }"),
        before("[locations]\n~"),
        before("[locations]\nfiles = [{ ~ }]"),
        before("[locations]\ncustom = [{ ~ }]"),
        before("[geography]\n~"),
        before("[latency]\n~"),
    ];
    let stages = [
        "available",
        "subnet",
        "geo",
        "proximity",
        "latency",
        "subset",
        "weight",
    ];
    let stage = |name| {
        after(
            "name = \"g\"",
            &format!("stages = [{{ stage = \"{name}\", ~ }}]"),
        )
    };
    changes.extend(stages.map(stage));
    changes
}

#[test]
fn the_annotated_file_names_every_key() {
    let words: Vec<&str> = ANNOTATED.split_whitespace().collect();
    let named = |key: &str| {
        let table =
            |word: &&str| word.trim_matches(['[', ']']).ends_with(key) && word.contains('[');
        words.windows(2).any(|pair| pair == [key, "="]) || words.iter().any(table)
    };
    let mut keys = 0;
    for (part, instead) in unknown_keys() {
        let Errors(problems) = parse(&with(part, &instead)).unwrap_err();
        let known = problems
            .iter()
            .filter_map(|it| it.mend.strip_prefix("known here: "));
        for key in known.flat_map(|it| it.split(", ")) {
            assert!(named(key), "{key}");
            keys += 1;
        }
    }
    assert_eq!(keys, 208);
}
