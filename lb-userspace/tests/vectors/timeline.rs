//! How long it takes until a backend that falls silent is down: the scheduler, real connections and a
//! rule, by a clock that stands still until it is moved.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpListener,
    time::Duration,
};

use lb_userspace::{
    model::{Health, HttpProbe, Method, Name, ProbeKind, StatusRange},
    probe::{History, Schedule, Scheduler, StreamKey},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{self, JoinHandle},
    time::{self, Instant},
};

use crate::{file::vector, health::tolerating};

#[tokio::test(start_paused = true)]
async fn t171_three_tolerated_failures_take_four_intervals_and_a_timeout() {
    assert_eq!(degraded_after(30, 10, 3).await, vector("T171").expected);
}

#[tokio::test(start_paused = true)]
async fn t172_without_tolerance_it_takes_an_interval_and_a_timeout() {
    assert_eq!(degraded_after(10, 5, 0).await, vector("T172").expected);
}

/// Seconds from a good probe, after which the backend takes connections and says nothing, until it is
/// down.
async fn degraded_after(interval: u64, timeout: u64, tolerated: u8) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let edge: Name = "e".parse().expect("a name");
    let key = StreamKey {
        address: address.ip(),
        port: address.port(),
        kind: ProbeKind::Http(HttpProbe {
            method: Method::Get,
            path: "/".to_owned(),
            host: None,
            headers: Vec::new(),
            expect: StatusRange::new(200, 200).into_iter().collect(),
        }),
    };
    let schedule = Schedule {
        interval: Duration::from_secs(interval),
        timeout: Duration::from_secs(timeout),
        hasty: 0,
    };
    let first = schedule.gap(0, key.phase(&edge));
    let (sender, mut samples) = mpsc::channel(1);
    let mut scheduler = Scheduler::new(edge, sender);
    let (judged, answering) = answer_once(listener);
    scheduler.set(&BTreeMap::from([(key, schedule)]));
    task::yield_now().await;
    // Timers go off at whole milliseconds.
    time::advance(first + Duration::from_millis(1)).await;
    let mut history = History::new(tolerating(tolerated));
    let mut record = |sample: Option<(StreamKey, Result<Duration, _>)>| {
        history.record(sample.expect("the stream goes on").1.is_ok());
        history.health()
    };
    assert_eq!(record(samples.recv().await), Health::Up);
    let good = Instant::now();
    judged.send(()).expect("it waits");
    let _silent = answering.await.expect("it answered");
    while record(samples.recv().await) != Health::Down {}
    good.elapsed().as_secs().to_string()
}

/// Answers one connection and then waits for the word. While it runs, the clock does not move by itself.
fn answer_once(listener: TcpListener) -> (oneshot::Sender<()>, JoinHandle<TcpListener>) {
    let (sender, receiver) = oneshot::channel();
    let answering = task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            head.extend(byte);
        }
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).expect("it listens");
        receiver.blocking_recv().expect("the word");
        listener
    });
    (sender, answering)
}
