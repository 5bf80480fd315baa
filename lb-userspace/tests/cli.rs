//! The binary's command line, as far as it goes without a daemon and without root.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::net::UnixListener,
    process::{Command, Output, Stdio},
    thread,
};

fn waggle(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn said(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = waggle(arguments).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn every_command_says_what_it_does() {
    let words: [(&[&str], _); 21] = [
        (&[], "a layer-4 load balancer"),
        (
            &["backend"],
            "Drain, disable, enable or reset a backend in all its groups",
        ),
        (&["backend", "disable"], "No new flows and no probes"),
        (
            &["backend", "drain"],
            "No new flows; running ones go on to their end",
        ),
        (&["backend", "enable"], "Take part"),
        (&["backend", "reset"], "What the configuration says"),
        (
            &["check"],
            "Check a configuration: all its errors at once, or what it means",
        ),
        (&["completions"], "Print the completions of a shell"),
        (
            &["detach"],
            "Remove the program, its link and its tables, with or without a daemon",
        ),
        (
            &["explain"],
            "Explain why clients of a service go where they go",
        ),
        (
            &["member"],
            "Drain, disable, enable, weigh or reset one member of one group",
        ),
        (
            &["member", "g/a", "disable"],
            "No new flows and no probes for this group",
        ),
        (
            &["member", "g/a", "drain"],
            "No new flows; running ones go on to their end",
        ),
        (&["member", "g/a", "enable"], "Take part"),
        (&["member", "g/a", "reset"], "What the configuration says"),
        (&["member", "g/a", "weight"], "Set its weight"),
        (&["plan"], "Show what a configuration would change"),
        (
            &["reload"],
            "Take the configuration up again, whole or not at all",
        ),
        (
            &["run"],
            "Run the daemon: attach the program, probe the backends",
        ),
        (&["status"], "Show what the daemon knows"),
        (&["table"], "Show what packets go by"),
    ];
    for (command, words) in words {
        let (status, stdout, stderr) = said(&[command, &["--help"]].concat());
        let one_line: Vec<_> = stdout.split_whitespace().collect();
        assert!(one_line.join(" ").contains(words), "{command:?}: {stdout}");
        assert!(stdout.contains("Usage: waggle"), "{command:?}: {stdout}");
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{command:?}");
    }
}

#[test]
fn the_list_of_commands_is_the_one_that_is_tested_here() {
    let (_, help, _) = said(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\nOptions").unwrap();
    let names: Vec<_> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let tested = [
        "backend",
        "check",
        "completions",
        "detach",
        "explain",
        "member",
        "plan",
        "reload",
        "run",
        "status",
        "table",
        "help",
    ];
    assert_eq!(names, tested);
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    let cases: [(&[&str], _); 19] = [
        (&["stauts"], "'status'"),
        (&[], "Usage: waggle"),
        (&["status", "--colour"], "--colour"),
        (&["status", "servce"], "'service'"),
        (&["status", "--format", "xml"], "json, text"),
        (&["status", "--edge", "a", "--control", "b"], "--control"),
        (&["check"], "<FILE>"),
        (&["detach"], "--edge"),
        (
            &["explain", "--service", "web", "--client", "300.1.1.1"],
            "300.1.1.1",
        ),
        (&["explain", "--service", "web"], "--client <IP>"),
        (
            &[
                "explain",
                "--service",
                "web",
                "--client",
                "192.0.2.7",
                "--all-classes",
            ],
            "'--client <IP>' cannot be used with '--all-classes'",
        ),
        (&["plan", "f", "--against", "g", "--edge", "e"], "--edge"),
        (&["plan", "f", "--assume", "g"], "--against <FILE>"),
        (
            &["table", "--client", "192.0.2.7", "--class", "1"],
            "'--client <IP>' cannot be used with '--class <N>'",
        ),
        (&["table", "--class", "one"], "invalid value 'one'"),
        (&["table", "--client", "192.0.2.0/24"], "192.0.2.0/24"),
        (&["backend", "drain", "a b"], "a name is 1 to 63 letters"),
        (&["member", "web", "drain"], "write it as GROUP/NAME"),
        (
            &["member", "web/a", "weight", "heavy"],
            "invalid value 'heavy'",
        ),
    ];
    for (arguments, words) in cases {
        let (status, stdout, stderr) = said(arguments);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
}

#[test]
fn every_shell_gets_completions_that_know_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (status, script, stderr) = said(&["completions", shell]);
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["explain", "drain", "assume"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn check_prints_one_document_for_tools_whatever_it_finds() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let check = |text: &str| {
        fs::write(file.path(), text).unwrap();
        let path = file.path().to_str().unwrap();
        let (status, stdout, stderr) = said(&["check", "--format", "json", path]);
        let document: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        (status, document, stderr)
    };
    let (status, document, stderr) = check("edge = { name = \"e\", interfaces = [\"eth0\"] }");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert_eq!(document["edge"], "e");
    assert_eq!(document["warnings"][0]["code"], "no-service");

    let (status, document, stderr) = check("edge = { name = \"e\" }\ncolour = 1");
    assert_eq!(status, Some(1));
    let expected = serde_json::json!({ "file": file.path(), "errors": [
        {
            "path": "edge.interfaces",
            "code": "missing-key",
            "message": "is missing",
            "mend": "add `interfaces = [\"eth0\"]`",
        },
        {
            "path": "colour",
            "code": "unknown-key",
            "message": "unknown key",
            "mend": "known here: edge, backend, service, group, locations, geography, latency",
        },
    ] });
    assert_eq!(document, expected);
    assert!(stderr.contains(" has 2 mistakes:\n"), "{stderr}");
    assert!(
        stderr.contains("\nerror[unknown-key]: colour: unknown key;"),
        "{stderr}"
    );
}

#[test]
fn without_a_daemon_one_line_says_how_to_start_one() {
    let classes = ["explain", "--service", "web", "--all-classes"];
    for command in [
        &["status"][..],
        &["reload"],
        &["plan", "next.toml"],
        &["backend", "drain", "a"],
        &classes,
    ] {
        let at = ["--control", "/nonexistent/socket"];
        let (status, stdout, stderr) = said(&[command, &at].concat());
        let expected = "error[no-daemon]: no daemon listens at /nonexistent/socket; start it with \
            `waggle run --config FILE`, or name its socket with `--control`\n";
        assert_eq!(
            (status, stdout.as_str(), stderr.as_str()),
            (Some(1), "", expected)
        );
    }
}

/// What `waggle status` says of a socket whose other end says this.
fn status_of(says: &'static [u8]) -> String {
    let directory = tempfile::tempdir().expect("a place for a socket");
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let other_end = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = String::new();
        BufReader::new(&stream)
            .read_line(&mut request)
            .expect("a request");
        stream.write_all(says).expect("a client that reads");
    });
    let (status, stdout, stderr) = said(&["status", "--control", path.to_str().expect("text")]);
    other_end.join().expect("it said it");
    assert_eq!((status, stdout.as_str()), (Some(1), ""), "{stderr}");
    stderr
}

#[test]
fn a_daemon_that_ends_or_is_of_another_version_is_told_apart() {
    for (says, code) in [
        (&b""[..], "no-answer"),
        (b"{\"status\":", "bad-answer"),
        (b"\xff\n", "bad-answer"),
        (b"{\"done\":[]}\n", "bad-answer"),
    ] {
        let stderr = status_of(says);
        assert!(stderr.starts_with(&format!("error[{code}]: ")), "{stderr}");
    }
    let refusal = br#"{"refused":{"errors":[{"code":"of-tomorrow","message":"no","mend":"yes"}]}}"#;
    assert_eq!(status_of(refusal), "error[of-tomorrow]: no; yes\n");
}

#[test]
fn what_is_no_socket_and_what_has_no_room_for_the_answer_is_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("socket");
    let (status, _, stderr) = said(&["status", "--control", below.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(stderr.starts_with("error[bad-socket]: "), "{stderr}");

    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = waggle(&["completions", "bash"]).stdout(full).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error[unwritten-output]: "), "{stderr}");
}

#[test]
fn a_refusal_is_a_document_for_tools_too() {
    let commands: [&[&str]; 3] = [
        &["status"],
        &["reload"],
        &["explain", "--service", "web", "--client", "192.0.2.1"],
    ];
    for command in commands {
        let json = ["--control", "/nonexistent/socket", "--format", "json"];
        let (status, stdout, stderr) = said(&[command, &json].concat());
        assert_eq!(status, Some(1), "{command:?}");
        let document: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(document["errors"][0]["code"], "no-daemon", "{command:?}");
        assert!(stderr.starts_with("error[no-daemon]: "), "{stderr}");
    }
}

#[test]
fn what_nobody_reads_is_no_panic() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    // No service is a warning.
    fs::write(path, "edge = { name = \"e\", interfaces = [\"eth0\"] }").unwrap();
    let closed = || {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        writer
    };
    for (arguments, expected) in [
        (&["check", path][..], 0),
        (&["check", "/nonexistent"], 1),
        (&["--help"], 0),
        (&["stauts"], 2),
    ] {
        let mut command = waggle(arguments);
        let status = command.stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{arguments:?}");
    }
}

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

/// A configuration whose service `web` drops certain clients, in a directory that goes with the value.
fn with_rule() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("waggle.toml");
    let text = r#"
        edge = { name = "e", interfaces = ["eth0"] }
        backend = [{ name = "a", address = "10.0.0.1" }]
        [[group]]
        name = "web"
        member = [{ backend = "a" }]
        probe = { kind = "none" }
        [[service]]
        name = "web"
        address = "203.0.113.10"
        port = 80
        protocol = "tcp"
        group = "web"
        rule = [{ clients = ["192.0.2.0-192.0.2.99"], answer = "drop" }]
    "#;
    fs::write(&file, text).expect("it is a directory of the test's own");
    let file = file.to_str().expect("it is UTF-8").to_owned();
    (dir, file)
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

#[test]
fn plan_tells_two_files_apart_and_3_says_that_something_changes() {
    let (dir, old) = with_rule();
    let text = fs::read_to_string(&old).expect("it is there");
    let new = dir.path().join("next.toml");
    let new = new.to_str().expect("it is UTF-8");
    fs::write(new, text.replace("answer = \"drop\"", "answer = \"pass\"")).expect("a file");

    let (status, said_text, error) = said(&["plan", new, "--against", &old]);
    assert_eq!((status, error.as_str()), (Some(3), ""));
    let expected = "\
changes
  service web: rules changed

service web, changed for <0.01 % of all IPv4 addresses
  ADDRESSES  SUCH AS       FROM         TO
  <0.01 %    192.0.2.0/26  dropped  ->  left to this host
";
    assert_eq!(said_text, expected);
    let (status, json, _) = said(&["plan", new, "--against", &old, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(status, Some(3));
    // 100 addresses of 2^32.
    assert_eq!(json["services"][0]["part"], "25/1073741824");

    let same = said(&["plan", &old, "--against", &old]);
    assert_eq!(
        same,
        (Some(0), "nothing changes\n".to_owned(), String::new())
    );
    let (status, text, error) = said(&["plan", "/nonexistent", "--against", &old]);
    assert_eq!((status, text.as_str()), (Some(1), ""));
    assert!(error.starts_with("error[unreadable-file]: "), "{error}");
}

#[test]
fn plan_offline_assumes_what_it_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("it is a directory of the test's own");
        path.to_str().expect("it is UTF-8").to_owned()
    };
    let text = include_str!("../../config/examples/front-door.toml");
    let old = file("old.toml", text);
    let new = file(
        "new.toml",
        &text.replace("latency_window = \"30ms\"", "latency_window = \"60ms\""),
    );
    let plan = ["plan", &new, "--against", &old];
    let (status, unmeasured, _) = said(&plan);
    assert_eq!(status, Some(3));
    let nobody = "no client of any service gets something else\n";
    assert!(unmeasured.ends_with(nobody), "{unmeasured}");
    let assume = file(
        "assumed.toml",
        "[health]\nc = \"down\"\n[latency_ms]\na = 15\nb = 30\nd = 60\n",
    );
    let (status, measured, _) = said(&[&plan[..], &["--assume", &assume]].concat());
    assert_eq!(status, Some(3));
    assert!(
        measured.contains("a 3/10, b 7/10  ->  a 1/20, b 7/60, d 5/6\n"),
        "{measured}"
    );
    let (status, _, error) = said(&["plan", &new, "--against", &old, "--assume", &old]);
    assert_eq!(status, Some(1));
    assert!(error.contains("error[unknown-key]: "), "{error}");
}
