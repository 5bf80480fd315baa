//! Clients with connections and datagrams of their own making: the source port is chosen, nothing
//! is retried.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket},
    os::fd::AsRawFd as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::Duration,
};

use nix::sys::{
    socket::{
        AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket,
        sockopt,
    },
    time::{TimeVal, TimeValLike as _},
};

use super::{
    http::{pattern, write_pattern},
    namespace::Namespace,
};

/// An HTTP answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Who answered, by the header `X-Backend`.
    pub backend: String,
    /// Length of the body.
    pub length: u64,
}

/// Who answered how often.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Answers with status 200, by the name of the backend.
    pub answers: BTreeMap<String, u64>,
    /// What went wrong otherwise, one line per connection.
    pub errors: Vec<String>,
}

impl Tally {
    /// The part of all answers that `backend` gave.
    pub fn share(&self, backend: &str) -> f64 {
        let all: u64 = self.answers.values().sum();
        self.answers.get(backend).copied().unwrap_or_default() as f64 / all.max(1) as f64
    }
}

/// Opens `count` connections to `target`, each from a source port of its own, and asks for `/` on
/// each.
///
/// # Panics
/// When there are more connections than ports.
pub fn connect_many(client: &Namespace, target: impl Into<SocketAddr>, count: u16) -> Tally {
    let target = target.into();
    count_answers(client, count, || {
        match Connection::open(target, None)?.ask("/")? {
            Answer {
                status: 200,
                backend,
                ..
            } => Ok(backend),
            answer => Err(io::Error::other(format!("{answer:?}"))),
        }
    })
}

/// Sends a datagram to `target` from each of `count` source ports.
///
/// # Panics
/// When there are more than there are ports.
pub fn ask_many(client: &Namespace, target: impl Into<SocketAddr>, count: u16) -> Tally {
    let target = target.into();
    count_answers(client, count, || UdpFlow::open(target, None)?.ask())
}

/// Asks `count` times, some at a time; an answer is the name of a backend.
fn count_answers(
    client: &Namespace,
    count: u16,
    ask: impl Fn() -> io::Result<String> + Sync,
) -> Tally {
    const THREADS: usize = 16;
    assert!(count <= OWN_PORTS, "at most {OWN_PORTS} source ports");
    let left = AtomicU16::new(count);
    let tally = Mutex::new(Tally::default());
    let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    let work = || {
        while take().is_ok() {
            let result = ask();
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            match result {
                Ok(backend) => *tally.answers.entry(backend).or_default() += 1,
                Err(error) => tally.errors.push(error.to_string()),
            }
        }
    };
    client.enter(|| {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(work);
            }
        });
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for `path` on a new connection from `client` to `target`.
pub fn fetch(client: &Namespace, target: impl Into<SocketAddr>, path: &str) -> io::Result<Answer> {
    let target = target.into();
    client.enter(|| Connection::open(target, None)?.ask(path))
}

/// A connection that stays open from one request to the next. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    input: BufReader<TcpStream>,
    /// Bytes of a body that were announced and not read yet, and where they begin.
    body: (u64, u64),
}

impl Connection {
    /// Connects from `port`, or else from a port that was not used for long, in the present
    /// namespace. A connection, and everything read from it, must come within five seconds.
    pub fn open(target: impl Into<SocketAddr>, port: Option<u16>) -> io::Result<Self> {
        let target = target.into();
        let family = match target {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let fd = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        let patience = TimeVal::seconds(5);
        setsockopt(&fd, sockopt::SendTimeout, &patience)?;
        setsockopt(&fd, sockopt::ReceiveTimeout, &patience)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        let source = SockaddrStorage::from(source(target, port));
        bind(fd.as_raw_fd(), &source)?;
        connect(fd.as_raw_fd(), &SockaddrStorage::from(target)).map_err(|error| match error {
            nix::Error::EINPROGRESS => io::ErrorKind::TimedOut.into(),
            other => io::Error::from(other),
        })?;
        let stream = TcpStream::from(fd);
        stream.set_nodelay(true)?;
        Ok(Self {
            input: BufReader::new(stream),
            body: (0, 0),
        })
    }

    /// Its source port.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.input.get_ref().local_addr()?.port())
    }

    /// Asks for `path` and reads the whole answer; the server closes.
    pub fn ask(mut self, path: &str) -> io::Result<Answer> {
        let answer = self.request(path, "close")?;
        self.skip_body()?;
        Ok(answer)
    }

    /// Asks for `path` and reads the whole answer; the connection stays open.
    pub fn ask_on(&mut self, path: &str) -> io::Result<Answer> {
        let answer = self.request(path, "keep-alive")?;
        self.skip_body()?;
        Ok(answer)
    }

    /// Sends `bytes` bytes of [`pattern`] and reads what is said to them; the connection stays open.
    pub fn put(&mut self, bytes: u64) -> io::Result<Answer> {
        let stream = self.input.get_mut();
        let host = stream.peer_addr()?;
        let head = format!(
            "PUT / HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive\r\nContent-Length: {bytes}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        write_pattern(stream, bytes)?;
        let answer = self.head()?;
        self.skip_body()?;
        Ok(answer)
    }

    /// Asks for `bytes` bytes of [`pattern`] and reads only the header: a body that is larger
    /// than the buffers on the way stays underway until it is read.
    pub fn begin(&mut self, bytes: u64) -> io::Result<Answer> {
        self.request(&format!("/big?bytes={bytes}"), "close")
    }

    /// Reads the next `bytes` bytes of the body, and compares each.
    pub fn read(&mut self, bytes: u64) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let (mut offset, length) = self.body;
        let end = offset.saturating_add(bytes).min(length);
        while offset < end {
            let most = (end - offset).min(buffer.len() as u64) as usize;
            let piece = match self.input.read(&mut buffer[..most])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => &buffer[..count],
            };
            if let Some(wrong) = (offset..)
                .zip(piece)
                .find(|(at, byte)| pattern(*at) != **byte)
            {
                return Err(io::Error::other(format!("wrong byte at {}", wrong.0)));
            }
            offset += piece.len() as u64;
        }
        self.body.0 = offset;
        Ok(())
    }

    /// Reads the rest of the body, and compares each byte.
    pub fn finish(mut self) -> io::Result<()> {
        self.read(u64::MAX)
    }

    /// Sets how long one read may take.
    pub fn patience(&self, patience: Duration) -> io::Result<()> {
        self.input.get_ref().set_read_timeout(Some(patience))
    }

    /// Closes it with a reset, so that its port can be used again at once.
    pub fn reset(self) -> io::Result<()> {
        let linger = nix::libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        Ok(setsockopt(self.input.get_ref(), sockopt::Linger, &linger)?)
    }

    fn request(&mut self, path: &str, after: &str) -> io::Result<Answer> {
        let stream = self.input.get_mut();
        let host = stream.peer_addr()?;
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {after}\r\n\r\n");
        stream.write_all(text.as_bytes())?;
        self.head()
    }

    fn head(&mut self) -> io::Result<Answer> {
        let answer = read_head(&mut self.input)?;
        self.body = (0, answer.length);
        Ok(answer)
    }

    fn skip_body(&mut self) -> io::Result<()> {
        let (read, length) = self.body;
        let left = length - read;
        let skipped = io::copy(&mut (&mut self.input).take(left), &mut io::sink())?;
        self.body = (0, 0);
        if skipped == left {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Datagrams from one source port to a [`UdpServer`](super::UdpServer). Only what comes from the
/// very address that was asked counts as an answer.
#[derive(Debug)]
pub struct UdpFlow {
    socket: UdpSocket,
    sent: u64,
}

impl UdpFlow {
    /// Begins at `port`, or else at a port that was not used for long, in the present namespace.
    pub fn open(target: impl Into<SocketAddr>, port: Option<u16>) -> io::Result<Self> {
        let target = target.into();
        let socket = UdpSocket::bind(source(target, port))?;
        socket.connect(target)?;
        let flow = Self { socket, sent: 0 };
        flow.patience(Duration::from_secs(5))?;
        Ok(flow)
    }

    /// Sets how long it waits for an answer.
    pub fn patience(&self, patience: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(patience))
    }

    /// Sends a short datagram and returns who answered it.
    pub fn ask(&mut self) -> io::Result<String> {
        self.ask_long(0)
    }

    /// Sends a datagram of `bytes` bytes, or as many as its number has, and returns who answered
    /// it. An answer to an earlier one, which came too late, is left out.
    pub fn ask_long(&mut self, bytes: usize) -> io::Result<String> {
        self.sent += 1;
        let number = format!("{:0bytes$}", self.sent);
        self.socket.send(number.as_bytes())?;
        let mut buffer = [0; 8192];
        for _ in 0..self.sent {
            let length = self.receive(&mut buffer)?;
            let text = String::from_utf8_lossy(&buffer[..length]);
            match text.rsplit_once(' ') {
                Some((backend, echo)) if echo == number => return Ok(backend.to_owned()),
                Some(_) => {}
                None => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// A wait with a limit ends with any signal to the process, whoever it is for.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.recv(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => return received,
            }
        }
    }
}

/// Ports below those that the kernel gives to others on its own.
const OWN_PORTS: u16 = 30_000;

/// The next port of our own.
fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let next = |n| Some((n + 1) % OWN_PORTS);
    let taken = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    2_000 + taken.unwrap_or_default()
}

/// Where a flow to `target` begins: any address, and `port` or else the next of our own.
fn source(target: SocketAddr, port: Option<u16>) -> SocketAddr {
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(any, port.unwrap_or_else(own_port))
}

/// Reads status line and headers.
fn read_head(input: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let mut answer = Answer {
        status: 0,
        backend: String::new(),
        length: 0,
    };
    let invalid = |line: &str| io::Error::new(io::ErrorKind::InvalidData, line.to_owned());
    for line in input.take(16 * 1024).lines() {
        let line = line?;
        if answer.status == 0 {
            let status = line
                .strip_prefix("HTTP/1.1 ")
                .and_then(|rest| rest.get(..3));
            answer.status = status
                .and_then(|s| s.parse().ok())
                .ok_or_else(|| invalid(&line))?;
        } else if line.is_empty() {
            return Ok(answer);
        } else if let Some((name, value)) = line.split_once(": ") {
            match &*name.to_ascii_lowercase() {
                "x-backend" => value.clone_into(&mut answer.backend),
                "content-length" => answer.length = value.parse().map_err(io::Error::other)?,
                _ => {}
            }
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
