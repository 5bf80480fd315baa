//! Steady traffic of short connections, with a record of who answered when.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{client::Connection, namespace::Namespace, wait::now};

/// Connections at a time.
const CLIENTS: usize = 4;

/// After each request. Without it a fast machine uses every source port anew within seconds, while
/// the flow table and the servers still remember the last connection from it.
const PAUSE: Duration = Duration::from_millis(2);

/// Clients that connect, ask once, and connect again. Dropping it ends them.
#[derive(Debug)]
pub struct Traffic {
    ended: Arc<AtomicBool>,
    record: Arc<Mutex<Record>>,
    clients: Vec<JoinHandle<()>>,
}

/// For each request when it began, and who answered or what went wrong.
#[derive(Clone, Debug, Default)]
pub struct Record(Vec<(Instant, Result<String, String>)>);

impl Traffic {
    /// Starts it from `client` to `target`.
    pub fn start(client: &Namespace, target: impl Into<SocketAddr>) -> Self {
        let target = target.into();
        let ended = Arc::new(AtomicBool::new(false));
        let record = Arc::new(Mutex::new(Record::default()));
        let clients = client.enter(|| {
            let clients = (0..CLIENTS).map(|_| {
                let (ended, record) = (Arc::clone(&ended), Arc::clone(&record));
                thread::spawn(move || ask_until(&ended, target, &record))
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
    pub fn run_for(&self, time: Duration) {
        thread::sleep(time);
    }

    /// What there is of the record so far.
    pub fn record(&self) -> Record {
        self.record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends it.
    pub fn stop(mut self) -> Record {
        self.end();
        self.record()
    }

    fn end(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            let _panicked = client.join();
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.end();
    }
}

fn ask_until(ended: &AtomicBool, target: SocketAddr, record: &Mutex<Record>) {
    while !ended.load(Ordering::Relaxed) {
        let begin = now();
        let answer = Connection::open(target, None).and_then(|connection| connection.ask("/"));
        let answer = match answer {
            Ok(answer) if answer.status == 200 => Ok(answer.backend),
            Ok(answer) => Err(format!("{answer:?}")),
            Err(error) => Err(error.to_string()),
        };
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        record.0.push((begin, answer));
        drop(record);
        thread::sleep(PAUSE);
    }
}

impl Record {
    /// How many requests each backend has answered.
    pub fn answers(&self) -> BTreeMap<&str, usize> {
        let mut answers = BTreeMap::new();
        for backend in self.0.iter().filter_map(|(_, answer)| answer.as_ref().ok()) {
            *answers.entry(backend.as_str()).or_default() += 1;
        }
        answers
    }

    /// What went wrong otherwise, in the order of time.
    pub fn errors(&self) -> Vec<&str> {
        let errors = self
            .0
            .iter()
            .filter_map(|(_, answer)| answer.as_ref().err());
        errors.map(String::as_str).collect()
    }

    /// When the last request that failed began.
    pub fn last_failure(&self) -> Option<Instant> {
        let failed = self.0.iter().filter(|(_, answer)| answer.is_err());
        failed.map(|(at, _)| *at).max()
    }

    /// When the first request that `name` answered began.
    pub fn first_answer(&self, name: &str) -> Option<Instant> {
        let by_name = |answer: &Result<String, String>| answer.as_deref() == Ok(name);
        let answered = self.0.iter().filter(|(_, answer)| by_name(answer));
        answered.map(|(at, _)| *at).min()
    }

    /// The requests that began after `time`.
    pub fn after(&self, time: Instant) -> Self {
        let later = self.0.iter().filter(|(at, _)| *at > time);
        Self(later.cloned().collect())
    }
}
