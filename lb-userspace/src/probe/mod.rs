//! Probes: one file per kind, the rules that make health of results, and the scheduler.

mod connect;
#[cfg(test)]
mod fixtures;
mod health;
mod http;
mod https;
mod latency;
#[cfg(test)]
mod nginx;
mod scheduler;
#[cfg(test)]
mod server;
mod stream;
mod tcp;
mod tls;

use std::{fmt, net::SocketAddr, time::Duration};

use self::tls::Clients;
pub use self::{
    health::History,
    latency::Latency,
    scheduler::Scheduler,
    stream::{Schedule, StreamKey, stream_key, streams},
};
use crate::model::ProbeKind;

/// Result of one probe: the latency of a good answer, or why there was none.
pub type Sample = Result<Duration, Failure>;

/// Probes the endpoint of `key` once. `timeout` is the deadline over the whole probe, connecting
/// included.
async fn probe(key: &StreamKey, clients: &Clients, timeout: Duration) -> Sample {
    let target = SocketAddr::new(key.address, key.port);
    match &key.kind {
        ProbeKind::Http(probe) => http::probe(target, probe, timeout).await,
        ProbeKind::Https(probe) => https::probe(target, probe, clients, timeout).await,
        ProbeKind::Tcp => tcp::probe(target, timeout).await,
    }
}

/// Why a probe was not good (S35), for people.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The backend closed the connection before the whole answer was there.
    #[error("closed the connection before the answer was complete")]
    Closed,
    /// What came is no valid answer.
    #[error("no valid answer: {0}")]
    Protocol(String),
    /// Nothing listens on the port.
    #[error("refused the connection")]
    Refused,
    /// A complete answer with a status that is not expected.
    #[error("answered with status {0}")]
    Status(u16),
    /// The backend is there, and no TLS session with it is to be had, or it broke.
    #[error("no TLS connection: {0}")]
    Tls(String),
    /// The deadline passed.
    #[error("no {phase} within the timeout")]
    Timeout {
        /// What was still missing.
        phase: Phase,
    },
    /// The network has no way to the backend, or lost it.
    #[error("unreachable: {0}")]
    Unreachable(String),
    /// This edge could not send the probe: no free file descriptor or port, or a request that can
    /// not be written. It says nothing of the backend.
    #[error("the probe could not be sent: {0}")]
    Unsent(String),
}

impl Failure {
    /// Every [`reason`](Self::reason).
    pub const REASONS: [&'static str; 8] = [
        "closed",
        "protocol",
        "refused",
        "status",
        "timeout",
        "tls",
        "unreachable",
        "unsent",
    ];

    /// The kind of failure in one word that stays the same from version to version, to count by.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Protocol(_) => "protocol",
            Self::Refused => "refused",
            Self::Status(_) => "status",
            Self::Timeout { .. } => "timeout",
            Self::Tls(_) => "tls",
            Self::Unreachable(_) => "unreachable",
            Self::Unsent(_) => "unsent",
        }
    }
}

/// What a probe waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// The last byte of the answer.
    Answer,
    /// The connection.
    Connect,
    /// The end of the TLS handshake.
    Handshake,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer => "complete answer",
            Self::Connect => "connection",
            Self::Handshake => "end of the TLS handshake",
        })
    }
}

/// A column of a vector in `tests/vectors/routing.json`.
#[cfg(test)]
pub(crate) fn vector(id: &str, column: &str) -> String {
    let text = include_str!("../../../tests/vectors/routing.json");
    let vectors: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    let vector = vectors.iter().find(|vector| vector["id"] == id);
    vector.unwrap()[column].as_str().unwrap().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_happened_and_has_a_reason_to_count_by() {
        let mut reasons = Vec::new();
        let text = || "x".to_owned();
        let timeout = |phase| Failure::Timeout { phase };
        for (failure, said) in [
            (
                Failure::Closed,
                "closed the connection before the answer was complete",
            ),
            (Failure::Protocol(text()), "no valid answer: x"),
            (Failure::Refused, "refused the connection"),
            (Failure::Status(503), "answered with status 503"),
            (
                timeout(Phase::Answer),
                "no complete answer within the timeout",
            ),
            (timeout(Phase::Connect), "no connection within the timeout"),
            (
                timeout(Phase::Handshake),
                "no end of the TLS handshake within the timeout",
            ),
            (Failure::Tls(text()), "no TLS connection: x"),
            (Failure::Unreachable(text()), "unreachable: x"),
            (Failure::Unsent(text()), "the probe could not be sent: x"),
        ] {
            assert_eq!(failure.to_string(), said);
            reasons.push(failure.reason());
        }
        reasons.sort_unstable();
        reasons.dedup();
        assert_eq!(reasons, Failure::REASONS);
    }
}
