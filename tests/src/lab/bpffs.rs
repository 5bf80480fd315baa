use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::mount::{MsFlags, mount};

use super::scratch::{BPFFS, Scratch, unmount};

/// A BPF file system of its own. It is gone when this is dropped, and so are programs and links
/// that only its pins kept.
#[derive(Debug)]
pub struct BpfFs {
    path: PathBuf,
}

impl BpfFs {
    /// Mounts one in `scratch`.
    pub fn mount(scratch: &Scratch) -> Self {
        let path = scratch.path(BPFFS);
        fs::create_dir(&path).expect("a directory to mount on");
        let nothing = None::<&str>;
        mount(Some("bpf"), &path, Some("bpf"), MsFlags::empty(), nothing)
            .unwrap_or_else(|e| panic!("{}: no BPF file system: {e}", path.display()));
        Self { path }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for BpfFs {
    fn drop(&mut self) {
        unmount(&self.path);
    }
}
