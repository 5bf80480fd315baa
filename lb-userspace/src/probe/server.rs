//! A server for tests, whose answers the test writes byte by byte.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A listener on the loopback; it ends with this value.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Gives every connection to `answer` once a whole request head has come. The
    /// connection is closed when `answer` returns.
    pub(super) async fn start<F>(answer: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let seen = Arc::clone(&requests);
        tasks.spawn(async move {
            let answer = Arc::new(answer);
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                connections.spawn(async move {
                    let head = head(&mut stream).await;
                    seen.lock().unwrap().push(head);
                    answer(stream).await;
                });
            }
        });
        Self {
            address,
            requests,
            _tasks: tasks,
        }
    }

    /// The request heads so far, one per connection.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}
