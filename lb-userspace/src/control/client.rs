use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::FileTypeExt as _, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Reply, Request};
use crate::{
    model::Edge,
    refusal::{
        Refusal,
        command::{
            bad_answer, bad_request, bad_socket, closed_socket, no_answer, no_daemon, several_edges,
        },
    },
};

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a request to the daemon at `path`.
///
/// # Errors
///
/// No daemon is there, or it does not answer, each with what to do.
pub fn ask(path: &Path, request: &Request) -> Result<Reply, Refusal> {
    let mut line = serde_json::to_vec(request).map_err(bad_request)?;
    line.push(b'\n');
    let at = &path.display();
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => no_daemon(at),
        io::ErrorKind::PermissionDenied => closed_socket(at),
        _ => bad_socket(at, error),
    })?;
    let mut exchange = || -> io::Result<String> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&line)?;
        let mut reply = String::new();
        BufReader::new(&stream).read_line(&mut reply)?;
        Ok(reply)
    };
    let reply = exchange().map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => bad_answer(at, error),
        io::ErrorKind::WouldBlock => no_answer(at, format_args!("silent for {PATIENCE:?}")),
        _ => no_answer(at, error),
    })?;
    match reply.as_str() {
        "" => Err(no_answer(at, "it ended before it answered")),
        reply => serde_json::from_str(reply).map_err(|error| bad_answer(at, error)),
    }
}

/// The control socket of edge `name`, or of the only edge of this host.
///
/// # Errors
///
/// There is none, or more than one to choose from.
pub fn find(name: Option<&str>) -> Result<PathBuf, Refusal> {
    if let Some(name) = name {
        return Ok(Path::new(Edge::RUN_ROOT).join(format!("{name}.sock")));
    }
    let sockets: Vec<_> = fs::read_dir(Edge::RUN_ROOT)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path())
        .collect();
    match sockets.as_slice() {
        [] => Err(no_daemon(format_args!("{}/*.sock", Edge::RUN_ROOT))),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|path| path.file_stem()?.to_str())
                .collect();
            Err(several_edges(names.join(", ")))
        }
    }
}
