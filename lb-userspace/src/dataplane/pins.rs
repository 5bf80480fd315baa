use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use aya::maps::{MapData, MapInfo};
use lb_common::{ABI_VERSION, Control};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use super::{mapped::Mapped, object::Shape};

/// Where an edge's program, link and maps are pinned: `program`, `link` and `maps/NAME` in a
/// directory on a BPF file system.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    dir: PathBuf,
}

/// Why pins can not be used.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    /// A dot in a name, which BPF file systems do not take.
    #[error(
        "a BPF file system takes no dots in names: set `edge.pin_dir` to a path without, not {dir}"
    )]
    Dots {
        /// The directory.
        dir: PathBuf,
    },
    /// A directory can not be made or looked at.
    #[error("{dir}: {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A pinned map is not what the program needs.
    #[error(
        "map {map} of the running program does not fit this waggle: {differs}; {mend}; until then \
         the running program is left alone"
    )]
    Mismatch {
        /// The map.
        map: String,
        /// What differs.
        differs: String,
        /// What to do.
        mend: String,
    },
    /// A whole BPF file system, which others use too.
    #[error(
        "{dir} is the root of a BPF file system, which others use too: set `edge.pin_dir` to a \
         directory in it, like {}", dir.join("waggle").display()
    )]
    Root {
        /// The directory.
        dir: PathBuf,
    },
    /// No BPF file system there.
    #[error(
        "{dir} is not on a BPF file system: `mount -t bpf bpf /sys/fs/bpf`, or set `edge.pin_dir`"
    )]
    NotBpf {
        /// The directory.
        dir: PathBuf,
    },
}

impl Pins {
    /// The pins in `dir`.
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.into() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn program(&self) -> PathBuf {
        self.dir.join("program")
    }

    /// Where a program is pinned before it takes the place of the last one.
    pub(super) fn next_program(&self) -> PathBuf {
        self.dir.join("program_next")
    }

    pub(super) fn link(&self) -> PathBuf {
        self.dir.join("link")
    }

    pub(super) fn maps(&self) -> PathBuf {
        self.dir.join("maps")
    }

    /// Makes one of the directories.
    pub(super) fn make(&self, path: &Path) -> Result<(), PinsError> {
        self.check_place()?;
        fs::create_dir_all(path).map_err(|source| {
            let dir = self.dir.clone();
            let dotted = dir.to_string_lossy().contains('.');
            match source.kind() {
                io::ErrorKind::PermissionDenied if dotted => PinsError::Dots { dir },
                _ => PinsError::Io { dir, source },
            }
        })
    }

    /// Whether the directory is, or would be, on a BPF file system, and not the whole of it.
    pub(super) fn check_place(&self) -> Result<(), PinsError> {
        let dir = || self.dir.clone();
        let failed = |source| PinsError::Io { dir: dir(), source };
        let there = self.dir.ancestors().find(|dir| dir.exists());
        let there = there.unwrap_or(Path::new("/"));
        let found = statfs(there).map_err(|errno| failed(errno.into()))?;
        if found.filesystem_type() != BPF_FS_MAGIC {
            return Err(PinsError::NotBpf { dir: dir() });
        }
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
        let above = device(&there.join("..")).map_err(failed)?;
        if there == self.dir && device(there).map_err(failed)? != above {
            return Err(PinsError::Root { dir: dir() });
        }
        Ok(())
    }

    /// Whether every pinned map is what the object would make.
    pub(super) fn check_maps(&self, shapes: &BTreeMap<String, Shape>) -> Result<(), PinsError> {
        for (map, wanted) in shapes {
            let path = self.maps().join(map);
            if !path.exists() {
                continue;
            }
            let found = MapInfo::from_pin(&path)
                .map_err(|error| mismatch(map, format!("it can not be opened: {error}"), false))?;
            if let Some((differs, is_size)) = difference(&found, wanted) {
                return Err(mismatch(map, differs, is_size));
            }
        }
        self.check_abi()
    }

    /// The pinned map `name`.
    pub(super) fn map(&self, name: &str) -> Result<MapData, aya::maps::MapError> {
        MapData::from_pin(self.maps().join(name))
    }

    /// Whether the maps are of this version.
    pub(super) fn check_abi(&self) -> Result<(), PinsError> {
        let map = "CONTROL";
        if !self.maps().join(map).exists() {
            return Ok(());
        }
        let unreadable = |error: String| mismatch(map, error, false);
        let data = self.map(map).map_err(|e| unreadable(e.to_string()))?;
        let control = Mapped::<Control>::new(&data).map_err(|e| unreadable(e.to_string()))?;
        match control.load(0).abi {
            // Made, but its maker ended before it wrote anything.
            0 | ABI_VERSION => Ok(()),
            abi => {
                let differs = format!("ABI version {abi} there, {ABI_VERSION} wanted");
                Err(mismatch(map, differs, false))
            }
        }
    }
}

/// What differs first, and whether it is the number of entries.
fn difference(found: &MapInfo, wanted: &Shape) -> Option<(String, bool)> {
    let found = Shape {
        map_type: found.map_type().ok(),
        key_size: found.key_size(),
        value_size: found.value_size(),
        entries: found.max_entries(),
        flags: found.map_flags(),
    };
    if found.map_type != wanted.map_type {
        let name = |shape: &Shape| {
            let known = shape.map_type.map(|known| format!("{known:?}"));
            known.map_or_else(|| "unknown".to_owned(), |name| name.to_lowercase())
        };
        let differs = format!("type {} there, {} wanted", name(&found), name(wanted));
        return Some((differs, false));
    }
    let numbers = [
        ("key size", found.key_size, wanted.key_size),
        ("value size", found.value_size, wanted.value_size),
        ("flags", found.flags, wanted.flags),
        ("entries", found.entries, wanted.entries),
    ];
    let (what, there, wanted) = numbers.into_iter().find(|(_, f, w)| f != w)?;
    let differs = format!("{what} {there} there, {wanted} wanted");
    Some((differs, what == "entries"))
}

fn mismatch(map: &str, differs: String, is_size: bool) -> PinsError {
    let setting = match map {
        "FLOWS" => Some("flow_entries"),
        "SLOTS" => Some("ring_slots"),
        _ => None,
    };
    let mend = match setting {
        Some(setting) if is_size => {
            format!("set `edge.{setting}` back, or `waggle detach` and start again")
        }
        _ => "`waggle detach` and start again".to_owned(),
    };
    PinsError::Mismatch {
        map: map.to_owned(),
        differs,
        mend,
    }
}
