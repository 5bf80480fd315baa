use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::pins::{Pins, PinsError};
use crate::model::{Edge, Name};

/// Says that this process runs an edge and alone writes its tables, until it is dropped or the process
/// ends.
#[derive(Debug)]
pub struct Lock {
    state: File,
    pins: File,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The lock's file can not be used.
    #[error("lock {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory of the pins can not be used.
    #[error(transparent)]
    Pins(#[from] PinsError),
    /// The daemon of another edge has its pins in the same place.
    #[error("another waggle daemon has its pins in {0}: set another `edge.pin_dir` for this one")]
    PinsTaken(PathBuf),
    /// Another process has it.
    #[error("another waggle daemon runs edge `{edge}` (pid {pid})")]
    Taken {
        /// The edge.
        edge: Name,
        /// The other process, as it wrote it down itself.
        pid: String,
    },
}

impl Lock {
    /// Takes the lock of an edge: the file `NAME.lock` in its state directory, and the directory of its
    /// pins. What is not there is made.
    ///
    /// To be held before anything of the edge is touched, its state, its control socket or its tables.
    pub fn take(edge: &Edge) -> Result<Self, LockError> {
        let path = edge.state_dir.join(format!("{}.lock", edge.name));
        let failed = |path: &Path, source| LockError::File {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(&edge.state_dir).map_err(|e| failed(&path, e))?;
        let mut state = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| failed(&path, e))?;
        if !try_lock(&state).map_err(|e| failed(&path, e))? {
            let pid = fs::read_to_string(&path).map_err(|e| failed(&path, e))?;
            return Err(LockError::Taken {
                edge: edge.name.clone(),
                pid: pid.trim().to_owned(),
            });
        }
        let dir = &edge.pin_dir;
        Pins::new(dir).make(dir)?;
        let pins = File::open(dir).map_err(|e| failed(dir, e))?;
        if !try_lock(&pins).map_err(|e| failed(dir, e))? {
            return Err(LockError::PinsTaken(dir.clone()));
        }
        state
            .set_len(0)
            .and_then(|()| writeln!(state, "{}", std::process::id()))
            .map_err(|e| failed(&path, e))?;
        Ok(Self { state, pins })
    }
}

/// Locks a file or directory, if no one else has.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Drop for Lock {
    /// Unlocks by hand: a child that was forked but has not yet started its program still holds the
    /// files, and with them the locks.
    fn drop(&mut self) {
        let _ = self.pins.unlock();
        let _ = self.state.unlock();
    }
}
