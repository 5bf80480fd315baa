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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_a_first_start_finds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/inside");
        let (file, nothing) = StateFile::open(&path).unwrap();
        assert_eq!(nothing, Saved::default());
        let drained = r#"{"admin":[{"target":{"backend":"a"},"admin":"drain"}]}"#;
        let drained: Saved = serde_json::from_str(drained).unwrap();
        file.write(&drained).unwrap();
        assert_eq!(StateFile::open(&path).unwrap().1, drained);
        // A daemon that ends while it writes leaves a part beside the file.
        fs::write(path.join("state.json.new"), "{").unwrap();
        assert_eq!(StateFile::open(&path).unwrap().1, drained);
        file.write(&Saved::default()).unwrap();
        assert_eq!(StateFile::open(&path).unwrap().1, Saved::default());
    }

    #[test]
    fn what_is_not_understood_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let deep = "[".repeat(1 << 20);
        for garbage in [
            "",
            "{",
            "null",
            "[1, 2]",
            "\0\0\0\0",
            &deep,
            r#"{"admin": {}}"#,
            r#"{"admin": [{"target": {"backend": "a\nb"}, "admin": "drain"}]}"#,
            r#"{"admin": [{"target": {"backend": "a"}, "admin": "gone"}]}"#,
            r#"{"windows": {"g": {"k": {"window": 2, "required": 3, "samples": []}}}}"#,
            r#"{"latencies": {"k": {"values": {"smoothed": -1}}}}"#,
            r#"{"of_another_version": 1}"#,
        ] {
            fs::write(path.join("state.json"), garbage).unwrap();
            let (file, saved) = StateFile::open(path).unwrap();
            assert_eq!(saved, Saved::default(), "{garbage:.40}");
            let aside = fs::read_to_string(path.join("state.json.bad")).unwrap();
            assert_eq!(aside, garbage);
            file.write(&saved).unwrap();
        }
    }

    #[test]
    fn what_can_not_be_a_directory_or_a_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join("plain"), "").unwrap();
        let error = StateFile::open(&path.join("plain")).unwrap_err();
        assert!(
            error.to_string().starts_with("edge.state_dir "),
            "{error:#}"
        );
        fs::create_dir(path.join("state.json")).unwrap();
        let error = StateFile::open(path).unwrap_err();
        assert!(error.to_string().ends_with("state.json"), "{error:#}");
    }
}
