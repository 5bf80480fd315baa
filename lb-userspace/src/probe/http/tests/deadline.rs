//! Time: what a probe waits for, how long, and what it measures.

use super::*;

/// For probes that are meant to time out.
const SHORT: Duration = Duration::from_millis(200);

/// Probes a server that never completes its answer; proves that the deadline holds.
async fn times_out(server: &Server, http: &HttpProbe) {
    let start = time::Instant::now();
    let outcome = probe(server.address, http, SHORT).await;
    let phase = Phase::Answer;
    assert_eq!(outcome, Err(Failure::Timeout { phase }));
    assert!((SHORT..AMPLE).contains(&start.elapsed()));
}

#[tokio::test]
async fn a_backend_that_does_not_accept_times_out_connecting() {
    // A backlog that is full: further SYNs get no answer.
    let socket = TcpSocket::new_v4().unwrap();
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
