//! `waggle explain` on a file.

use std::fs;

use super::{said, with_rule};

/// The example of `config/examples/front-door.toml`, with what its comment assumes.
#[test]
fn t01_explain_works_offline_with_what_is_assumed() {
    let directory = tempfile::tempdir().expect("a place for a file");
    let path = directory.path().join("assumed.toml");
    let explain = |assumed: &str, more: &[&str]| {
        fs::write(&path, assumed).expect("a place for a file");
        let example = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../config/examples/front-door.toml"
        );
        let assume = path.display().to_string();
        let fixed = ["explain", "--config", example, "--assume", &assume];
        let client = ["--service", "web", "--client", "198.51.100.7"];
        said(&[&fixed[..], &client, more].concat())
    };
    let assumed = "[health]\nc = \"down\"\n[latency_ms]\na = 15\nb = 30\nd = 60\n";
    let (status, text, _) = explain(assumed, &[]);
    assert_eq!(status, Some(0));
    assert!(
        text.contains("a  3/10  30 %") && text.contains("45 ms slower than a"),
        "{text}"
    );
    let (_, json, _) = explain(assumed, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["shares"], serde_json::json!({ "a": 0.3, "b": 0.7 }));
    assert_eq!(json["stages"][1]["removed"][0]["member"], "c");

    let (status, _, error) = explain("[health]\nz = \"up\"\na = \"ill\"\n", &[]);
    assert_eq!(status, Some(1));
    assert!(
        error.contains("error[unknown-name]: health.z: ")
            && error.contains("error[unknown-word]: health.a: "),
        "{error}"
    );
}

#[test]
fn explain_offline_names_the_class_and_the_rule() {
    let (_dir, config) = with_rule();
    let explain = |client: &str| {
        let json = ["--format", "json"];
        let offline = [
            "explain",
            "--config",
            &config,
            "--service",
            "web",
            "--client",
            client,
        ];
        let (status, stdout, stderr) = said(&[&offline[..], &json].concat());
        assert_eq!((status, stderr.as_str()), (Some(0), ""));
        serde_json::from_str::<serde_json::Value>(&stdout).unwrap()
    };
    let dropped = explain("192.0.2.97");
    let rule = serde_json::json!({"rule": 0, "prefix": "192.0.2.96/30", "answer": "drop"});
    assert_eq!((&dropped["class"], &dropped["rule"]), (&1.into(), &rule));
    assert_eq!(dropped["outcome"], "drop");
    let served = explain("192.0.2.100");
    assert_eq!(
        (&served["class"], &served["outcome"]),
        (&0.into(), &"forward".into())
    );
    assert_eq!(served.get("rule"), None);
}

#[test]
fn explain_offline_refuses_a_client_of_the_other_family() {
    let (_dir, config) = with_rule();
    let asked = [
        "explain",
        "--config",
        &config,
        "--service",
        "web",
        "--client",
    ];
    let (status, stdout, stderr) = said(&[&asked[..], &["2001:db8::7"]].concat());
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    let why = "error[client-of-other-family]: 2001:db8::7 is an IPv6 address, and service `web` has the IPv4 address \
               203.0.113.10; name an IPv4 client\n";
    assert_eq!(stderr, why);
    let (status, stdout, _) = said(&[&asked[..], &["::ffff:192.0.2.7"]].concat());
    assert_eq!(status, Some(0));
    assert!(
        stdout.starts_with("service web, client 192.0.2.7\n"),
        "{stdout}"
    );
}

#[test]
fn explain_offline_tells_what_every_class_gets() {
    let (_dir, config) = with_rule();
    let all = [
        "explain",
        "--config",
        &config,
        "--service",
        "web",
        "--all-classes",
    ];
    let (status, text, _) = said(&all);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(status, Some(0));
    assert_eq!(lines[0].join(" "), "service web, 2 classes of IPv4 clients");
    let everybody = lines[3].join(" ");
    assert!(everybody.starts_with("0 "), "{text}");
    assert!(
        everybody.contains(" 0.0.0.0/0 web ") && everybody.ends_with(" all to a"),
        "{text}"
    );
    let dropped = lines[4].join(" ");
    assert!(
        dropped.starts_with("1 ") && dropped.ends_with(" - - dropped"),
        "{text}"
    );

    let (_, json, _) = said(&[&all[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["classes"][0]["fractions"],
        serde_json::json!({ "a": "1" })
    );
    assert_eq!(json["classes"][1]["outcome"], "drop");
    let client = [
        "explain",
        "--config",
        &config,
        "--service",
        "web",
        "--format",
        "json",
    ];
    let (_, one, _) = said(&[&client[..], &["--client", "192.0.2.200"]].concat());
    let one: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(json["classes"][0]["ring"], one["ring"]);
}

#[test]
fn more_classes_than_anybody_reads_are_counted() {
    let (_dir, config) = with_rule();
    let text = fs::read_to_string(&config).expect("it is there");
    let group = |i: u32| {
        let member = "[{ backend = \"a\" }]";
        format!("[[group]]\nname = \"g{i}\"\nmember = {member}\nprobe = {{ kind = \"none\" }}\n")
    };
    let rule = |i: u32| format!("{{ clients = [\"10.{i}.0.0/16\"], group = \"g{i}\" }}");
    let rules: Vec<_> = (0..60).map(rule).collect();
    let text = text.replace("rule = [", &format!("rule = [{}, ", rules.join(", ")));
    let edge = "interfaces = [\"eth0\"], ring_slots = 2097152";
    let text = text.replace("interfaces = [\"eth0\"]", edge);
    fs::write(&config, text + &(0..60).map(group).collect::<String>()).expect("it is a file");
    let all = [
        "explain",
        "--config",
        &config,
        "--service",
        "web",
        "--all-classes",
    ];
    let (status, text, error) = said(&all);
    assert_eq!((status, error.as_str()), (Some(0), ""));
    assert_eq!(text.lines().count(), 3 + 50 + 1, "{text}");
    assert!(
        text.ends_with("and 12 more, which --format json tells\n"),
        "{text}"
    );
    let (_, json, _) = said(&[&all[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["classes"].as_array().map(Vec::len), Some(62));
}
