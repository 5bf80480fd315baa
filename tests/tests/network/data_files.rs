//! Files that tell where clients are, replaced under a running daemon.

use std::{fs, path::Path};

use lb_tests::{
    lab::{DEADLINE, Daemon, Lab, Nginx, Settings, client::connect_many, wait_until},
    prometheus::Scrape,
};
use serde_json::Value;

use super::rig::{PORT, WEB, lab, status, tables, wait_all_up, wait_log};

const TABLES: &str = "
[latency]
files = [\"rtt.csv\"]
[locations]
files = [\"places.csv\"]
[geography]
files = [\"geo.csv\"]
";

/// Whether the daemon tells by a metric that a file is broken.
#[track_caller]
fn is_broken(lab: &Lab, file: &Path) -> bool {
    let text = lab.edge().run("curl -s http://127.0.0.1:9390/metrics");
    let file = file.display().to_string();
    let labels = [("file", file.as_str())];
    let broken = Scrape::parse(&text).series("waggle_data_file_broken", &labels);
    broken.expect("a series for each file") == 1.0
}

/// What status says is wrong with the n-th file.
#[track_caller]
fn problem(daemon: &Daemon<'_>, file: usize) -> Option<String> {
    let status = status(daemon);
    let file = &status["data_files"][file];
    assert!(file.is_object(), "{status:#}");
    Some(file["broken"]["message"].as_str()?.to_owned())
}

#[test]
fn while_a_data_file_is_broken_what_it_said_before_holds() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let rest = tables(&[1]) + TABLES;
    let edge = "metrics = \"127.0.0.1:9390\"";
    let rest = rest.as_str();
    let mut daemon = Daemon::prepare(lab.edge(), Settings { edge, rest });
    let file = |name: &str| daemon.config().with_file_name(name);
    let (latency, places, geography) = (file("rtt.csv"), file("places.csv"), file("geo.csv"));
    fs::write(&latency, "192.0.2.0/24,we,20\n").unwrap();
    fs::write(&places, "NSGEO1.0\nStart\n192.0.2.0,192.0.2.255,EU,IE\n").unwrap();
    fs::write(&geography, "192.0.2.0/24,IE\n").unwrap();
    daemon.restart();
    wait_all_up(&daemon, 1);
    assert_eq!(
        status(&daemon)["data_files"].as_array().map(Vec::len),
        Some(3)
    );
    assert!(!is_broken(&lab, &latency) && !is_broken(&lab, &places));

    // Broken in its place, and one that is gone; the third stays as it is.
    fs::write(&latency, "192.0.2.0/24,we,20\n192.0.2.0/25,we,-3\n").unwrap();
    fs::remove_file(&geography).unwrap();
    // In the order of locations, geography, latency.
    wait_until(DEADLINE, "two files are broken", || {
        problem(&daemon, 1).is_some() && problem(&daemon, 2).is_some()
    });
    let told = format!("{} line 2: \"-3\" is out of range", latency.display());
    assert_eq!(problem(&daemon, 2), Some(told.clone()));
    assert_eq!(problem(&daemon, 0), None);
    assert!(is_broken(&lab, &latency) && is_broken(&lab, &geography));
    assert!(!is_broken(&lab, &places));
    wait_log(
        &daemon,
        &format!("What data files said before holds: latency.files[0]: {told}"),
    );
    let said = daemon.waggle(&["status"]);
    assert!(
        said.stdout
            .contains(&format!("BROKEN {}, ", latency.display())),
        "{said:?}"
    );
    let said = daemon.waggle(&["reload", "--format", "json"]);
    let refused: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(refused["errors"][0]["code"], "unreadable-data", "{said:?}");
    let tally = connect_many(lab.client(), WEB, 50);
    assert!(tally.errors.is_empty(), "{tally:?}");
    assert!(!daemon.log().contains("Data files were read anew."));

    // One in the place of the other, as careful writers do; and the other is back.
    let next = latency.with_extension("new");
    fs::write(&next, "192.0.2.0/24,we,30\n").unwrap();
    fs::rename(&next, &latency).unwrap();
    fs::write(&geography, "192.0.2.0/24,GB\n").unwrap();
    wait_until(DEADLINE, "all files are good", || {
        (0..3).all(|file| problem(&daemon, file).is_none())
    });
    assert!(!is_broken(&lab, &latency) && !is_broken(&lab, &geography));
    wait_log(&daemon, "Data files were read anew.");
    wait_log(&daemon, "where clients are: changed");
}
