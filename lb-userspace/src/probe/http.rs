//! HTTP/1.1 probes.

use std::{
    error::Error as _,
    io,
    net::SocketAddr,
    pin::pin,
    time::{Duration, Instant},
};

use futures_util::future::{Either, select};
use http_body_util::{BodyExt, Empty};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{self, SendRequest},
    header::{CONNECTION, HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time,
};

use super::{Failure, Phase, connect::connect, tls};
use crate::model::{HttpProbe, Method};

/// Largest head of an answer, and most of a body that is held at a time. It bounds the memory that
/// thousands of probes at once can take.
const MAX_BUFFER: usize = 32 * 1024;

/// Sends one request on a new connection and waits for the whole answer, at most `timeout` from now.
///
/// The latency is the wall-clock time from just before the request is sent to the last byte of the
/// answer (S36). Sending begins when the connection stands, so the time to connect is not part
/// of it. Redirects are not followed (D32); a body is read and thrown away.
pub(super) async fn probe(
    target: SocketAddr,
    http: &HttpProbe,
    timeout: Duration,
) -> Result<Duration, Failure> {
    let request = request(target, http)?;
    let mut phase = Phase::Connect;
    let exchange = async {
        let stream = connect(target).await?;
        phase = Phase::Answer;
        exchange(stream, request, http).await
    };
    let outcome = time::timeout(timeout, exchange).await;
    outcome.unwrap_or(Err(Failure::Timeout { phase }))
}

/// The request of a probe. It asks the backend to close the connection, as it is the only one
/// (RFC 9112, 9.3).
pub(super) fn request(
    target: SocketAddr,
    http: &HttpProbe,
) -> Result<Request<Empty<Bytes>>, Failure> {
    write(target, http).map_err(|error| Failure::Unsent(error.to_string()))
}

fn write(
    target: SocketAddr,
    http: &HttpProbe,
) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let mut request = Request::builder()
        .method(match http.method {
            Method::Get => hyper::Method::GET,
            Method::Head => hyper::Method::HEAD,
        })
        .uri(&http.path)
        .body(Empty::new())?;
    let headers = request.headers_mut();
    for (name, value) in &http.headers {
        headers.try_append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?)?;
    }
    if let Some(host) = &http.host {
        headers.try_insert(HOST, HeaderValue::try_from(host)?)?;
    } else if !headers.contains_key(HOST) {
        headers.try_insert(HOST, HeaderValue::try_from(target.to_string())?)?;
    }
    headers.try_insert(CONNECTION, HeaderValue::from_static("close"))?;
    Ok(request)
}

/// Sends the request over a connection that stands and waits for the whole answer. The latency is that
/// of [`probe`].
pub(super) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Empty<Bytes>>,
    http: &HttpProbe,
) -> Result<Duration, Failure> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_BUFFER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let answer = pin!(answer(sender, request, http));
    // The connection does the reading and writing. When it ends first, the answer is either
    // complete or knows why it never will be.
    match select(answer, connection).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right((_, answer)) => answer.await,
    }
}

#[expect(clippy::disallowed_methods, reason = "a probe measures time")]
async fn answer(
    mut sender: SendRequest<Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
    http: &HttpProbe,
) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status().as_u16();
    if !http.expect.iter().any(|good| good.contains(status)) {
        return Err(Failure::Status(status));
    }
    while let Some(frame) = answer.frame().await {
        frame.map_err(broken)?;
    }
    Ok(start.elapsed())
}

fn broken(error: hyper::Error) -> Failure {
    let Some(cause) = error.source() else {
        return if error.is_incomplete_message() {
            Failure::Closed
        } else {
            Failure::Protocol(error.to_string())
        };
    };
    let cause_io = cause.downcast_ref::<io::Error>();
    if let Some(error) = cause_io.and_then(tls::cause) {
        return Failure::Tls(tls::in_words(error));
    }
    match cause_io.map(io::Error::kind) {
        Some(
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof,
        ) => Failure::Closed,
        Some(
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::TimedOut,
        ) => Failure::Unreachable(cause.to_string()),
        _ => Failure::Protocol(format!("{error}: {cause}")),
    }
}

#[cfg(test)]
mod tests;
