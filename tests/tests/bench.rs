//! The bench works: no figure is judged here, only whether it is one, and whether what was measured
//! is what the column says. Needs root.

#![expect(clippy::unwrap_used, reason = "a test panics, for its stack trace")]

use std::process::{Command, Output};

use serde_json::Value;

/// Bytes of an entry of the product's flow table.
const ENTRY: u64 = 16;

/// Bytes of its table of IPv4 clients.
const CLIENTS: u64 = 64 << 20;

fn bench(arguments: &[&str]) -> Output {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_bench"));
    bench.args(arguments).output().unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_quick_run_measures_what_its_columns_say() {
    let output = bench(&["--quick", "--format", "json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let flow_table = report["flow_entries"].as_u64().unwrap() * ENTRY;
    let memory = report["maps_bytes"].as_u64().unwrap();
    assert!(memory >= flow_table + CLIENTS, "{memory}");
    assert!(memory < 2 * flow_table + CLIENTS, "{memory}");
    assert!(report["reference_maps_bytes"].as_u64().unwrap() > 0);

    let columns = report["columns"].as_array().unwrap();
    let expected = expected();
    let names: Vec<_> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(
        names,
        expected.iter().map(|of| &of.name).collect::<Vec<_>>()
    );
    for (column, expected) in columns.iter().zip(&expected) {
        check_figures(column, expected);
        check_hits(column, expected);
        if let Some(load) = expected.load {
            let off = (number(&column["load"]) - load).abs();
            assert!(off < 0.01, "{column}");
        }
    }
}

/// What is to be said of a column.
struct Expected {
    name: String,
    baseline: &'static str,
    goal: Option<f64>,
    /// Nothing if no flow is looked up.
    hit_rate: Option<f64>,
    /// Nothing if it depends on how long the run takes.
    load: Option<f64>,
}

impl Expected {
    /// Established flows over TCP; their number is at the end of the name.
    fn established(name: &str) -> Self {
        let flows: f64 = name.rsplit('-').next().unwrap().parse().unwrap();
        let entries = if flows > 1e5 { 1 << 22 } else { 1 << 20 };
        // Of very many flows some share a place.
        let in_use = if flows > 1e5 {
            0.215
        } else {
            flows / f64::from(entries)
        };
        Self {
            name: name.to_owned(),
            baseline: "reference",
            goal: Some(goal(name)),
            hit_rate: Some(1.0),
            load: Some(in_use),
        }
    }

    /// The same over UDP, whose flows stand beside those of TCP, in a table twice as large if they are many.
    fn over_udp(self) -> Self {
        let Self { name, load, .. } = self;
        Self {
            load: load.map(|load| if load > 0.1 { load } else { 2.0 * load }),
            name: format!("{name}-udp"),
            baseline: "product, TCP",
            goal: Some(1.05),
            hit_rate: Some(1.0),
        }
    }
}

/// What established flows should cost at most.
fn goal(name: &str) -> f64 {
    const GOALS: [(&str, f64); 7] = [
        ("ipip-v4-10000", 0.65),
        ("ipip-v4-", 0.55),
        ("l2-dsr-v4-10000", 0.6),
        ("l2-dsr-v4-900000", 0.5),
        ("l2-dsr-v4-", 0.35),
        ("full-nat-", 0.9),
        ("", 1.0),
    ];
    let name = name.trim_start_matches("live-");
    let known = GOALS.iter().find(|(begin, _)| name.starts_with(begin));
    known.expect("a goal for all").1
}

const MODES: [&str; 21] = [
    "ipip-v4-1",
    "ipip-v4-10000",
    "ipip-v4-900000",
    "l2-dsr-v4-1",
    "l2-dsr-v4-10000",
    "l2-dsr-v4-900000",
    "ipip-v6-1",
    "ipip-v6-10000",
    "4in6-1",
    "4in6-10000",
    "6in4-1",
    "6in4-10000",
    "gue-v4-1",
    "gue-v4-10000",
    "gue-v6-1",
    "gue-v6-10000",
    "l2-dsr-v6-1",
    "l2-dsr-v6-10000",
    "full-nat-v4-1",
    "full-nat-v4-10000",
    "full-nat-v6-1",
];

const IN_VLANS: [&str; 8] = [
    "vlan-off-l2-dsr-v4-1",
    "vlan-off-l2-dsr-v4-10000",
    "vlan-off-ipip-v4-10000",
    "vlan-off-l2-dsr-v6-10000",
    "vlan-other-l2-dsr-v4-1",
    "vlan-other-l2-dsr-v4-10000",
    "vlan-other-ipip-v4-10000",
    "vlan-other-l2-dsr-v6-10000",
];

/// Name, goal, load.
const NEW: [(&str, f64, Option<f64>); 3] = [
    ("new-flows", 1.0, Some(0.019)),
    ("new-flows-full-table", 1.0, Some(0.98)),
    ("new-flows-flood", 0.45, None),
];

const NOT_OURS: [&str; 4] = [
    "not-ours-port",
    "not-ours-address",
    "not-ours-arp",
    "not-ours-vlan",
];

/// All columns in their order.
fn expected() -> Vec<Expected> {
    let mut all: Vec<_> = MODES.map(Expected::established).into();
    all.extend(MODES.map(|mode| Expected::established(mode).over_udp()));
    all.extend(IN_VLANS.map(|name| Expected {
        baseline: "reference, untagged",
        goal: None,
        ..Expected::established(name)
    }));
    let plain = |name: &str| Expected {
        name: name.to_owned(),
        baseline: "reference",
        goal: None,
        hit_rate: None,
        load: Some(0.0),
    };
    all.extend(NEW.map(|(name, goal, load)| Expected {
        goal: Some(goal),
        hit_rate: Some(0.0),
        load,
        ..plain(name)
    }));
    all.extend(NOT_OURS.map(plain));
    let live = MODES[..6].iter().map(|mode| format!("live-{mode}"));
    all.extend(live.map(|name| Expected::established(&name)));
    all
}

/// Every figure is a time, every median lies within its interval, and a goal holds if the interval does.
fn check_figures(column: &Value, expected: &Expected) {
    for program in ["floor", "baseline", "product"] {
        assert!(number(&column[program]) > 0.0, "{column}");
    }
    for [low, median, high] in [
        ["added_low", "added", "added_high"],
        ["low", "ratio", "high"],
    ] {
        let figures = [low, median, high].map(|name| &column[name]);
        if column["hit_rate"].is_null() && median == "ratio" {
            assert!(figures.iter().all(|figure| figure.is_null()), "{column}");
        } else {
            assert!(figures.map(number).is_sorted(), "{column}");
        }
    }
    assert_eq!(column["baseline_name"], expected.baseline, "{column}");
    assert_eq!(column["goal"].as_f64(), expected.goal, "{column}");
    // Figures are rounded to three digits, and the goal is held against the exact one.
    let beyond = expected.goal.map(|goal| number(&column["high"]) - goal);
    if beyond.is_none_or(|beyond| beyond.abs() > 0.0006) {
        let holds = beyond.map(|beyond| beyond < 0.0);
        assert_eq!(column["holds"].as_bool(), holds, "{column}");
    }
    let rates = column["mpps"].as_array();
    assert_eq!(
        rates.is_some(),
        expected.name.starts_with("live-"),
        "{column}"
    );
    assert!(
        rates.into_iter().flatten().all(|rate| number(rate) > 0.0),
        "{column}"
    );
}

/// Packets of known flows find their entry, others do not, and what is not ours looks none up.
fn check_hits(column: &Value, expected: &Expected) {
    let reference = expected
        .hit_rate
        .filter(|_| expected.baseline.starts_with("reference"));
    for (program, expected) in [
        ("hit_rate", expected.hit_rate),
        ("reference_hit_rate", reference),
    ] {
        let rate = &column[program];
        match expected {
            Some(expected) => assert!((number(rate) - expected).abs() < 0.01, "{column}"),
            None => assert!(rate.is_null(), "{column}"),
        }
    }
}

#[test]
fn words_choose_columns_and_choosing_needs_no_run() {
    for (words, chosen) in [
        (&["live-ipip"][..], 3),
        (&["udp", "not-ours"], 25),
        (&["v4-900000"], 6),
        (&["l2-dsr-v4-1"], 1),
    ] {
        let output = bench(&[&["--list"], words].concat());
        assert!(output.status.success());
        let names = String::from_utf8(output.stdout).unwrap();
        assert_eq!(names.lines().count(), chosen, "{names}");
    }
}

#[test]
fn arguments_that_mean_nothing_are_refused_by_name() {
    for (arguments, named) in [
        (&["--rounds", "0"][..], "--rounds"),
        (&["--rounds", "many"], "--rounds"),
        (&["--rounds", "15", "--quick"], "--quick"),
        (&["--format", "xml"], "--format"),
        (&["--columns"], "--columns"),
    ] {
        let output = bench(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(named), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
