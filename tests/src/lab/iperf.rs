use std::process::Stdio;

use serde_json::Value;

use super::{
    host::Host,
    namespace::Namespace,
    process::Process,
    wait::{DEADLINE, wait_until},
};

/// A server of `iperf3` for one transfer. Dropping it ends it.
#[derive(Debug)]
pub struct IperfServer {
    _process: Process,
}

impl IperfServer {
    /// Starts it on `port` of every address of `host`.
    #[track_caller]
    pub fn start(host: &Host, port: u16) -> Self {
        let mut command = host.command("iperf3");
        command
            .args(["--server", "--one-off", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut process = Process::spawn(&mut command);
        // A connection to see whether it listens would be its one.
        wait_until(DEADLINE, "iperf3", || {
            assert!(process.runs(), "iperf3 ended");
            let listens = format!("ss -Hltn sport = :{port}");
            !host.run(&listens).is_empty()
        });
        Self { _process: process }
    }
}

/// What `iperf3` says of a transfer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transfer {
    /// Bytes that the sender has sent.
    pub sent: u64,
    /// Bytes that the receiver has got.
    pub received: u64,
    /// Segments that the sender has sent again.
    pub retransmits: u64,
}

impl Transfer {
    /// Runs `iperf3` on `client` with these words, which say to whom and how much.
    ///
    /// # Panics
    /// When it fails, or takes longer than half a minute.
    #[track_caller]
    pub fn run(client: &Namespace, words: &str) -> Self {
        let said = client.outcome(&format!("timeout 30 iperf3 --json {words}"));
        let parsed = Self::parse(&said.stdout).filter(|_| said.ok());
        parsed.unwrap_or_else(|| panic!("iperf3 {words} said: {said:?}"))
    }

    fn parse(said: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(said).ok()?;
        let number = |of: &str, what: &str| said["end"][of][what].as_u64();
        Some(Self {
            sent: number("sum_sent", "bytes")?,
            received: number("sum_received", "bytes")?,
            retransmits: number("sum_sent", "retransmits")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_and_what_is_none_is_no_transfer() {
        let report = r#"{ "end": { "sum_sent": { "bytes": 7, "retransmits": 2 }, "sum_received": { "bytes": 6 } } }"#;
        let expected = Transfer {
            sent: 7,
            received: 6,
            retransmits: 2,
        };
        assert_eq!(Transfer::parse(report), Some(expected));
        for bad in ["", "iperf3: error", r#"{ "error": "the server is busy" }"#] {
            assert_eq!(Transfer::parse(bad), None, "{bad}");
        }
    }
}
