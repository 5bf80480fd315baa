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
    let expected = [
        ("ipip-v4-1", Some(1.0), 0.0),
        ("ipip-v4-10000", Some(1.0), 0.01),
        ("ipip-v4-900000", Some(1.0), 0.215),
        ("l2-dsr-v4-1", Some(1.0), 0.0),
        ("l2-dsr-v4-10000", Some(1.0), 0.01),
        ("l2-dsr-v4-900000", Some(1.0), 0.215),
        ("ipip-v6-1", Some(1.0), 0.0),
        ("ipip-v6-10000", Some(1.0), 0.01),
        ("4in6-1", Some(1.0), 0.0),
        ("4in6-10000", Some(1.0), 0.01),
        ("6in4-1", Some(1.0), 0.0),
        ("6in4-10000", Some(1.0), 0.01),
        ("gue-v4-1", Some(1.0), 0.0),
        ("gue-v4-10000", Some(1.0), 0.01),
        ("gue-v6-1", Some(1.0), 0.0),
        ("gue-v6-10000", Some(1.0), 0.01),
        ("l2-dsr-v6-1", Some(1.0), 0.0),
        ("l2-dsr-v6-10000", Some(1.0), 0.01),
        ("full-nat-v4-1", Some(1.0), 0.0),
        ("full-nat-v4-10000", Some(1.0), 0.01),
        ("full-nat-v6-1", Some(1.0), 0.0),
        ("new-flows", Some(0.0), 0.019),
        ("new-flows-full-table", Some(0.0), 0.98),
        ("not-ours-port", None, 0.0),
        ("not-ours-address", None, 0.0),
        ("not-ours-arp", None, 0.0),
    ];
    assert_eq!(columns.len(), expected.len());
    for (column, (name, hit_rate, load)) in columns.iter().zip(expected) {
        assert_eq!(column["name"], name);
        check_figures(column);
        check_hits(column, hit_rate);
        let off = (number(&column["load"]) - load).abs();
        assert!(off < 0.01, "{column}");
    }
}

/// Every figure is a time, and every median lies within its interval.
fn check_figures(column: &Value) {
    for program in ["floor", "reference", "product"] {
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
}

/// Packets of known flows find their entry, others do not, and what is not ours looks none up.
fn check_hits(column: &Value, expected: Option<f64>) {
    for program in ["hit_rate", "reference_hit_rate"] {
        let rate = &column[program];
        match expected {
            Some(expected) => assert!((number(rate) - expected).abs() < 0.01, "{column}"),
            None => assert!(rate.is_null(), "{column}"),
        }
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
