//! HTTP/1.1 probes over TLS.

use std::{net::SocketAddr, time::Duration};

use tokio::time;

use super::{
    Failure, Phase,
    connect::connect,
    http,
    tls::{Clients, handshake},
};
use crate::model::HttpsProbe;

/// Sends one request on a new connection with a new TLS session and waits for the whole answer, at
/// most `timeout` from now.
///
/// The latency is that of an HTTP probe: neither connecting nor the handshake are part of it.
pub(super) async fn probe(
    target: SocketAddr,
    https: &HttpsProbe,
    clients: &Clients,
    timeout: Duration,
) -> Result<Duration, Failure> {
    let request = http::request(target, &https.http)?;
    let client = clients.of(&https.trust)?;
    let mut phase = Phase::Connect;
    let exchange = async {
        let stream = connect(target).await?;
        phase = Phase::Handshake;
        let stream = handshake(stream, https, client).await?;
        phase = Phase::Answer;
        http::exchange(stream, request, &https.http).await
    };
    let outcome = time::timeout(timeout, exchange).await;
    outcome.unwrap_or(Err(Failure::Timeout { phase }))
}

#[cfg(test)]
mod tests;
