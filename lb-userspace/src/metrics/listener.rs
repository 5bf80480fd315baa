//! Serves metrics and the status page over HTTP.

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::spawn_blocking,
    time::timeout,
};

use super::{Snapshot, exposition, page};
use crate::{
    accept,
    refusal::{
        Refusal, Refused,
        command::daemon_ends,
        host::{foreign_address, port_in_use, refused_listener},
    },
};

/// A client has this long, from its connection to the last byte that it takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clients served at a time; more of them wait.
const CLIENTS: usize = 32;

/// Largest head of a request.
const MAX_HEAD: usize = 16 * 1024;

/// The place for an answer: what the daemon knows, or why it can not say.
pub type Scrape = oneshot::Sender<Result<Snapshot, Refusal>>;

/// Listens at `address`.
///
/// # Errors
///
/// The port is in use, the address is not of this host, or the kernel refuses it otherwise.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, Refusal> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => port_in_use(address, address.port()),
        io::ErrorKind::AddrNotAvailable => foreign_address(address),
        _ => refused_listener(address, error),
    };
    TcpListener::bind(address).await.map_err(refused)
}

/// Answers clients of `listener` with what the daemon says to each of `scrapes`. One request per
/// connection.
pub fn serve(listener: TcpListener, scrapes: mpsc::Sender<Scrape>) {
    accept::serve(
        "A client of the metrics",
        CLIENTS,
        move |cx| listener.poll_accept(cx).map_ok(|(stream, _)| stream),
        move |stream| {
            let scrapes = scrapes.clone();
            async move {
                if timeout(PATIENCE, attend(stream, scrapes)).await.is_err() {
                    tracing::debug!("A client of the metrics was too slow.");
                }
            }
        },
    );
}

async fn attend(stream: TcpStream, scrapes: mpsc::Sender<Scrape>) {
    let answer = |request: Request<Incoming>| {
        let scrapes = scrapes.clone();
        async move {
            Ok::<_, Infallible>(answer(request.method(), request.uri().path(), &scrapes).await)
        }
    };
    let served = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "A client of the metrics was sent away.");
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(method: &Method, path: &str, scrapes: &mpsc::Sender<Scrape>) -> Answer {
    let (render, kind): (fn(&Snapshot) -> String, _) = match path {
        "/" => (page, "text/html; charset=utf-8"),
        "/metrics" => (exposition, "text/plain; version=0.0.4; charset=utf-8"),
        _ => return plain(StatusCode::NOT_FOUND, "there is / and /metrics"),
    };
    // The server itself leaves the body away from what answers a HEAD.
    if ![Method::GET, Method::HEAD].contains(method) {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD");
        refusal
            .headers_mut()
            .insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match snapshot(scrapes).await {
        // Beside the probes, whose latency it would be in.
        Ok(snapshot) => match spawn_blocking(move || render(&snapshot)).await {
            Ok(text) => response(StatusCode::OK, kind, text),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
        Err(why) => {
            let why = Refused::from(why).to_string();
            plain(StatusCode::SERVICE_UNAVAILABLE, &why)
        }
    }
}

async fn snapshot(scrapes: &mpsc::Sender<Scrape>) -> Result<Snapshot, Refusal> {
    let (scrape, taken) = oneshot::channel();
    // When nobody takes it, the answer's sender is gone too.
    let _daemon_is_ending = scrapes.send(scrape).await;
    taken.await.unwrap_or_else(|_| Err(daemon_ends()))
}

fn plain(status: StatusCode, text: &str) -> Answer {
    response(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, hyper::header::HeaderValue::from_static(value));
    }
    response
}
