use std::{fmt, time::Duration};

use super::{Backend, Trust};

/// How the members of a group are probed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Probe {
    /// What is sent, and what is a good answer.
    pub kind: ProbeKind,
    /// Port on the backend.
    pub port: u16,
    /// Whether it is that of the group's services: then a backend that has a port of its own is probed
    /// there.
    pub is_service_port: bool,
    /// Time from one probe to the next.
    pub interval: Duration,
    /// Deadline over the whole probe, connecting included. At most the interval.
    pub timeout: Duration,
    /// How latencies become the one that policies see.
    pub smoothing: Smoothing,
    /// What a member without a verdict gets.
    pub initial: Initial,
}

impl Probe {
    /// Port on a backend that has no place of its own for probes.
    pub fn port_on(&self, backend: &Backend) -> u16 {
        let own = backend.port.filter(|_| self.is_service_port);
        own.unwrap_or(self.port)
    }
}

/// What a member gets before its first verdict (R3).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Initial {
    /// Traffic, as if it were healthy (Traffic Manager, D38).
    Checking,
    /// Nothing (Front Door).
    #[default]
    Down,
}

/// The kinds of probe.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ProbeKind {
    /// An HTTP/1.1 request.
    Http(HttpProbe),
    /// An HTTP/1.1 request over TLS.
    Https(HttpsProbe),
    /// A connection, and nothing over it.
    Tcp,
}

impl ProbeKind {
    /// The word of the configuration for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Https(_) => "https",
            Self::Tcp => "tcp",
        }
    }
}

/// An HTTP request over TLS.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HttpsProbe {
    /// What is sent over TLS. It has a host.
    pub http: HttpProbe,
    /// DNS name or address that the certificate must be for. A name is sent as SNI (RFC 6066, 3), an
    /// address is not.
    pub server_name: String,
    /// Whose certificates are good.
    pub trust: Trust,
}

/// An HTTP request and the answers to it that are good.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HttpProbe {
    /// HEAD or GET (S34).
    pub method: Method,
    /// Absolute path with query.
    pub path: String,
    /// Value of the Host header; the backend's address and port where none is set.
    pub host: Option<String>,
    /// Further headers, `User-Agent` among them.
    pub headers: Vec<(String, String)>,
    /// Good status codes.
    pub expect: Vec<StatusRange>,
}

/// Request method of a probe.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Method {
    /// Asks for the whole answer.
    Get,
    /// Asks for the header only.
    Head,
}

/// Status codes from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StatusRange {
    low: u16,
    high: u16,
}

impl StatusRange {
    /// The codes `low` to `high`, if both are status codes (100 to 599) in order.
    pub fn new(low: u16, high: u16) -> Option<Self> {
        (100 <= low && low <= high && high <= 599).then_some(Self { low, high })
    }

    /// Whether `status` is one of them.
    pub fn contains(self, status: u16) -> bool {
        (self.low..=self.high).contains(&status)
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (low, high) if low == high => write!(f, "{low}"),
            (low, high) => write!(f, "{low}-{high}"),
        }
    }
}

/// How the latencies of one stream of probes become the one that policies see.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Smoothing {
    /// Each sample moves the moving average by one part in this many of the distance. At least 1,
    /// which is no average.
    pub parts: u32,
    /// Least move of the average that policies see.
    pub dead_band: Duration,
    /// The same in percent of what they see now; the larger of the two counts.
    pub dead_band_percent: u32,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self {
            parts: 4,
            dead_band: Duration::from_millis(1),
            dead_band_percent: 10,
        }
    }
}
