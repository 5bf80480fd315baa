//! A steady load of short connections, with a record of who answered when.

use std::{
    collections::BTreeSet,
    net::SocketAddrV4,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lb_tests::lab::{Namespace, SERVICE, client::Connection};

/// What the load connects to.
pub(crate) const WEB: SocketAddrV4 = SocketAddrV4::new(SERVICE, 80);

const CLIENTS: usize = 4;

/// After each request. Without it a fast machine uses every source port anew within seconds, while
/// the flow table and the servers still remember the last connection from it.
const PAUSE: Duration = Duration::from_millis(2);

/// Clients that connect, ask once, and connect again.
pub(crate) struct Load {
    ended: Arc<AtomicBool>,
    record: Arc<Mutex<Record>>,
    clients: Vec<JoinHandle<()>>,
}

/// For each request when it began and who answered; none for a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Vec<(Instant, Option<String>)>);

impl Load {
    /// Starts it.
    pub(crate) fn start(client: &Namespace) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let record = Arc::new(Mutex::new(Record::default()));
        let clients = client.enter(|| {
            let clients = (0..CLIENTS).map(|_| {
                let (ended, record) = (Arc::clone(&ended), Arc::clone(&record));
                thread::spawn(move || ask_until(&ended, &record))
            });
            clients.collect()
        });
        Self {
            ended,
            record,
            clients,
        }
    }

    /// Lets it go on for a time.
    pub(crate) fn run_for(&self, time: Duration) {
        thread::sleep(time);
    }

    /// Ends it.
    pub(crate) fn stop(self) -> Record {
        self.ended.store(true, Ordering::Relaxed);
        for client in self.clients {
            let _panicked = client.join();
        }
        self.record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn ask_until(ended: &AtomicBool, record: &Mutex<Record>) {
    while !ended.load(Ordering::Relaxed) {
        let begin = now();
        let answer = Connection::open(WEB, None).and_then(|connection| connection.ask("/"));
        let backend = answer
            .ok()
            .filter(|answer| answer.status == 200)
            .map(|answer| answer.backend);
        record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .push((begin, backend));
        thread::sleep(PAUSE);
    }
}

impl Record {
    /// Requests that were answered.
    pub(crate) fn answers(&self) -> usize {
        self.0.len() - self.failures()
    }

    /// Requests that were not.
    pub(crate) fn failures(&self) -> usize {
        self.0
            .iter()
            .filter(|(_, backend)| backend.is_none())
            .count()
    }

    /// When the last request that failed began.
    pub(crate) fn last_failure(&self) -> Option<Instant> {
        self.0
            .iter()
            .filter(|(_, backend)| backend.is_none())
            .map(|(at, _)| *at)
            .max()
    }

    /// When the first request that `name` answered began.
    pub(crate) fn first_answer(&self, name: &str) -> Option<Instant> {
        let by_name = self
            .0
            .iter()
            .filter(|(_, backend)| backend.as_deref() == Some(name));
        by_name.map(|(at, _)| *at).min()
    }

    /// The requests that began after `time`.
    pub(crate) fn after(&self, time: Instant) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(at, _)| *at > time)
                .cloned()
                .collect(),
        )
    }

    /// Who answered.
    pub(crate) fn backends(&self) -> Vec<&str> {
        let names: BTreeSet<_> = self
            .0
            .iter()
            .filter_map(|(_, backend)| backend.as_deref())
            .collect();
        names.into_iter().collect()
    }
}

/// The time.
#[expect(clippy::disallowed_methods, reason = "the demo measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
