use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::engine::Saved;

/// The file in `state_dir` that carries [`Saved`] from one daemon to the next.
#[derive(Debug)]
pub(super) struct StateFile(PathBuf);

impl StateFile {
    /// The file and what it holds. One that can not be read is set aside, not lost: the daemon
    /// starts without it and probes anew.
    pub(super) fn open(directory: &Path) -> anyhow::Result<(Self, Saved)> {
        fs::create_dir_all(directory)
            .with_context(|| format!("edge.state_dir {}", directory.display()))?;
        let path = directory.join("state.json");
        let saved = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).or_else(|error| {
                let aside = path.with_extension("json.bad");
                tracing::warn!(
                    "{} is not understood ({error}); it is kept as {}, drains in it are not in force",
                    path.display(),
                    aside.display(),
                );
                fs::rename(&path, &aside).map(|()| Saved::default())
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Saved::default(),
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        Ok((Self(path), saved))
    }

    /// Replaces what the file holds; a crash leaves the old or the new, never a part.
    pub(super) fn write(&self, saved: &Saved) -> anyhow::Result<()> {
        let fresh = self.0.with_extension("json.new");
        let write = || -> io::Result<()> {
            fs::write(&fresh, serde_json::to_vec(saved)?)?;
            fs::rename(&fresh, &self.0)
        };
        write().with_context(|| self.0.display().to_string())
    }
}
