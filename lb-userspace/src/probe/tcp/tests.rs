use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream as Peer},
    thread,
};

use tokio::net::TcpSocket;

use super::*;

/// More than any good probe here takes.
const AMPLE: Duration = Duration::from_secs(10);

/// Probes a server that treats its one connection so; returns both outcomes.
async fn against<T: Send + 'static>(
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Result<Duration, Failure>, T) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || serve(listener.accept().unwrap().0));
    let outcome = probe(address, AMPLE).await;
    (outcome, server.join().unwrap())
}

#[tokio::test]
async fn a_listener_is_good_and_sees_a_clean_end() {
    let (outcome, read) = against(|mut peer| peer.read(&mut [0; 16]).map_err(|it| it.kind())).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(read, Ok(0));
}

#[tokio::test]
async fn one_that_greets_sees_a_clean_end_too() {
    let (outcome, read) = against(|mut peer| {
        peer.write_all(&[b'x'; 100_000]).unwrap();
        peer.read(&mut [0; 16]).map_err(|it| it.kind())
    })
    .await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(read, Ok(0));
}

#[tokio::test]
async fn one_that_never_closes_does_not_hold_up_the_sample() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = time::Instant::now();
    let latency = probe(listener.local_addr().unwrap(), Duration::MAX)
        .await
        .unwrap();
    let took = start.elapsed();
    assert!(took < AMPLE && latency < took, "{latency:?} of {took:?}");
}

#[tokio::test]
async fn a_port_without_a_listener_refuses() {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let outcome = probe(bound.local_addr().unwrap(), AMPLE).await;
    assert_eq!(outcome, Err(Failure::Refused));
}

#[tokio::test]
async fn what_does_not_answer_times_out() {
    // A backlog that is full: further SYNs get no answer.
    let short = Duration::from_millis(200);
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = time::timeout(short, TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
    }
    let phase = Phase::Connect;
    assert_eq!(probe(address, short).await, Err(Failure::Timeout { phase }));
}
