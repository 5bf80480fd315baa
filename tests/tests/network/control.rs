use std::{
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    time::Duration,
};

use super::rig::{PORT, lab, start, status, wait_all_up};
use lb_tests::lab::Nginx;

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
                reply.is_empty() || reply.starts_with("{\"refused\":"),
                "{text:.20}: {reply}"
            );
        }
    }
    assert_eq!(status(&daemon)["services"][0]["published"], true);
    for mut stream in stalled {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.contains("in time"), "{reply}");
    }
}
