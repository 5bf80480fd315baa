//! TCP probes.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time,
};

use super::{Failure, Phase, connect::connect};

/// Longest wait for the backend to close as well. One that does is done within a round trip; one that
/// never does would hold up the sample.
const FAREWELL: Duration = Duration::from_millis(500);

/// Connects and closes again. The latency is the time to connect, at most `timeout`.
#[expect(clippy::disallowed_methods, reason = "a probe measures time")]
pub(super) async fn probe(target: SocketAddr, timeout: Duration) -> Result<Duration, Failure> {
    let start = Instant::now();
    let stream = match time::timeout(timeout, connect(target)).await {
        Ok(connected) => connected?,
        Err(_) => {
            return Err(Failure::Timeout {
                phase: Phase::Connect,
            });
        }
    };
    let latency = start.elapsed();
    let left = timeout.saturating_sub(latency);
    // The backend has answered; how it takes its leave is no part of the sample.
    let _ = time::timeout(left.min(FAREWELL), close(stream)).await;
    Ok(latency)
}

/// Closes this side and reads what the other one still says: a socket that is closed with bytes unread
/// ends in a reset, which servers that greet first would log at every probe.
async fn close(mut stream: TcpStream) {
    let mut said = [0; 1024];
    if stream.shutdown().await.is_ok() {
        while let Ok(1..) = stream.read(&mut said).await {}
    }
}

#[cfg(test)]
mod tests;
