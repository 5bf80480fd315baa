use std::{
    io::{self, Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    process::Stdio,
    thread,
    time::Duration,
};

use super::rig::{PORT, WEB, lab, member, start, status, wait_all_up};
use lb_tests::lab::{Nginx, client::connect_many, program};

#[test]
fn garbage_oversize_and_stalled_clients_harm_nobody() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let connect = || {
        let stream = UnixStream::connect(daemon.control()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    };
    let mode = std::fs::metadata(daemon.control())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o660);

    let stalled: Vec<_> = (0..10).map(|_| connect()).collect();
    let huge = "x".repeat(100_000);
    let garbage = [
        "\n",
        "{}\n",
        "null\n",
        "{\"status\"\n",
        "\u{0}\u{1}\n",
        "[[[[[[[[[[\n",
        "{\"explain\":{}}\n",
        &huge,
    ];
    for text in garbage {
        let mut stream = connect();
        // The daemon may hang up before it has read all.
        let _sent = stream.write_all(text.as_bytes());
        let mut reply = String::new();
        if stream.read_to_string(&mut reply).is_ok() {
            assert!(
                reply.is_empty() || reply.contains("\"code\":\"bad-request\""),
                "{text:.20}: {reply}"
            );
        }
    }
    assert_eq!(status(&daemon)["services"][0]["published"], true);
    for mut stream in stalled {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.contains("\"code\":\"late-request\""), "{reply}");
    }
}

#[test]
fn many_clients_at_once_are_all_answered_and_their_changes_all_made() {
    let lab = lab(2);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let daemon = start(&lab, &[1, 1]);
    wait_all_up(&daemon, 2);
    let daemon = &daemon;
    thread::scope(|scope| {
        for (name, verb) in [("backend-1", "disable"), ("backend-2", "drain")] {
            for _ in 0..5 {
                scope.spawn(move || {
                    for verb in [verb, "enable", verb] {
                        let said = daemon.waggle(&["backend", verb, name]);
                        assert!(said.ok(), "{said:?}");
                    }
                    assert!(status(daemon)["services"].is_array());
                });
            }
        }
    });
    assert_eq!(member(daemon, "backend-1")["admin"], "disable");
    assert_eq!(member(daemon, "backend-2")["admin"], "drain");
    for name in ["backend-1", "backend-2"] {
        assert!(daemon.waggle(&["backend", "enable", name]).ok());
    }
    wait_all_up(daemon, 2);
    assert!(connect_many(lab.client(), WEB, 100).errors.is_empty());
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    for format in ["text", "json"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = lab.edge().command(program("waggle"));
        command.args(["status", "--format", format, "--control"]);
        command.arg(daemon.control()).stderr(Stdio::piped());
        let output = command.stdout(writer).output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
}
