use std::{collections::BTreeSet, fs};

use lb_userspace::{
    config,
    model::{Group, Policy, Stage},
};

use crate::said::{all, case, check, directory};

const PAGE: &str = include_str!("../../../docs/routing.md");

/// The groups of all examples.
fn groups() -> Vec<Group> {
    let models = all().into_iter().map(|name| {
        let path = directory().join(format!("{name}.toml"));
        config::load(&path).expect("it has no mistake").model
    });
    models
        .flat_map(|model| model.groups.into_values())
        .collect()
}

/// The names of all stages, as the refusal of another one tells them.
fn stages() -> BTreeSet<String> {
    let text = fs::read_to_string(directory().join("stages.toml")).expect("the example is there");
    let errors =
        config::parse(&text.replace("\"weight\"", "\"none\"")).expect_err("there is no such stage");
    let mut mends = errors.0.into_iter().map(|problem| problem.mend);
    let mend = mends
        .find(|mend| mend.contains("\"available\""))
        .expect("a refusal of the stage");
    let words = mend.trim_start_matches("use ").split(" or ");
    words
        .map(|word| word.trim_matches('"').to_owned())
        .collect()
}

#[test]
fn r9_affinity_in_both_scopes() {
    check(
        "affinity",
        &[
            case("S19", "192.0.2.7", "", "a 1/2, b 1/2"),
            case("D8", "192.0.2.7", "[latency_ms]\na = 5\nb = 50\n", "a 1"),
            case("D91", "198.51.100.7", "", "a 3/4, b 1/4"),
        ],
    );
}

#[test]
fn how_packets_reach_backends_decides_nothing() {
    check(
        "full-nat",
        &[
            case("S19", "192.0.2.7", "", "a 1/2, b 1/2"),
            case("D8", "192.0.2.7", "[latency_ms]\na = 5\nb = 50\n", "a 1"),
        ],
    );
}

#[test]
fn the_page_has_every_preset_with_its_stages() {
    let groups = groups();
    let (presets, _) = PAGE.split_once("\n## Stages").expect("the part on presets");
    for preset in Policy::PRESETS {
        let group = groups.iter().find(|group| group.policy == preset);
        let group = group.expect("an example of each preset");
        let names: Vec<_> = group.stages.iter().map(Stage::name).collect();
        let row = format!("| `{}` | {} |", preset.as_str(), names.join(", "));
        assert_eq!(PAGE.matches(&row).count(), 1, "{row}");
        let start = format!("\n| `{}` |", preset.as_str());
        let rows = presets.replace("<br>", " |").matches(&start).count();
        assert_eq!(rows, 3, "{} has a row in three tables", preset.as_str());
    }
}

#[test]
fn the_page_has_the_weights_of_each_preset() {
    let (presets, _) = PAGE.split_once("\n## Stages").expect("the part on presets");
    let by_weight = |stage: &Stage| matches!(stage, Stage::Weight { equal: false, .. });
    for group in groups() {
        let Group { policy, stages, .. } = &group;
        if *policy == Policy::Stages || !stages.iter().any(by_weight) {
            continue;
        }
        let weights = policy.weights();
        let cell = format!(" | {} to {} (", weights.start(), weights.end());
        let start = format!("| `{}` |", policy.as_str());
        let mut rows = presets.lines().filter(|line| line.starts_with(&start));
        assert!(rows.any(|row| row.contains(&cell)), "{cell} in {start}");
    }
}

#[test]
fn the_page_has_every_stage() {
    let stages = stages();
    assert_eq!(stages.len(), 9, "{stages:?}");
    for stage in stages {
        let row = format!("\n| `{stage}` | ");
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn the_page_leads_to_files_that_are_there() {
    let links: Vec<_> = PAGE
        .split("](")
        .skip(1)
        .filter_map(|it| it.split(')').next())
        .collect();
    assert_eq!(links.len(), 3, "{links:?}");
    for link in links {
        assert!(directory().join("../../docs").join(link).exists(), "{link}");
    }
}
