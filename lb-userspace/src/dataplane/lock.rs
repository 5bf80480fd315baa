use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::PathBuf,
};

use crate::model::{Edge, Name};

/// Says that this process runs an edge, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
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
    /// Takes the lock of an edge: the file `NAME.lock` in its state directory, which is made if it
    /// is not there.
    pub fn take(edge: &Edge) -> Result<Self, LockError> {
        let path = edge.state_dir.join(format!("{}.lock", edge.name));
        let failed = |source| LockError::File {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&edge.state_dir).map_err(failed)?;
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Taken {
                    edge: edge.name.clone(),
                    pid: fs::read_to_string(&path).map_err(failed)?.trim().to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Unlocks by hand: a child that was forked but has not yet started its program still holds the
    /// file, and with it the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}
