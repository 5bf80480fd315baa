use std::{process::Stdio, time::Duration};

use nix::sys::signal::Signal;

use super::{namespace::Namespace, process::Process};

/// `wrk`, running: a load of real HTTP requests.
#[derive(Debug)]
pub struct Wrk {
    process: Process,
}

/// What `wrk` counted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Load {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests that were not, or with a status of 400 and above, and connections that failed.
    pub failed: u64,
}

impl Wrk {
    /// Starts it: one thread, `connections` connections at a time, for `duration` in whole
    /// seconds. A new connection for every request, or the same ones all along.
    #[track_caller]
    pub fn start(
        client: &Namespace,
        url: &str,
        connections: u16,
        duration: Duration,
        new_connections: bool,
    ) -> Self {
        let mut command = client.command("wrk");
        command
            .args(["--threads", "1", "--timeout", "5s"])
            .args(["--connections", &connections.to_string()])
            .args(["--duration", &format!("{}s", duration.as_secs())]);
        if new_connections {
            command.args(["--header", "Connection: close"]);
        }
        command.arg(url).stdout(Stdio::piped());
        Self {
            process: Process::spawn(&mut command),
        }
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        self.process.runs()
    }

    /// Ends it early and reads what it has counted.
    #[track_caller]
    pub fn end(mut self) -> Load {
        assert!(self.runs(), "wrk has ended by itself");
        self.process.signal(Signal::SIGINT);
        self.finish()
    }

    /// Waits for its end and reads what it counted.
    #[track_caller]
    pub fn finish(self) -> Load {
        let said = self.process.output();
        Load::parse(&said).unwrap_or_else(|| panic!("wrk said: {said}"))
    }
}

impl Load {
    fn parse(said: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let line = |start: &str| {
            said.lines()
                .find_map(|line| line.trim().strip_prefix(start))
        };
        let requests = said
            .lines()
            .find_map(|line| number(line.split_once(" requests in ")?.0))?;
        let bad_status = line("Non-2xx or 3xx responses:").map_or(Some(0), number)?;
        let bad_socket = line("Socket errors:").map_or(Some(0), |counts| {
            counts
                .split(',')
                .map(|count| number(count.trim().split_once(' ')?.1))
                .sum()
        })?;
        Some(Self {
            requests,
            failed: bad_status + bad_socket,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "Running 1s test @ http://203.0.113.10/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    94.66us  167.49us   4.82ms   98.58%
    Req/Sec    48.35k     3.10k   52.93k    81.82%
  52945 requests in 1.10s, 8.58MB read
Requests/sec:  48137.82
Transfer/sec:      7.80MB
";

    #[test]
    fn a_clean_report_has_no_failures() {
        let load = Load::parse(CLEAN).unwrap();
        assert_eq!((load.requests, load.failed), (52_945, 0));
    }

    #[test]
    fn every_kind_of_failure_counts() {
        let report = CLEAN.replace(
            "Requests/sec",
            "  Socket errors: connect 1, read 20, write 300, timeout 4000\n  \
             Non-2xx or 3xx responses: 50000\nRequests/sec",
        );
        assert_eq!(Load::parse(&report).unwrap().failed, 54_321);
    }

    #[test]
    fn what_is_no_report_is_no_success() {
        assert_eq!(Load::parse("unable to connect to 203.0.113.10:http"), None);
        let unreadable = CLEAN.replace("Requests/sec", "Socket errors: connect many\nRequests/sec");
        assert_eq!(Load::parse(&unreadable), None);
    }
}
