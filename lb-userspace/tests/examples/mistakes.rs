use std::{collections::BTreeSet, fs};

use crate::said::{all, directory, waggle};

/// An example, the file that is changed (none: its own), a part of that file, what stands in its place, and
/// what is said.
const MISTAKES: [(&str, &str, &str, &str, &str); 22] = [
    (
        "front-door",
        "",
        "priority = 2",
        "priority = 6",
        "error[beyond-preset]: group[0].member[5].priority: 6 is out of range in front-door; use 1 to 5, or list `stages`, which take 1 to 1000",
    ),
    (
        "health",
        "",
        "required = 2",
        "required = 5",
        "error[out-of-range]: group[0].probe.health.required: 5 is out of range; use 1 to 4",
    ),
    (
        "priority",
        "",
        r#"{ backend = "a" }, { backend = "b" }, { backend = "c" }"#,
        r#"{ backend = "a", priority = 1 }, { backend = "b", priority = 1 }"#,
        "error[priority-twice]: group[0].member[1].priority: 1 is the priority of group[0].member[0] too; use another, or list `stages`, in which members may share one",
    ),
    (
        "weighted",
        "",
        r#"slow_start = "2m""#,
        r#"latency_window = "30ms""#,
        "error[foreign-setting]: group[0].latency_window: means nothing in weighted; remove it, or list `stages`",
    ),
    (
        "performance",
        "",
        r#"region = "eastasia""#,
        "",
        r#"error[no-latency-region]: group[0].member[2].region: "ea" is in no region of the latency files; add `region = ".."` to its `[[backend]]`"#,
    ),
    (
        "performance",
        "data/latency.csv",
        "eastus,90",
        "eastus,near",
        r#"error[bad-milliseconds]: latency.files[0]: data/latency.csv line 4: "near" is no number; use milliseconds, like 12 or 3.5"#,
    ),
    (
        "geographic",
        "",
        r#""GEO-EU""#,
        r#""EU""#,
        r#"error[unknown-region]: group[0].member[1].geo[0]: "EU" is the code of no region; did you mean "GEO-EU"?"#,
    ),
    (
        "geographic",
        "data/geography.csv",
        ",FR",
        ",UK",
        r#"error[bad-country]: geography.files[0]: data/geography.csv line 4: "UK" is no country code; did you mean GB?"#,
    ),
    (
        "multivalue",
        "",
        "take = 2",
        "take = 11",
        "error[beyond-preset]: group[0].take: 11 is out of range in multivalue; use 1 to 10, or list `stages`, which take up to 1000",
    ),
    (
        "subnet",
        "",
        r#"["192.0.2.4-192.0.2.99"]"#,
        r#"["198.51.100.4-198.51.100.9"]"#,
        "error[clients-overlap]: group[0].member[1].clients[0]: 198.51.100.4/30 overlaps with group[0].member[0].clients[0]; leave these addresses to one of them",
    ),
    (
        "static-proximity",
        "",
        r#"backend = "uk" }"#,
        r#"backend = "uk", weight = 101 }"#,
        "error[beyond-preset]: group[0].member[0].weight: 101 is out of range in static-proximity; use 1 to 100, or list `stages`, which take 0 to 1000",
    ),
    (
        "static-proximity",
        "data/locations.csv",
        "Start\n",
        "",
        "error[no-location-file]: locations.files[0]: data/locations.csv: has no line `Start`; begin with `NSGEO1.0`, and put `Start` before the entries; or give the file's `format`",
    ),
    (
        "preferred-locations",
        "",
        "static-proximity",
        "weighted",
        r#"error[idle-preference]: service[0].rule[0].prefer: group "web" does not look at it; use the policy "static-proximity" or "dynamic-rtt", or a stage "prefer""#,
    ),
    (
        "dynamic-rtt",
        "",
        r#""10ms""#,
        r#""101ms""#,
        "error[beyond-preset]: group[0].latency_window: 101ms is out of range in dynamic-rtt; use 0s to 100ms, or list `stages`, which take windows up to 10s",
    ),
    (
        "nested-weighted",
        "",
        r#", region = "westeurope""#,
        "",
        r#"error[no-latency-region]: group[0].member[0].region: "west-europe" is in no region of the latency files; add `region = ".."` here"#,
    ),
    (
        "nested-min-healthy",
        "",
        r#"backend = "us" }"#,
        r#"backend = "us", min_healthy = 2 }"#,
        "error[key-of-groups]: group[0].member[1].min_healthy: is for members that are groups; remove it; `location` and `region` stand at the backend",
    ),
    (
        "nested-priority",
        "",
        r#"[{ backend = "ea" }"#,
        r#"[{ group = "web" }"#,
        "error[group-cycle]: group[0].member: leads back to its own group: web > east-asia > web; take one of them out of another",
    ),
    (
        "affinity",
        "",
        r#"idle = "24h""#,
        r#"idle = "25h""#,
        "error[out-of-range]: group[1].affinity.idle: 25h is out of range; use 1m to 1day",
    ),
    (
        "full-nat",
        "",
        "port = 8080\n\n[[backend]]",
        "port = 80800\n\n[[backend]]",
        "error[out-of-range]: backend[0].port: 80800 is out of range; use 1 to 65535",
    ),
    (
        "spillover",
        "",
        "all_down = \"backup\"\n",
        "",
        r#"error[unused-backup-group]: group[0].backup: never takes over; add `all_down = "backup"` or `no_answer = "backup"`, or remove it"#,
    ),
    (
        "stages",
        "",
        "{ stage = \"priority\" },\n    { stage = \"weight\" }",
        "{ stage = \"weight\" },\n    { stage = \"priority\" }",
        r#"error[stage-after]: group[0].stages[3].stage: "priority" stands behind "weight"; put it before"#,
    ),
    (
        "rules",
        "",
        r#"geo = ["IE"]"#,
        r#"geo = ["IE"], location = "*.IE""#,
        "error[rule-by-several]: service[0].rule[2].geo: stands beside another key that says which clients; make two rules of it",
    ),
];

/// What is said of an example with a change.
fn said(example: &str, changed: &str, part: &str, instead: &str) -> String {
    let place = tempfile::tempdir().expect("a directory for the example");
    fs::create_dir(place.path().join("data")).expect("it can be written to");
    let data = fs::read_dir(directory().join("data")).expect("the data are there");
    let data = data.map(|file| {
        let name = file.expect("the data are there").file_name();
        format!("data/{}", name.to_str().expect("their names are text"))
    });
    let main = format!("{example}.toml");
    let changed = if changed.is_empty() { &main } else { changed };
    for file in data.chain([main.clone()]) {
        let mut text = fs::read_to_string(directory().join(&file)).expect("the example is there");
        if file == changed {
            assert_eq!(text.matches(part).count(), 1, "{part} in {file}");
            text = text.replace(part, instead);
        }
        fs::write(place.path().join(&file), text).expect("it can be written to");
    }
    let (status, stdout, stderr) = waggle(place.path(), &["check", &main]);
    assert_eq!((status, &*stdout), (Some(1), ""), "{example}: {stderr}");
    let (head, mistakes) = stderr
        .split_once('\n')
        .expect("what is wrong, each in a line");
    assert_eq!(head, format!("error: {main} has a mistake:"), "{mistakes}");
    mistakes.trim_end().to_owned()
}

#[test]
fn a_typical_mistake_in_each_example_is_told() {
    for (example, changed, part, instead, expected) in MISTAKES {
        assert_eq!(said(example, changed, part, instead), expected, "{example}");
    }
    let tried: BTreeSet<_> = MISTAKES.iter().map(|it| it.0.to_owned()).collect();
    assert_eq!(tried, all());
}
