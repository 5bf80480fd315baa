//! What pure code may not name.

use super::source::Name;

/// What may not be reached, and the names that reach it. One word is a path's first (a crate), a
/// macro with its `!` or a method with its dot; several words may stand anywhere in a path.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "the kernel",
        &["aya", "aya_log", "memmap2", "nix", "rtnetlink", "std::os"],
    ),
    (
        "the file system",
        &[
            "rustls_native_certs",
            "std::fs",
            ".canonicalize(",
            ".read_dir(",
        ],
    ),
    (
        "sockets",
        &[
            "http_body_util",
            "hyper",
            "hyper_util",
            "net::TcpListener",
            "net::TcpStream",
            "net::ToSocketAddrs",
            "net::UdpSocket",
            ".to_socket_addrs(",
        ],
    ),
    (
        "the asynchronous runtime",
        &["futures_util", "tokio", "tokio_rustls"],
    ),
    (
        "the clock",
        &[
            "Instant::now",
            "SystemTime",
            "time::SystemTime",
            ".elapsed(",
        ],
    ),
    ("threads", &["std::thread"]),
    (
        "randomness",
        &["getrandom", "hash_map::RandomState", "RandomState"],
    ),
    (
        "the process and its surroundings",
        &[
            "std::env",
            "std::process",
            "io::stderr",
            "io::stdin",
            "io::stdout",
            "eprint!",
            "eprintln!",
            "print!",
            "println!",
        ],
    ),
    ("the shell that calls it", &["crate::cli", "crate::daemon"]),
];

/// What a name reaches that pure code may not; `None` for a name that is free.
pub(super) fn what_it_reaches(name: &Name<'_>) -> Option<&'static str> {
    FORBIDDEN
        .iter()
        .find(|(_, names)| names.iter().any(|forbidden| is_in(forbidden, name)))
        .map(|(what, _)| *what)
}

fn is_in(forbidden: &str, name: &Name<'_>) -> bool {
    let (forbidden, then) = match forbidden.find(['!', '(']) {
        Some(end) => forbidden.split_at(end),
        None => (forbidden, name.then),
    };
    let forbidden = forbidden.split("::").collect::<Vec<_>>();
    let mut parts = name.path.windows(forbidden.len());
    let is_named = match forbidden[..] {
        [_] => parts.next() == Some(&forbidden),
        _ => parts.any(|part| part == forbidden),
    };
    is_named && then == name.then
}

#[cfg(test)]
mod tests {
    use super::{super::source::Source, *};

    fn reached(text: &str) -> Vec<&'static str> {
        let source = Source::new(text);
        source.names().iter().filter_map(what_it_reaches).collect()
    }

    #[test]
    fn every_way_to_name_it_is_found() {
        for (text, what) in [
            ("use ::tokio::sync;", "the asynchronous runtime"),
            ("let x = std::time::Instant::now();", "the clock"),
            ("use std::time::{Duration, SystemTime};", "the clock"),
            ("let t = SystemTime::UNIX_EPOCH;", "the clock"),
            ("let age = seen.elapsed();", "the clock"),
            ("use std::net;\nfn f(_: net::UdpSocket) {}", "sockets"),
            ("use std::{net::{IpAddr, TcpStream}};", "sockets"),
            ("use std::os::fd::AsRawFd as _;", "the kernel"),
            ("use nix::sched;", "the kernel"),
            ("std::thread::sleep(x)", "threads"),
            ("println!(\"{x}\")", "the process and its surroundings"),
            ("use std::env;", "the process and its surroundings"),
            (
                "use crate::{daemon, model::Name};",
                "the shell that calls it",
            ),
        ] {
            assert_eq!(reached(text), [what], "{text}");
        }
    }

    #[test]
    fn what_only_sounds_like_it_is_free() {
        for text in [
            "use std::net::{IpAddr, SocketAddr};",
            "use std::{fmt, time::{Duration, Instant}};",
            "fn at(now: Instant, elapsed: Duration) {}",
            "self.nix + self.tokio() + self.elapsed",
            "if thread != env {}",
            "use crate::model::process;",
            "write!(f, \"{x}\")",
        ] {
            assert_eq!(reached(text), [""; 0], "{text}");
        }
    }
}
