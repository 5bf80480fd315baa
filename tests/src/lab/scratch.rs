use std::{
    env, fs,
    path::{Path, PathBuf},
};

use nix::mount::{MntFlags, umount2};
use tempfile::TempDir;

use super::{left_over, unique};

/// Where in a [`Scratch`] a BPF file system may be mounted.
pub(super) const BPFFS: &str = "bpf";

/// A directory for one test. It is gone when this is dropped, with a BPF file system on it.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
}

impl Scratch {
    /// A new one.
    pub fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix(&format!("{}-", unique()))
            .tempdir()
            .expect("a temporary directory");
        Self { directory }
    }

    /// The path of `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Removes the directories of processes that are gone.
pub(super) fn sweep() {
    let Ok(entries) = fs::read_dir(env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        if left_over(&entry.file_name().to_string_lossy()) {
            unmount(&entry.path().join(BPFFS));
            // Another process may sweep at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Unmounts whatever is mounted on `path`; its pins vanish with the last user.
pub(super) fn unmount(path: &Path) {
    // An error says that nothing was mounted.
    let _ = umount2(path, MntFlags::MNT_DETACH);
}
