use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::FileTypeExt as _, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};

use super::{Reply, Request};
use crate::model::Edge;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// No daemon is there to be asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoDaemon(String);

/// Sends a request to the daemon at `path`.
///
/// # Errors
///
/// No daemon is there, or it does not answer, each with what to do.
pub fn ask(path: &Path, request: &Request) -> anyhow::Result<Reply> {
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NoDaemon(format!(
            "no daemon listens at {}; start it with `waggle run --config FILE`",
            path.display()
        ))
        .into(),
        io::ErrorKind::PermissionDenied => anyhow::anyhow!(
            "{} may not be opened by this user; use root or the socket's group",
            path.display()
        ),
        _ => anyhow::Error::from(error).context(path.display().to_string()),
    })?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream
        .write_all(&line)
        .context("the daemon did not take the request")?;
    let mut reply = String::new();
    BufReader::new(stream)
        .read_line(&mut reply)
        .context("the daemon did not answer")?;
    ensure!(!reply.is_empty(), "the daemon ended before it answered");
    serde_json::from_str(&reply)
        .context("the daemon's answer is not understood; is it of this version?")
}

/// The control socket of edge `name`, or of the only edge of this host.
///
/// # Errors
///
/// There is none, or more than one to choose from.
pub fn find(name: Option<&str>) -> anyhow::Result<PathBuf> {
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
        [] => Err(NoDaemon(format!(
            "no daemon runs here (no socket in {}); start one with `waggle run --config FILE`, or name its socket with --control",
            Edge::RUN_ROOT,
        ))
        .into()),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|path| path.file_stem()?.to_str())
                .collect();
            bail!(
                "several edges run here; choose one with --edge: {}",
                names.join(", ")
            )
        }
    }
}
