mod health;
mod tls;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use toml::Value;

use super::{
    authorities::Store,
    leaf::{self, shown, within},
    raw::Table,
    report::Wrong,
};
use crate::{
    model::{
        HealthRule, HttpProbe, HttpsProbe, Method, Probe, ProbeDefaults, ProbeKind, ProbeLimits,
        Smoothing, StatusRange, traffic_manager_timeouts,
    },
    refusal,
};

const USER_AGENT: &str = "Waggle Health Probe";
/// Most ranges of status codes (D25).
const MOST_RANGES: usize = 8;
/// Most headers of the operator's (D23).
const MOST_HEADERS: usize = 8;

const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The keys of a request.
const HTTP_KEYS: [&str; 6] = ["method", "path", "host", "user_agent", "headers", "expect"];

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Https,
    Tcp,
    None,
}

/// Reads a group's `probe`, with the `defaults` of the group's policy. `ports` are those of the group's
/// services, if they are known.
pub(super) fn read(
    probe: &mut Table<'_>,
    ports: Option<&BTreeSet<u16>>,
    store: &Store<'_>,
    defaults: &ProbeDefaults,
) -> Option<(Option<Probe>, HealthRule)> {
    let kinds = [
        ("http", Kind::Http),
        ("https", Kind::Https),
        ("tcp", Kind::Tcp),
        ("none", Kind::None),
    ];
    let kind = match probe.required("kind", "\"http\"", leaf::one_of(&kinds)) {
        Some(Kind::None) => return Some((None, HealthRule::DEFAULT)),
        Some(Kind::Https) => https(probe, store, defaults),
        Some(Kind::Tcp) => {
            let mend = "leave it out, or use `kind = \"http\"`";
            probe.refuse(&HTTP_KEYS, &meaningless("tcp", mend));
            let mend = "leave it out, or use `kind = \"https\"`";
            probe.refuse(&tls::KEYS, &meaningless("tcp", mend));
            Some(ProbeKind::Tcp)
        }
        // Without a kind the other keys are checked as those of the most common one.
        Some(Kind::Http) | None => {
            let mend = "leave it out, or use `kind = \"https\"`";
            probe.refuse(&tls::KEYS, &meaningless("http", mend));
            Some(ProbeKind::Http(http(probe, defaults)))
        }
    };
    let is_service_port = !probe.has("port");
    let port = port(probe, ports);
    let interval = interval(probe, defaults);
    let timeout = timeout(probe, interval, defaults);
    let health = probe.table("health", |table| health::read(table, defaults));
    let (health, initial) = health.unwrap_or((defaults.rule, defaults.initial));
    let smoothing = probe.table("latency", smoothing).unwrap_or_default();
    let probe = Probe {
        kind: kind?,
        port: port?,
        is_service_port,
        interval,
        timeout,
        smoothing,
        initial,
    };
    Some((Some(probe), health))
}

fn http(probe: &mut Table<'_>, defaults: &ProbeDefaults) -> HttpProbe {
    let methods = [("HEAD", Method::Head), ("GET", Method::Get)];
    let method = probe.or("method", defaults.method, leaf::one_of(&methods));
    let path = probe.or("path", "/".to_owned(), target);
    let host = probe.optional("host", host);
    let user_agent = probe.or("user_agent", USER_AGENT.to_owned(), header_value);
    let mut headers = vec![("User-Agent".to_owned(), user_agent)];
    headers.extend(further_headers(probe));
    HttpProbe {
        method,
        path,
        host,
        headers,
        expect: expect(probe),
    }
}

/// As `http`, with a host: without one servers with several names answer as who knows whom.
fn https(probe: &mut Table<'_>, store: &Store<'_>, defaults: &ProbeDefaults) -> Option<ProbeKind> {
    probe.require(
        "host",
        "add `host = \"www.example.com\"`, the name that clients use",
    );
    let http = http(probe, defaults);
    let server_name = tls::server_name(probe, http.host.as_deref());
    let trust = tls::trust(probe, store, defaults.verify);
    Some(ProbeKind::Https(HttpsProbe {
        http,
        server_name: server_name?,
        trust: trust?,
    }))
}

fn port(probe: &mut Table<'_>, ports: Option<&BTreeSet<u16>>) -> Option<u16> {
    if probe.has("port") {
        return probe.optional("port", leaf::port);
    }
    let ports = ports?;
    let wrong = match ports.first() {
        None => refusal::probe::no_probe_port(80),
        Some(only) if ports.len() == 1 => return Some(*only),
        Some(first) => {
            let list: Vec<String> = ports.iter().map(u16::to_string).collect();
            refusal::probe::several_probe_ports(list.join(", "), first)
        }
    };
    probe.wrong("port", wrong);
    None
}

fn meaningless(kind: &str, mend: &str) -> Wrong {
    refusal::probe::meaningless_key(kind, mend)
}

fn interval(probe: &mut Table<'_>, defaults: &ProbeDefaults) -> Duration {
    probe.bound("interval", defaults.interval, LONGEST, |value| {
        let interval = leaf::duration(Duration::from_millis(100)..=LONGEST)(value)?;
        if defaults.limits == ProbeLimits::TrafficManager
            && traffic_manager_timeouts(interval).is_none()
        {
            let interval = humantime::format_duration(interval);
            return Err(refusal::value::out_of_range(interval, "10s or 30s"));
        }
        Ok(interval)
    })
}

/// At most the interval; that is also the default where it is below the policy's.
fn timeout(probe: &mut Table<'_>, interval: Duration, defaults: &ProbeDefaults) -> Duration {
    let allowed = match defaults.limits {
        ProbeLimits::Any => None,
        ProbeLimits::TrafficManager => traffic_manager_timeouts(interval),
    };
    let allowed = allowed.unwrap_or(Duration::from_millis(1)..=LONGEST);
    let default = defaults.timeout.min(interval).min(*allowed.end());
    probe.or("timeout", default, |value| {
        let timeout = leaf::duration(allowed)(value)?;
        if timeout <= interval {
            return Ok(timeout);
        }
        let [timeout, interval] = [timeout, interval].map(humantime::format_duration);
        Err(refusal::probe::long_timeout(timeout, interval))
    })
}

fn smoothing(latency: &mut Table<'_>) -> Option<Smoothing> {
    let default = Smoothing::default();
    let dead_band = leaf::duration(Duration::ZERO..=Duration::from_secs(10));
    let percent = within(0..=100);
    Some(Smoothing {
        parts: latency.or("smoothing", default.parts, within(1..=64)),
        dead_band: latency.or("dead_band", default.dead_band, dead_band),
        dead_band_percent: latency.or("dead_band_percent", default.dead_band_percent, percent),
    })
}

/// A request target in origin form (RFC 9112, 3.2.1): an absolute path, and maybe a query.
fn target(value: &Value) -> Result<String, Wrong> {
    let text = leaf::text(value, "a path like \"/healthz\"")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/?:@-._~!$&'()*+,;=%".contains(c);
    let mut escapes = text.split('%').skip(1);
    let escaped = escapes
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()));
    if text.starts_with('/') && text.chars().all(plain) && escaped {
        return Ok(text.to_owned());
    }
    Err(refusal::probe::bad_request_path(shown(text)))
}

/// A Host header: a name or address, maybe with a port.
fn host(value: &Value) -> Result<String, Wrong> {
    let text = leaf::text(value, "a host name like \"www.example.com\"")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:[]".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err(refusal::probe::bad_host(shown(text)))
}

/// The headers that the operator adds.
fn further_headers(probe: &mut Table<'_>) -> Vec<(String, String)> {
    let headers = probe.map("headers", header_name, header_value);
    if headers.len() > MOST_HEADERS {
        let wrong = refusal::probe::many_headers(headers.len(), MOST_HEADERS);
        probe.wrong("headers", wrong);
    }
    let mut seen = BTreeMap::new();
    for (name, _) in &headers {
        if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
            probe.wrong("headers", refusal::probe::header_twice(other, name));
        }
    }
    headers
}

/// A field name (RFC 9110, 5.1) that no other setting and no part of HTTP/1.1 itself fills in.
fn header_name(name: &str) -> Result<String, Wrong> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(refusal::probe::bad_header_name());
    }
    let mend = match name.to_ascii_lowercase().as_str() {
        "host" => "use the key `host` of the probe",
        "user-agent" => "use the key `user_agent` of the probe",
        "connection" | "content-length" | "transfer-encoding" | "upgrade" => "leave it out",
        _ => return Ok(name.to_owned()),
    };
    Err(refusal::probe::reserved_header(mend))
}

/// A field value (RFC 9110, 5.5), ASCII only.
fn header_value(value: &Value) -> Result<String, Wrong> {
    let text = leaf::text(value, "a string")?;
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    if !text.is_empty() && text.chars().all(plain) && text.trim() == text {
        return Ok(text.to_owned());
    }
    Err(refusal::probe::bad_header_value(shown(text)))
}

fn expect(probe: &mut Table<'_>) -> Vec<StatusRange> {
    if !probe.has("expect") {
        return StatusRange::new(200, 200).into_iter().collect();
    }
    probe.require("expect", "leave it out for \"200\", or list status codes");
    let mut ranges = probe.list("expect", status_range).unwrap_or_default();
    if ranges.len() > MOST_RANGES {
        let wrong = refusal::probe::many_ranges(ranges.len(), MOST_RANGES);
        probe.wrong("expect", wrong);
    }
    // Probes that differ only in the order are one stream.
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

fn status_range(value: &Value) -> Result<StatusRange, Wrong> {
    const WANTED: &str = "\"200\" or \"200-299\", from 100 to 599";
    let text = leaf::text(value, WANTED)?;
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let code = |digits: &str| {
        let digits = Some(digits).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok()
    };
    code(low)
        .zip(code(high))
        .and_then(|(low, high)| StatusRange::new(low, high))
        .ok_or_else(|| refusal::probe::bad_status(shown(text), WANTED))
}

#[cfg(test)]
mod tests;
