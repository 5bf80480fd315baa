//! The bench of whole connections works: no figure is judged here, only whether it is one. Needs
//! root, and for more than its refusal haproxy and nginx' module `stream`.

#![expect(clippy::unwrap_used, reason = "a test panics, for its stack trace")]

use std::{
    env, fs,
    process::{Command, Output},
};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Command {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_connections"));
    bench.args(arguments);
    bench
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn interval(value: &Value) -> [f64; 3] {
    ["low", "median", "high"].map(|name| value[name].as_f64().unwrap_or_else(|| panic!("{value}")))
}

#[test]
fn a_quick_run_measures_every_way() {
    let output = bench(&["--quick", "--format", "json"]).output().unwrap();
    if !output.status.success() && errors(&output).contains("apt-get install") {
        eprintln!("not tested: {}", errors(&output));
        assert!(!is_installed());
        return;
    }
    assert!(output.status.success(), "{}", errors(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let ways = report["ways"].as_array().unwrap();
    let names: Vec<&str> = ways
        .iter()
        .map(|way| way["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["direct", "haproxy", "nginx", "waggle"]);
    for way in ways {
        let rate = way["connections_per_cpu_second"].as_f64().unwrap();
        let whole = way["whole"].as_f64().unwrap();
        assert!((rate * whole / 1e6 - 1.0).abs() < 0.01, "{way}");
        assert!(way["lab_share"].as_f64().unwrap() > 0.0, "{way}");
        if way["name"] == "direct" {
            assert!(way["added"].is_null(), "{way}");
        } else {
            assert!(interval(&way["added"]).is_sorted(), "{way}");
        }
    }
    let ratios = report["ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), 2);
    for ratio in ratios {
        assert!(interval(&ratio["added"]).is_sorted(), "{ratio}");
        let whole = interval(&ratio["whole"]);
        assert!(whole.is_sorted() && whole[0] > 0.0, "{ratio}");
    }
}

fn is_installed() -> bool {
    let path = env::var_os("PATH").unwrap();
    env::split_paths(&path).any(|folder| folder.join("haproxy").exists())
        && fs::exists("/usr/lib/nginx/modules/ngx_stream_module.so").unwrap()
}

#[test]
fn without_the_proxies_it_says_what_to_install() {
    let nothing = tempfile::tempdir().unwrap();
    let output = bench(&["--quick"])
        .env("PATH", nothing.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    let mend = "apt-get install haproxy libnginx-mod-stream";
    assert!(errors(&output).contains(mend), "{}", errors(&output));
}

#[test]
fn arguments_that_mean_nothing_are_refused_by_name() {
    for (arguments, named) in [
        (&["--rounds", "0"][..], "--rounds"),
        (&["--rounds", "many"], "--rounds"),
        (&["--rounds", "15", "--quick"], "--quick"),
        (&["--format", "xml"], "--format"),
        (&["--ways"], "--ways"),
    ] {
        let output = bench(arguments).output().unwrap();
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(named), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
