use std::{
    future::{pending, ready},
    io::Write as _,
    process::{Child, Command},
};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    model::StatusRange,
    probe::{server::Server, vector},
};

/// More than any good probe here takes.
const AMPLE: Duration = Duration::from_secs(10);
/// For probes that are meant to time out.
const SHORT: Duration = Duration::from_millis(200);

fn head() -> HttpProbe {
    HttpProbe {
        method: Method::Head,
        path: "/healthz".to_owned(),
        host: None,
        headers: vec![("User-Agent".to_owned(), "Waggle Health Probe".to_owned())],
        expect: vec![StatusRange::new(200, 200).unwrap()],
    }
}

fn get() -> HttpProbe {
    HttpProbe {
        method: Method::Get,
        ..head()
    }
}

/// A server that sends these bytes and then closes.
async fn saying(answer: &'static [u8]) -> Server {
    Server::start(move |mut stream| async move {
        stream.write_all(answer).await.unwrap();
        // Waits for the client to read it all: closing first could lose the answer to a reset.
        stream.shutdown().await.unwrap();
    })
    .await
}

async fn outcome(answer: &'static [u8], http: &HttpProbe) -> Result<Duration, Failure> {
    probe(saying(answer).await.address, http, AMPLE).await
}

/// Probes a server that never completes its answer; proves that the deadline holds.
async fn times_out(server: &Server, http: &HttpProbe) {
    let start = time::Instant::now();
    let outcome = probe(server.address, http, SHORT).await;
    let phase = Phase::Answer;
    assert_eq!(outcome, Err(Failure::Timeout { phase }));
    assert!((SHORT..AMPLE).contains(&start.elapsed()));
}

fn protocol(outcome: &Result<Duration, Failure>) -> bool {
    matches!(outcome, Err(Failure::Protocol(_)))
}

#[tokio::test]
async fn t175_status_200_is_up() {
    let outcome = outcome(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &head()).await;
    let verdict = if outcome.is_ok() { "up" } else { "down" };
    assert_eq!(verdict, vector("T175", "expected"));
}

#[tokio::test]
async fn t177_a_redirect_is_down_and_not_followed() {
    let elsewhere = Server::start(|_| ready(())).await;
    let location = elsewhere.address;
    let server = Server::start(move |mut stream| async move {
        let answer = format!(
            "HTTP/1.1 301 Moved\r\nLocation: http://{location}/\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let outcome = probe(server.address, &head(), AMPLE).await;
    assert_eq!(outcome, Err(Failure::Status(301)));
    let verdict = if outcome.is_ok() { "up" } else { "down" };
    assert_eq!(verdict, vector("T177", "expected"));
    assert_eq!(server.requests().len(), 1);
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn the_request_is_as_configured() {
    let server = saying(b"HTTP/1.1 200 OK\r\n\r\n").await;
    probe(server.address, &head(), AMPLE).await.unwrap();
    let http = HttpProbe {
        path: "/a/b?c=d".to_owned(),
        host: Some("www.example.org".to_owned()),
        headers: vec![("X-One".to_owned(), "1".to_owned())],
        ..get()
    };
    probe(server.address, &http, AMPLE).await.unwrap();
    let plain = format!(
        "HEAD /healthz HTTP/1.1\r\nuser-agent: Waggle Health Probe\r\nhost: {}\r\n\
         connection: close\r\n\r\n",
        server.address
    );
    let custom = "GET /a/b?c=d HTTP/1.1\r\nx-one: 1\r\nhost: www.example.org\r\n\
                  connection: close\r\n\r\n";
    // One head per connection: the second probe did not reuse the first one's.
    assert_eq!(server.requests(), [plain.as_str(), custom]);
}

#[test]
fn the_host_is_the_setting_then_the_header_then_the_address() {
    let v6 = "[2001:db8::1]:8080".parse().unwrap();
    let mut http = head();
    let host = |http: &HttpProbe| request(v6, http).unwrap().headers()[HOST].clone();
    assert_eq!(host(&http), "[2001:db8::1]:8080");
    http.headers
        .push(("host".to_owned(), "b.example".to_owned()));
    assert_eq!(host(&http), "b.example");
    http.host = Some("a.example".to_owned());
    assert_eq!(host(&http), "a.example");
}

#[tokio::test]
async fn a_request_that_can_not_be_written_is_not_sent() {
    let header = |name: &str, value: &str| HttpProbe {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..head()
    };
    let server = Server::start(|_| ready(())).await;
    for http in [
        header("a b", "c"),
        header("", "c"),
        header("a", "b\r\nc: d"),
        HttpProbe {
            path: "/a b".to_owned(),
            ..head()
        },
        HttpProbe {
            host: Some("a\nb".to_owned()),
            ..head()
        },
    ] {
        let outcome = probe(server.address, &http, AMPLE).await;
        assert!(
            matches!(outcome, Err(Failure::Unsent(_))),
            "{http:?}: {outcome:?}"
        );
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn odd_headers_of_our_own_do_no_harm() {
    for (name, value) in [
        ("Content-Length", "5"),
        ("Content-Length", "x"),
        ("Transfer-Encoding", "gzip"),
        ("Expect", "100-continue"),
        ("Upgrade", "websocket"),
    ] {
        let http = HttpProbe {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..get()
        };
        let outcome = outcome(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &http).await;
        assert!(outcome.is_ok(), "{name}: {value}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_is_a_good_answer() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and something more",
    ] {
        let outcome = outcome(answer, &get()).await;
        assert!(outcome.is_ok(), "{}: {outcome:?}", answer.escape_ascii());
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_whatever_its_header_says() {
    let server = Server::start(|mut stream| async move {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        pending().await
    })
    .await;
    assert!(probe(server.address, &head(), AMPLE).await.is_ok());
}

#[tokio::test]
async fn only_expected_statuses_are_good() {
    let ranges = HttpProbe {
        expect: vec![
            StatusRange::new(204, 206).unwrap(),
            StatusRange::new(404, 404).unwrap(),
        ],
        ..get()
    };
    for (answer, http, expected) in [
        (
            &b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"[..],
            head(),
            Some(500),
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", head(), Some(204)),
        (b"HTTP/1.1 999 What\r\n\r\n", head(), Some(999)),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            head(),
            Some(101),
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ranges.clone(), None),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            ranges.clone(),
            None,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            ranges.clone(),
            Some(200),
        ),
    ] {
        let failure = outcome(answer, &http).await.err();
        assert_eq!(
            failure,
            expected.map(Failure::Status),
            "{}",
            answer.escape_ascii()
        );
    }
}

#[tokio::test]
async fn garbage_is_a_protocol_failure() {
    for answer in [
        &b"\0\xff\xfe garbage\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let outcome = outcome(answer, &get()).await;
        assert!(protocol(&outcome), "{}: {outcome:?}", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_head_that_is_too_big_is_a_protocol_failure() {
    let endless = Server::start(|mut stream| async move {
        let start = b"HTTP/1.1 200 OK\r\nX: ";
        let mut sent = stream.write_all(start).await;
        while sent.is_ok() {
            sent = stream.write_all(&[b'x'; 4096]).await;
        }
    })
    .await;
    let many = Server::start(|mut stream| async move {
        let answer = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1_000));
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    for server in [endless, many] {
        let outcome = probe(server.address, &head(), AMPLE).await;
        assert!(protocol(&outcome), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_early_is_closed() {
    for answer in [
        &b""[..],
        b"HTTP",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nnot all",
    ] {
        let outcome = outcome(answer, &get()).await;
        assert_eq!(outcome, Err(Failure::Closed), "{}", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_reset_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let http = head();
    let (outcome, ()) = tokio::join!(probe(address, &http, AMPLE), async {
        let (stream, _) = listener.accept().await.unwrap();
        // Closing with the request unread makes the kernel send a reset.
        stream.readable().await.unwrap();
    });
    assert_eq!(outcome, Err(Failure::Closed));
}

#[tokio::test]
async fn a_port_without_a_listener_refuses() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    assert_eq!(probe(address, &head(), AMPLE).await, Err(Failure::Refused));
}

#[tokio::test]
async fn what_has_no_route_is_unreachable() {
    // Broadcast: the kernel refuses to connect to it without sending a packet.
    let target = "255.255.255.255:80".parse().unwrap();
    let outcome = probe(target, &head(), AMPLE).await;
    assert!(
        matches!(outcome, Err(Failure::Unreachable(_))),
        "{outcome:?}"
    );
}

#[test]
fn trouble_of_this_host_is_not_the_backends() {
    for (errno, label) in [
        (Errno::EMFILE, "unsent"),
        (Errno::EADDRNOTAVAIL, "unsent"),
        (Errno::ENOBUFS, "unsent"),
        (Errno::ECONNREFUSED, "refused"),
        (Errno::ETIMEDOUT, "connect_timeout"),
        (Errno::EHOSTUNREACH, "unreachable"),
        (Errno::ENETUNREACH, "unreachable"),
    ] {
        let failure = not_connected(io::Error::from_raw_os_error(errno as i32));
        assert_eq!(failure.label(), label, "{failure}");
    }
}

#[tokio::test]
async fn a_backend_that_does_not_accept_times_out_connecting() {
    // A backlog that is full: further SYNs get no answer.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = time::timeout(SHORT, TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
    }
    let phase = Phase::Connect;
    let outcome = probe(address, &head(), SHORT).await;
    assert_eq!(outcome, Err(Failure::Timeout { phase }));
}

#[tokio::test]
async fn no_answer_times_out() {
    let server = Server::start(|stream| async move {
        let _open = stream;
        pending().await
    })
    .await;
    times_out(&server, &head()).await;
}

#[tokio::test]
async fn a_dribble_ends_at_the_deadline() {
    let server = Server::start(|mut stream| async move {
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").await;
        while sent.is_ok() {
            time::sleep(SHORT / 20).await;
            sent = stream.write_all(b"x").await;
        }
    })
    .await;
    times_out(&server, &head()).await;
}

#[tokio::test]
async fn endless_interim_answers_end_at_the_deadline() {
    let server = Server::start(|mut stream| async move {
        while stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .await
            .is_ok()
        {}
    })
    .await;
    times_out(&server, &head()).await;
}

#[tokio::test]
async fn an_endless_body_ends_at_the_deadline() {
    let server = Server::start(|mut stream| async move {
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while sent.is_ok() {
            sent = stream.write_all(&[b'x'; 65_536]).await;
        }
    })
    .await;
    times_out(&server, &get()).await;
}

#[tokio::test]
async fn latency_lasts_to_the_last_byte_of_the_body() {
    let pause = Duration::from_millis(50);
    let server = Server::start(move |mut stream| async move {
        let start = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no";
        stream.write_all(start).await.unwrap();
        time::sleep(pause).await;
        stream.write_all(b"k").await.unwrap();
        pending().await
    })
    .await;
    let latency = probe(server.address, &get(), AMPLE).await.unwrap();
    assert!((pause..AMPLE).contains(&latency), "{latency:?}");
}

#[tokio::test]
async fn latency_does_not_wait_for_the_end_of_the_connection() {
    let server = Server::start(|mut stream| async move {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        stream.write_all(answer).await.unwrap();
        time::sleep(AMPLE / 2).await;
    })
    .await;
    let latency = probe(server.address, &get(), AMPLE).await.unwrap();
    assert!(latency < AMPLE / 2, "{latency:?}");
}

#[tokio::test]
async fn the_connection_is_closed_after_the_answer() {
    let (closed, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let closed = closed.clone();
        async move {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            let end = tokio::io::AsyncReadExt::read(&mut stream, &mut [0]).await;
            closed.send(end.unwrap()).unwrap();
        }
    })
    .await;
    probe(server.address, &head(), AMPLE).await.unwrap();
    assert_eq!(time::timeout(AMPLE, seen.recv()).await.unwrap(), Some(0));
}

#[tokio::test]
async fn the_longest_timeout_does_not_overflow() {
    let server = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(probe(server.address, &head(), Duration::MAX).await.is_ok());
}

/// An nginx process of this test.
struct Nginx {
    process: Child,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Nginx {
    async fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let directory = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(directory.path().join("nginx.conf")).unwrap();
        write!(
            file,
            "daemon off; master_process off; pid nginx.pid; error_log stderr;
             events {{}}
             http {{
                 access_log off;
                 client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t;
                 uwsgi_temp_path t; scgi_temp_path t;
                 server {{ listen {address}; location = /healthz {{ return 200 fine; }} }}
             }}"
        )
        .unwrap();
        let process = Command::new("nginx")
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(directory.path())
            .spawn()
            .expect("nginx is needed: run `cargo xtask setup`");
        let nginx = Self {
            process,
            address,
            _directory: directory,
        };
        let start = time::Instant::now();
        while TcpStream::connect(address).await.is_err() {
            assert!(start.elapsed() < AMPLE, "nginx does not listen");
            time::sleep(AMPLE / 1_000).await;
        }
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn nginx_answers_200_and_404() {
    let nginx = Nginx::start().await;
    let missing = |http| HttpProbe {
        path: "/missing".to_owned(),
        ..http
    };
    for http in [head(), get()] {
        let outcome = probe(nginx.address, &http, AMPLE).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let outcome = probe(nginx.address, &missing(http), AMPLE).await;
        assert_eq!(outcome, Err(Failure::Status(404)));
    }
}
