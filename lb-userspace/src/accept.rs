//! Connections of clients, served beside each other.

use std::{
    future::{Future, poll_fn},
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{sync::Semaphore, time::sleep};

/// Serves every connection that `poll` accepts, `most` at a time; more of them wait. `who` is a client
/// of this kind, in the log.
pub(crate) fn serve<Stream, Served>(
    who: &'static str,
    most: usize,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<Stream>> + Send + 'static,
    attend: impl Fn(Stream) -> Served + Send + 'static,
) where
    Stream: Send + 'static,
    Served: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(most));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match poll_fn(&mut poll).await {
                Ok(stream) => {
                    let served = attend(stream);
                    tokio::spawn(async move {
                        served.await;
                        drop(place);
                    });
                }
                // Out of file descriptors: wait for some client to end.
                Err(error) => {
                    tracing::warn!(%error, "{who} could not be accepted.");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    });
}
