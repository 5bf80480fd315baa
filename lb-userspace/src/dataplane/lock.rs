use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
};

use super::pins::Pins;
use crate::{
    model::Edge,
    refusal::{
        Refusal,
        edge::{edge_taken, pins_taken, unusable_state},
        pins::unusable_pins,
    },
};

/// Says that this process runs an edge and alone writes its tables, until it is dropped or the process
/// ends.
#[derive(Debug)]
pub struct Lock {
    state: File,
    pins: File,
}

impl Lock {
    /// Takes the lock of an edge: the file `NAME.lock` in its state directory, and the directory of its
    /// pins. What is not there is made.
    ///
    /// To be held before anything of the edge is touched, its state, its control socket or its tables.
    ///
    /// # Errors
    ///
    /// Another daemon has one of the two, or this process can not use one of the directories.
    pub fn take(edge: &Edge) -> Result<Self, Refusal> {
        let path = edge.state_dir.join(format!("{}.lock", edge.name));
        let failed = |error: io::Error| unusable_state(path.display(), error);
        fs::create_dir_all(&edge.state_dir).map_err(failed)?;
        let mut state = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        if !try_lock(&state).map_err(failed)? {
            // As the other process wrote it down itself.
            let pid = fs::read_to_string(&path).map_err(failed)?;
            return Err(edge_taken(&edge.name, pid.trim()));
        }
        let dir = &edge.pin_dir;
        Pins::new(dir).make(dir)?;
        let no_pins = |error: io::Error| unusable_pins(dir.display(), error);
        let pins = File::open(dir).map_err(no_pins)?;
        if !try_lock(&pins).map_err(no_pins)? {
            return Err(pins_taken(dir.display()));
        }
        state
            .set_len(0)
            .and_then(|()| writeln!(state, "{}", std::process::id()))
            .map_err(failed)?;
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
