use std::{fmt, time::Duration};

/// How the members of a group are probed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Probe {
    /// What is sent, and what is a good answer.
    pub kind: ProbeKind,
    /// Port on the backend.
    pub port: u16,
    /// Time from one probe to the next.
    pub interval: Duration,
    /// Deadline over the whole probe, connecting included. At most the interval.
    pub timeout: Duration,
}

/// The kinds of probe.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ProbeKind {
    /// An HTTP/1.1 request.
    Http(HttpProbe),
}

impl ProbeKind {
    /// The word of the configuration for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
        }
    }
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

/// Healthy while at least `required` of the last `window` probes were good (S37, S38).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HealthRule {
    window: u8,
    required: u8,
}

/// Why two numbers are no [`HealthRule`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidRule {
    /// More good probes required than the window holds, or none.
    #[error("`required` is 1 to `window`")]
    Required,
    /// The window holds nothing or too much.
    #[error("`window` is 1 to 64")]
    Window,
}

impl HealthRule {
    /// Most probes that a window holds.
    pub const MAX_WINDOW: u8 = 64;
    /// 2 of the last 4 (D6).
    pub const DEFAULT: Self = Self {
        window: 4,
        required: 2,
    };

    /// `required` of the last `window`.
    pub fn new(window: i64, required: i64) -> Result<Self, InvalidRule> {
        let window = within(window, Self::MAX_WINDOW).ok_or(InvalidRule::Window)?;
        let required = within(required, window).ok_or(InvalidRule::Required)?;
        Ok(Self { window, required })
    }

    /// How many probes are looked at.
    pub fn window(self) -> usize {
        usize::from(self.window)
    }

    /// How many of them must be good.
    pub fn required(self) -> usize {
        usize::from(self.required)
    }
}

fn within(value: i64, max: u8) -> Option<u8> {
    u8::try_from(value)
        .ok()
        .filter(|value| (1..=max).contains(value))
}
