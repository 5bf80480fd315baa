use std::{collections::BTreeSet, future::pending, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    sync::mpsc::Receiver,
    time::{Instant, timeout},
};

use super::*;
use crate::{
    model::{ProbeKind, ProbedAt},
    probe::{
        Failure, Phase,
        fixtures::{self, group, head, model, name},
        server::Server,
        streams,
    },
};

/// So long that no phase brings a probe of it into a test.
const EVER: Duration = Duration::from_secs(10_000_000);
/// More than anything here takes.
const AMPLE: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(50);

type Samples = Receiver<(StreamKey, Sample)>;

fn scheduler(capacity: usize) -> (Scheduler, Samples) {
    let (sender, samples) = mpsc::channel(capacity);
    (Scheduler::new(name("fra-1"), sender), samples)
}

fn key(server: SocketAddr) -> StreamKey {
    StreamKey {
        address: server.ip(),
        port: server.port(),
        kind: ProbeKind::Http(head()),
    }
}

fn every(interval: Duration, hasty: usize) -> Schedule {
    Schedule {
        interval,
        timeout: AMPLE,
        hasty,
    }
}

async fn healthy() -> Server {
    Server::start(|mut stream| async move {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    })
    .await
}

/// A server that takes requests and never answers.
async fn silent() -> Server {
    Server::start(|stream| async move {
        let _open = stream;
        pending().await
    })
    .await
}

/// The next sample, which is there soon enough.
async fn next(samples: &mut Samples) -> (StreamKey, Sample) {
    timeout(AMPLE, samples.recv()).await.unwrap().unwrap()
}

/// Whether nothing comes for this long.
async fn quiet(samples: &mut Samples, time: Duration) -> bool {
    timeout(time, samples.recv()).await.is_err()
}

async fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < AMPLE);
        sleep(TICK / 10).await;
    }
}

#[tokio::test]
async fn a_shared_stream_is_probed_at_the_lowest_interval() {
    let server = healthy().await;
    let probes = [EVER, TICK].map(|interval| {
        let mut probe = fixtures::probe(interval, AMPLE);
        probe.port = server.address.port();
        probe
    });
    let [slow, fast] = probes.map(Some);
    let mut model = model([
        group("g1", &["a"], slow, (5, 3)),
        group("g2", &["a"], fast, (4, 2)),
    ]);
    model.backends.get_mut("a").unwrap().address = [127, 0, 0, 1].into();
    let streams = streams(&model, |_, _| true);
    let (mut scheduler, mut samples) = scheduler(1);
    let start = Instant::now();
    scheduler.set(&streams);
    for _ in 0..10 {
        let (key, sample) = next(&mut samples).await;
        assert!(streams.contains_key(&key));
        assert!(sample.is_ok(), "{sample:?}");
    }
    assert!((TICK * 9..AMPLE).contains(&start.elapsed()));
}

#[tokio::test]
async fn a_backend_is_probed_where_its_own_table_says() {
    let server = healthy().await;
    let elsewhere = group("g", &["a"], Some(fixtures::probe(TICK, AMPLE)), (4, 2));
    let mut model = model([elsewhere]);
    model.backends.get_mut("a").unwrap().probe = ProbedAt {
        address: Some(server.address.ip()),
        port: Some(server.address.port()),
    };
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&streams(&model, |_, _| true));
    next(&mut samples).await.1.unwrap();
    assert!(server.requests()[0].contains(&format!("host: {}", server.address)));
}

#[tokio::test]
async fn hasty_probes_are_a_second_apart_and_end_when_the_rule_can_decide() {
    let server = healthy().await;
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, 2))]));
    next(&mut samples).await.1.unwrap();
    let first = Instant::now();
    next(&mut samples).await.1.unwrap();
    let second = Instant::now();
    let gap = second - first;
    assert!(
        (Duration::from_millis(500)..AMPLE).contains(&gap),
        "{gap:?}"
    );
    assert!(quiet(&mut samples, Duration::from_millis(1_500)).await);
}

#[tokio::test]
async fn a_silent_backend_does_not_delay_the_hasty_probes() {
    let server = silent().await;
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, 3))]));
    until(|| server.requests().len() == 3).await;
    assert!(samples.try_recv().is_err(), "none has timed out yet");
}

#[tokio::test]
async fn setting_a_stream_again_leaves_it_alone() {
    let server = healthy().await;
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, 1))]));
    next(&mut samples).await.1.unwrap();
    for hasty in [1, 0, 1] {
        scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, hasty))]));
    }
    assert!(quiet(&mut samples, Duration::from_millis(1_500)).await);
}

#[tokio::test]
async fn a_rule_that_needs_more_hasty_probes_brings_the_haste_back() {
    let server = healthy().await;
    let (mut scheduler, mut samples) = scheduler(1);
    for hasty in [1, 3] {
        scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, hasty))]));
        for _ in 0..hasty {
            next(&mut samples).await.1.unwrap();
        }
    }
    assert!(quiet(&mut samples, Duration::from_millis(1_500)).await);
    assert_eq!(server.requests().len(), 1 + 3);
}

#[tokio::test]
async fn a_running_stream_takes_a_new_interval_and_timeout() {
    let server = silent().await;
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, 0))]));
    assert!(quiet(&mut samples, TICK).await);
    let schedule = Schedule {
        interval: TICK,
        timeout: TICK,
        hasty: 0,
    };
    scheduler.set(&BTreeMap::from([(key(server.address), schedule)]));
    for _ in 0..3 {
        let (_, sample) = next(&mut samples).await;
        let phase = Phase::Answer;
        assert_eq!(sample, Err(Failure::Timeout { phase }));
    }
}

#[tokio::test]
async fn a_longer_interval_does_not_put_off_the_next_probe() {
    let server = healthy().await;
    let (mut scheduler, mut samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(TICK, 0))]));
    // Lets the stream begin.
    task::yield_now().await;
    scheduler.set(&BTreeMap::from([(key(server.address), every(EVER, 0))]));
    next(&mut samples).await.1.unwrap();
}

#[tokio::test]
async fn a_removed_stream_stops_at_once_and_the_others_go_on() {
    let (closed, mut seen) = mpsc::unbounded_channel();
    let hanging = Server::start(move |mut stream| {
        let closed = closed.clone();
        async move {
            let _ = stream.read(&mut [0]).await;
            closed.send(()).unwrap();
        }
    })
    .await;
    let good = healthy().await;
    let (mut scheduler, mut samples) = scheduler(1);
    let mut streams = BTreeMap::from([
        (key(hanging.address), every(TICK, 0)),
        (key(good.address), every(TICK, 0)),
    ]);
    scheduler.set(&streams);
    until(|| hanging.requests().len() == 1).await;
    streams.remove(&key(hanging.address));
    scheduler.set(&streams);
    timeout(AMPLE, seen.recv()).await.unwrap().unwrap();
    for _ in 0..10 {
        let (of, sample) = next(&mut samples).await;
        assert_eq!(of, key(good.address));
        assert!(sample.is_ok());
    }
    assert_eq!(hanging.requests().len(), 1);
    drop(scheduler);
    while timeout(AMPLE, samples.recv()).await.unwrap().is_some() {}
}

#[tokio::test]
async fn while_nobody_takes_samples_probes_wait_and_are_not_made_up_for() {
    let servers = [healthy().await, healthy().await];
    let (mut scheduler, mut samples) = scheduler(1);
    let keys = servers.each_ref().map(|server| key(server.address));
    let streams = keys.clone().map(|key| (key, every(TICK, 0)));
    scheduler.set(&streams.into());
    until(|| servers.iter().all(|server| !server.requests().is_empty())).await;
    sleep(TICK * 10).await;
    // One sample in the channel, and each stream holds on to one.
    let probes: usize = servers.iter().map(|server| server.requests().len()).sum();
    assert!(probes <= 3, "{probes}");
    let start = Instant::now();
    let mut counts = BTreeMap::new();
    while keys.iter().any(|key| counts.get(key) < Some(&5)) {
        *counts.entry(next(&mut samples).await.0).or_insert(0_u32) += 1;
    }
    // Those of before, then one in each interval and one at its edge.
    let most = 2 + 1 + (start.elapsed().as_millis() / TICK.as_millis()) as u32;
    assert!(
        counts.values().all(|count| *count <= most),
        "{counts:?} {most}"
    );
}

#[tokio::test]
async fn a_stream_ends_when_nobody_listens_any_more() {
    let server = healthy().await;
    let (mut scheduler, samples) = scheduler(1);
    scheduler.set(&BTreeMap::from([(key(server.address), every(TICK, 0))]));
    drop(samples);
    let streams = &scheduler.running;
    until(|| streams.values().all(|stream| stream.task.is_finished())).await;
}

#[tokio::test]
async fn ten_thousand_streams_all_get_their_turn() {
    // Bound but not listening: it refuses, and nobody else can take the port.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let refusing = key(bound.local_addr().unwrap());
    let streams: BTreeMap<_, _> = (0..10_000)
        .map(|path| {
            let mut http = head();
            http.path = format!("/{path}");
            let kind = ProbeKind::Http(http);
            (
                StreamKey { kind, ..refusing },
                every(Duration::from_secs(2), 0),
            )
        })
        .collect();
    let (mut scheduler, mut samples) = scheduler(64);
    scheduler.set(&streams);
    let mut missing: BTreeSet<_> = streams.keys().collect();
    while !missing.is_empty() {
        let (key, sample) = next(&mut samples).await;
        assert_eq!(sample, Err(Failure::Refused));
        missing.remove(&key);
    }
}
