mod deadline;
mod nginx;

use std::future::{pending, ready};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpSocket, TcpStream},
};

use super::*;
use crate::{
    model::StatusRange,
    probe::{fixtures::head, server::Server, vector},
};

/// More than any good probe here takes.
const AMPLE: Duration = Duration::from_secs(10);

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
    })
    .await
}

async fn outcome(answer: &'static [u8], http: &HttpProbe) -> Result<Duration, Failure> {
    probe(saying(answer).await.address, http, AMPLE).await
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

/// The verdict on a redirect with this status, to a server that is never asked.
async fn redirected(status: u16, http: &HttpProbe) -> &'static str {
    let elsewhere = Server::start(|_| ready(())).await;
    let location = elsewhere.address;
    let server = Server::start(move |mut stream| async move {
        let answer = format!(
            "HTTP/1.1 {status} Moved\r\nLocation: http://{location}/\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let outcome = probe(server.address, http, AMPLE).await;
    assert_eq!(server.requests().len(), 1);
    assert!(elsewhere.requests().is_empty());
    match outcome {
        Ok(_) => "up",
        Err(failure) => {
            assert_eq!(failure, Failure::Status(status));
            "down"
        }
    }
}

#[tokio::test]
async fn t177_a_redirect_is_down_and_not_followed() {
    assert_eq!(redirected(301, &head()).await, vector("T177", "expected"));
}

#[tokio::test]
async fn t180_a_redirect_out_of_all_ranges_is_down_and_one_in_a_range_is_not_followed_either() {
    let range = |low, high| StatusRange::new(low, high).unwrap();
    let http = HttpProbe {
        expect: vec![range(200, 299), range(301, 301)],
        ..head()
    };
    assert_eq!(redirected(302, &http).await, vector("T180", "expected"));
    assert_eq!(redirected(301, &http).await, "up");
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
        HttpProbe {
            headers: (0..40_000)
                .map(|i| (format!("a{i}"), "b".to_owned()))
                .collect(),
            ..head()
        },
    ] {
        let outcome = probe(server.address, &http, AMPLE).await;
        assert!(matches!(outcome, Err(Failure::Unsent(_))), "{outcome:?}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn headers_just_below_and_above_the_most_that_fit_are_no_panic() {
    let target = "127.0.0.1:80".parse().unwrap();
    let mut http = head();
    let fits = |http: &HttpProbe| request(target, http).is_ok();
    http.headers = (0..24_570)
        .map(|i| (format!("a{i}"), "b".to_owned()))
        .collect();
    assert!(fits(&http));
    for i in 0..10 {
        http.headers.push((format!("b{i}"), "b".to_owned()));
        fits(&http);
    }
    assert!(!fits(&http));
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
    for (answer, http, status) in [
        (&b"HTTP/1.1 500 Oops\r\n\r\n"[..], head(), 500),
        (b"HTTP/1.1 204 No Content\r\n\r\n", head(), 204),
        (b"HTTP/1.1 999 What\r\n\r\n", head(), 999),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", head(), 101),
        (b"HTTP/1.1 200 OK\r\n\r\n", ranges.clone(), 200),
    ] {
        let outcome = outcome(answer, &http).await;
        assert_eq!(outcome, Err(Failure::Status(status)));
    }
    for answer in [
        &b"HTTP/1.1 204 No Content\r\n\r\n"[..],
        b"HTTP/1.1 404 Not Found\r\n\r\n",
    ] {
        let outcome = outcome(answer, &ranges).await;
        assert!(outcome.is_ok(), "{}: {outcome:?}", answer.escape_ascii());
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
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = bound.local_addr().unwrap();
    assert_eq!(probe(address, &head(), AMPLE).await, Err(Failure::Refused));
}

#[tokio::test]
async fn what_has_no_route_is_unreachable() {
    // Broadcast: the kernel refuses to connect to it without sending a packet.
    let target = "255.255.255.255:80".parse().unwrap();
    let failure = probe(target, &head(), AMPLE).await.unwrap_err();
    assert!(matches!(failure, Failure::Unreachable(_)), "{failure}");
}
