use std::{io, net::SocketAddr};

use nix::errno::Errno;
use tokio::net::TcpStream;

use super::{Failure, Phase};

/// A new connection to `target`.
pub(super) async fn connect(target: SocketAddr) -> Result<TcpStream, Failure> {
    TcpStream::connect(target).await.map_err(not_connected)
}

fn not_connected(error: io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ECONNREFUSED) => Failure::Refused,
        Some(Errno::ETIMEDOUT) => Failure::Timeout {
            phase: Phase::Connect,
        },
        Some(
            Errno::EADDRNOTAVAIL | Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM,
        ) => Failure::Unsent(error.to_string()),
        _ => Failure::Unreachable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_of_this_host_is_not_the_backends() {
        for (errno, failure) in [
            (Errno::EMFILE, "the probe could not be sent: "),
            (Errno::EADDRNOTAVAIL, "the probe could not be sent: "),
            (Errno::ENOBUFS, "the probe could not be sent: "),
            (Errno::ECONNREFUSED, "refused the connection"),
            (Errno::ETIMEDOUT, "no connection within the timeout"),
            (Errno::EHOSTUNREACH, "unreachable: "),
            (Errno::ENETUNREACH, "unreachable: "),
        ] {
            let told = not_connected(io::Error::from_raw_os_error(errno as i32)).to_string();
            assert!(told.starts_with(failure), "{told}");
        }
    }
}
