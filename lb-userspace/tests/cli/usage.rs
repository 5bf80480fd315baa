//! What `--help` says, and what is said of wrong usage.

use std::{fs, io};

use super::{said, waggle};

/// Every command, with a part of what it does.
const WORDS: [(&[&str], &str); 22] = [
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
    (&["flows"], "Count the connections that are remembered"),
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

#[test]
fn every_command_says_what_it_does() {
    for (command, words) in WORDS {
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
        "flows",
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
    let cases: [(&[&str], _); 22] = [
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
        (&["flows", "--client", "192.0.2.7"], "--service <SERVICE>"),
        (&["flows", "--service", "web"], "--client <IP>"),
        (
            &["flows", "--client", "web", "--service", "web"],
            "invalid value 'web'",
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
