//! A small HTTP/1.1 server that says who it is.
//!
//! It answers HEAD, GET and PUT on every path with its name, as header `X-Backend` and as body;
//! `/big?bytes=N` gives N bytes of [`pattern`], and what is put must be [`pattern`]. A connection is
//! closed after one answer, unless the request says `Connection: keep-alive`.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead as _, BufReader, Read, Write as _},
    net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream},
    os::fd::AsRawFd as _,
    process::Stdio,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::sys::{
    signal::Signal,
    socket::{self, shutdown},
};

use super::{
    client::UdpFlow,
    daemon::program,
    namespace::Namespace,
    process::Process,
    wait::{DEADLINE, wait_until},
};

/// The byte at `offset` of every long answer. Its period is a prime, so that a lost or doubled
/// piece of any usual size shows.
pub fn pattern(offset: u64) -> u8 {
    (offset % 251) as u8
}

/// A server in this process. Dropping it closes its port and all its connections.
#[derive(Debug)]
pub struct WebServer {
    shared: Arc<Shared>,
    listener: TcpListener,
    acceptor: Option<JoinHandle<()>>,
}

impl WebServer {
    /// Listens on `port` of every address of `namespace`.
    #[track_caller]
    pub fn start(namespace: &Namespace, name: &str, port: u16) -> Self {
        namespace
            .enter(|| Self::listen(name, port))
            .unwrap_or_else(|error| panic!("port {port} is not to be had: {error}"))
    }

    /// Listens on `port` of every address of the present namespace.
    pub fn listen(name: &str, port: u16) -> io::Result<Self> {
        // Linux lets IPv4 in there too.
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))?;
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            failing: AtomicBool::new(false),
            delay: AtomicU64::new(0),
            next: AtomicU64::new(0),
            requests: Mutex::default(),
            connections: Mutex::default(),
        });
        let acceptor = {
            let (shared, listener) = (Arc::clone(&shared), listener.try_clone()?);
            thread::spawn(move || accept(&shared, &listener))
        };
        Ok(Self {
            shared,
            listener,
            acceptor: Some(acceptor),
        })
    }

    /// Whether it answers everything with status 500 from now on.
    pub fn fail(&self, failing: bool) {
        self.shared.failing.store(failing, Ordering::Relaxed);
    }

    /// Lets this time pass before each answer from now on.
    pub fn delay(&self, delay: Duration) {
        let micros = u64::try_from(delay.as_micros()).expect("a delay that a test can await");
        self.shared.delay.store(micros, Ordering::Relaxed);
    }

    /// How many requests for `path`, without its query, have come.
    pub fn requests(&self, path: &str) -> u64 {
        lock(&self.shared.requests)
            .get(path)
            .copied()
            .unwrap_or_default()
    }

    /// Whether a connection is open.
    pub fn is_busy(&self) -> bool {
        !lock(&self.shared.connections).is_empty()
    }

    /// Serves until the process ends.
    pub fn serve(mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // It wakes the acceptor, and refuses new connections from now on.
        let _ = shutdown(self.listener.as_raw_fd(), socket::Shutdown::Both);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for connection in lock(&self.shared.connections).values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// A server as a process of its own, which can be killed.
#[derive(Debug)]
pub struct ServerProcess {
    process: Process,
}

impl ServerProcess {
    /// Starts it and waits until it listens.
    #[track_caller]
    pub fn start(namespace: &Namespace, name: &str, port: u16) -> Self {
        Self::spawn(namespace, ["http", name], port, || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        })
    }

    /// Starts a [`UdpServer`](super::UdpServer) instead and waits until it answers.
    #[track_caller]
    pub fn start_udp(namespace: &Namespace, name: &str, port: u16) -> Self {
        Self::spawn(namespace, ["udp", name], port, || {
            let flow = UdpFlow::open((Ipv4Addr::LOCALHOST, port), None);
            flow.and_then(|mut flow| flow.ask()).is_ok()
        })
    }

    #[track_caller]
    fn spawn(
        namespace: &Namespace,
        [kind, name]: [&str; 2],
        port: u16,
        serves: impl Fn() -> bool + Sync,
    ) -> Self {
        let mut command = namespace.command(program("lab-server"));
        command.args([kind, name, &port.to_string()]);
        command.stdin(Stdio::null());
        let mut process = Process::spawn(&mut command);
        wait_until(DEADLINE, &format!("{name} on port {port}"), || {
            assert!(process.runs(), "{name} ended at once");
            namespace.enter(&serves)
        });
        Self { process }
    }

    /// Ends it as `kill -9` does.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Stops it where it stands, as a hung server does: the kernel still accepts connections.
    pub fn freeze(&self) {
        self.process.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.process.signal(Signal::SIGCONT);
    }
}

#[derive(Debug)]
struct Shared {
    name: String,
    failing: AtomicBool,
    delay: AtomicU64,
    next: AtomicU64,
    requests: Mutex<BTreeMap<String, u64>>,
    connections: Mutex<HashMap<u64, TcpStream>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    while let Ok((connection, _)) = listener.accept() {
        let Ok(copy) = connection.try_clone() else {
            continue;
        };
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        lock(&shared.connections).insert(id, copy);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that goes away is no error of the server.
            let _ = converse(&shared, connection);
            lock(&shared.connections).remove(&id);
        });
    }
}

/// Answers the requests of one connection.
fn converse(shared: &Shared, connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut output = connection.try_clone()?;
    let mut input = BufReader::new(connection);
    while let Some(request) = Request::read(&mut input)? {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        *lock(&shared.requests).entry(path.to_owned()).or_default() += 1;
        thread::sleep(Duration::from_micros(shared.delay.load(Ordering::Relaxed)));
        let bytes = query
            .strip_prefix("bytes=")
            .and_then(|bytes| bytes.parse().ok())
            .filter(|_| path == "/big");
        let length = bytes.unwrap_or(shared.name.len() as u64);
        let intact = read_pattern(&mut input, request.length)?;
        let status = if !matches!(&*request.method, "GET" | "HEAD" | "PUT") {
            "405 Method Not Allowed"
        } else if !intact {
            "400 Bad Request"
        } else if shared.failing.load(Ordering::Relaxed) {
            "500 Internal Server Error"
        } else {
            "200 OK"
        };
        let after = if request.keep_alive {
            "keep-alive"
        } else {
            "close"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nX-Backend: {}\r\nContent-Length: {length}\r\nConnection: {after}\r\n\r\n",
            shared.name
        );
        output.write_all(head.as_bytes())?;
        match bytes {
            _ if request.method == "HEAD" => {}
            Some(bytes) => write_pattern(&mut output, bytes)?,
            None => output.write_all(shared.name.as_bytes())?,
        }
        if !request.keep_alive {
            break;
        }
    }
    output.shutdown(Shutdown::Both)
}

/// Writes so many bytes of [`pattern`].
pub(super) fn write_pattern(output: &mut TcpStream, bytes: u64) -> io::Result<()> {
    const PIECE: u64 = 251 * 64;
    let piece: Vec<u8> = (0..PIECE).map(pattern).collect();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(PIECE);
        output.write_all(&piece[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// Reads so many bytes, and tells whether they are [`pattern`].
fn read_pattern(input: &mut impl Read, bytes: u64) -> io::Result<bool> {
    let mut buffer = [0; 16 * 1024];
    let (mut offset, mut intact) = (0, true);
    while offset < bytes {
        let most = (bytes - offset).min(buffer.len() as u64) as usize;
        let piece = match input.read(&mut buffer[..most])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => &buffer[..count],
        };
        intact &= (offset..).zip(piece).all(|(at, byte)| pattern(at) == *byte);
        offset += piece.len() as u64;
    }
    Ok(intact)
}

struct Request {
    method: String,
    target: String,
    keep_alive: bool,
    /// Bytes of the body, which follows.
    length: u64,
}

impl Request {
    /// The next request, or none when the client has said all.
    fn read(input: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        const LONGEST: u64 = 16 * 1024;
        let mut lines = input.take(LONGEST).lines();
        let Some(first) = lines.next().transpose()? else {
            return Ok(None);
        };
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let (mut keep_alive, mut length) = (false, 0);
        for line in lines {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                return Ok(Some(Self {
                    method: method.to_owned(),
                    target: target.to_owned(),
                    keep_alive,
                    length,
                }));
            }
            keep_alive |= line == "connection: keep-alive";
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.parse().map_err(io::Error::other)?;
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
