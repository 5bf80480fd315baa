use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    engine::{AdminState, Found, Saved},
    refusal::{
        Refusal,
        edge::{unsaved_state, unusable_state},
    },
};

/// What probes found longer ago than this says nothing of now.
const STALE: Duration = Duration::from_secs(300);

/// The file in `state_dir` that carries [`Saved`] from one daemon to the next.
#[derive(Debug)]
pub(super) struct StateFile(PathBuf);

/// What the file holds. The parts are read one by one, so that one that is not understood costs
/// no other.
#[derive(Deserialize, Serialize)]
struct Content {
    /// Seconds since 1970.
    saved_at: u64,
    admin: Value,
    found: Value,
}

impl StateFile {
    /// The file and what it holds. One whose overrides can not be read is set aside, not lost, and
    /// the daemon starts without them. What probes found is dropped when it is old.
    ///
    /// # Errors
    ///
    /// Directory or file can not be used.
    pub(super) fn open(directory: &Path) -> Result<(Self, Saved), Refusal> {
        let failed = |path: &Path, error| unusable_state(path.display(), error);
        fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
        let path = directory.join("state.json");
        let saved = match fs::read(&path) {
            Ok(bytes) => read(&bytes, unix_time().as_secs()).or_else(|error| {
                let aside = path.with_extension("json.bad");
                tracing::error!(
                    "{} is not understood ({error}); it is kept as {}, drains in it are not in force",
                    path.display(),
                    aside.display(),
                );
                let moved = fs::rename(&path, &aside).map(|()| Saved::default());
                moved.map_err(|e| failed(&aside, e))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Saved::default(),
            Err(error) => return Err(failed(&path, error)),
        };
        Ok((Self(path), saved))
    }

    /// Replaces what the file holds; a crash leaves the old or the new, never a part.
    ///
    /// # Errors
    ///
    /// It can not be written; it holds what it held then.
    pub(super) fn write(&self, saved: &Saved) -> Result<(), Refusal> {
        let write = || -> io::Result<()> {
            let content = Content {
                saved_at: unix_time().as_secs(),
                admin: serde_json::to_value(&saved.admin)?,
                found: serde_json::to_value(&saved.found)?,
            };
            let fresh = self.0.with_extension("json.new");
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec(&content)?)?;
            file.sync_data()?;
            fs::rename(&fresh, &self.0)
        };
        write().map_err(|error| unsaved_state(self.0.display(), error))
    }
}

fn read(bytes: &[u8], now: u64) -> Result<Saved, serde_json::Error> {
    let content: Content = serde_json::from_slice(bytes)?;
    let admin: AdminState = serde_json::from_value(content.admin)?;
    let fresh = now.saturating_sub(content.saved_at) <= STALE.as_secs();
    let found = if fresh {
        Found::deserialize(content.found).unwrap_or_default()
    } else {
        Found::default()
    };
    Ok(Saved { admin, found })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the daemon is where the clock is read"
)]
pub(super) fn unix_time() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAINED: &str = r#"[{"subject":{"backend":"b"},"admin":"drain"}]"#;

    fn drains(found: &str, age: u64) -> Saved {
        let text = format!(r#"{{"saved_at":1000,"admin":{DRAINED},"found":{found}}}"#);
        read(text.as_bytes(), 1000 + age).unwrap()
    }

    #[test]
    fn overrides_outlive_what_else_is_not_understood() {
        let saved = drains(r#"{"windows":7,"something":"new"}"#, 0);
        assert_ne!(saved.admin, AdminState::default());
        assert_eq!(saved.found, Found::default());
    }

    #[test]
    fn what_probes_found_is_dropped_when_it_is_old_and_overrides_are_not() {
        let found = r#"{"windows":{"web":{"x":{"window":4,"required":2,"samples":[true]}}},"latencies":{}}"#;
        assert_ne!(drains(found, 300).found, Found::default());
        let old = drains(found, 301);
        assert_eq!(old.found, Found::default());
        assert_ne!(old.admin, AdminState::default());
    }

    #[test]
    fn a_file_that_is_not_understood_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        for garbage in ["", "{", "[]", r#"{"saved_at":1,"admin":{},"found":{}}"#] {
            fs::write(&path, garbage).unwrap();
            let (_, saved) = StateFile::open(directory.path()).unwrap();
            assert_eq!(saved, Saved::default(), "{garbage:?}");
            assert!(!path.exists());
            assert_eq!(
                fs::read_to_string(path.with_extension("json.bad")).unwrap(),
                garbage
            );
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let (file, _) = StateFile::open(directory.path()).unwrap();
        let saved = drains("{}", 0);
        file.write(&saved).unwrap();
        assert_eq!(StateFile::open(directory.path()).unwrap().1, saved);
    }
}
