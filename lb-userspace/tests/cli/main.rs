//! The binary's command line, as far as it goes without a daemon and without root.

mod check;
mod explain;
mod no_daemon;
mod plan;
mod usage;

use std::{
    fs,
    process::{Command, Output, Stdio},
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
