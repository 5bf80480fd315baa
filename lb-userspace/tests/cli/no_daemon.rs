//! Commands that ask a daemon, where there is none or an odd one.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixListener,
    thread,
};

use super::{said, waggle};

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
