use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use aya::maps::{MapData, MapInfo};
use lb_common::ABI_VERSION;
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use super::{kernel::mapped_by, mapped::Mapped, object::Shape};
use crate::refusal::{
    Refusal,
    pins::{
        dotted_pins, no_bpf_file_system, other_layout, other_size, shared_pins, unusable_map,
        unusable_pins,
    },
    reason,
};

/// Maps that earlier versions had.
pub(super) const EARLIER_MAPS: [&str; 9] = [
    "CONTROL",
    "COUNTERS",
    "FLOW_EVENTS",
    "PORTS",
    "SERVICES",
    "SERVICE_COUNTERS",
    "TARGETS",
    "TARGET_COUNTERS",
    "VERDICTS",
];

/// How the names of pinned links begin.
const LINK: &str = "link";

/// Where an edge's program, links and maps are pinned: `program`, `link-INDEX` and `maps/NAME` in a
/// directory on a BPF file system.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    dir: PathBuf,
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

    /// Where the link to the interface with this index is pinned.
    pub(super) fn link(&self, interface: u32) -> PathBuf {
        self.dir.join(format!("{LINK}-{interface}"))
    }

    /// The links that are pinned; none if there is no directory.
    pub(super) fn links(&self) -> Result<Vec<PathBuf>, Refusal> {
        if !self.dir.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.dir);
        let entries = entries.map_err(|error| unusable_pins(self.dir.display(), error))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_link = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Earlier versions had one, without an index.
            name.strip_prefix(LINK)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        Ok(paths.filter(is_link).collect())
    }

    pub(super) fn maps(&self) -> PathBuf {
        self.dir.join("maps")
    }

    /// Makes one of the directories.
    pub(super) fn make(&self, path: &Path) -> Result<(), Refusal> {
        self.check_place()?;
        fs::create_dir_all(path).map_err(|error| {
            let dotted = self.dir.to_string_lossy().contains('.');
            match error.kind() {
                io::ErrorKind::PermissionDenied if dotted => dotted_pins(self.dir.display()),
                _ => unusable_pins(path.display(), error),
            }
        })
    }

    /// Whether the directory is, or would be, on a BPF file system, and not the whole of it.
    pub(super) fn check_place(&self) -> Result<(), Refusal> {
        let failed = |error: io::Error| unusable_pins(self.dir.display(), error);
        let there = self.dir.ancestors().find(|dir| dir.exists());
        let there = there.unwrap_or(Path::new("/"));
        let found = statfs(there).map_err(|errno| failed(errno.into()))?;
        if found.filesystem_type() != BPF_FS_MAGIC {
            return Err(no_bpf_file_system(self.dir.display()));
        }
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
        let above = device(&there.join("..")).map_err(failed)?;
        if there == self.dir && device(there).map_err(failed)? != above {
            let example = self.dir.join("waggle");
            return Err(shared_pins(self.dir.display(), example.display()));
        }
        Ok(())
    }

    /// Whether every pinned map is what the object would make.
    pub(super) fn check_maps(&self, shapes: &BTreeMap<String, Shape>) -> Result<(), Refusal> {
        for (map, wanted) in shapes {
            let path = self.maps().join(map);
            if !path.exists() {
                continue;
            }
            let found = MapInfo::from_pin(&path).map_err(|e| unusable_map(map, reason(&e)))?;
            check_shape(map, &found.into(), wanted)?;
        }
        self.check_abi()
    }

    /// The pinned map `name`.
    pub(super) fn map(&self, name: &str) -> Result<MapData, aya::maps::MapError> {
        MapData::from_pin(self.maps().join(name))
    }

    /// Whether the maps are of this version.
    pub(super) fn check_abi(&self) -> Result<(), Refusal> {
        if let Some(map) = EARLIER_MAPS
            .iter()
            .find(|map| self.maps().join(map).exists())
        {
            return Err(other_layout(map, "it is of an earlier version"));
        }
        let map = "TABLES";
        if !self.maps().join(map).exists() {
            return Ok(());
        }
        // In any version it is the first word, of which the low half says which one.
        let words = mapped_by(self, map, Mapped::<u64>::flat)?;
        match words.load(0) as u32 {
            // Made, but its maker ended before it wrote anything.
            0 | ABI_VERSION => Ok(()),
            abi => {
                let differs = format!("ABI version {abi} there, {ABI_VERSION} wanted");
                Err(other_layout(map, differs))
            }
        }
    }
}

impl From<MapInfo> for Shape {
    fn from(found: MapInfo) -> Self {
        Self {
            map_type: found.map_type().ok(),
            key_size: found.key_size(),
            value_size: found.value_size(),
            entries: found.max_entries(),
            flags: found.map_flags(),
        }
    }
}

/// Refuses a map for what differs first.
fn check_shape(map: &str, found: &Shape, wanted: &Shape) -> Result<(), Refusal> {
    let numbers = [
        ("key size", found.key_size, wanted.key_size),
        ("value size", found.value_size, wanted.value_size),
        ("flags", found.flags, wanted.flags),
        ("entries", found.entries, wanted.entries),
    ];
    let different = numbers.into_iter().find(|(_, f, w)| f != w);
    let (what, there, wanted) = match (found.map_type == wanted.map_type, different) {
        (true, None) => return Ok(()),
        (true, Some((what, there, wanted))) => (what, there.to_string(), wanted.to_string()),
        (false, _) => ("type", type_name(found), type_name(wanted)),
    };
    match (map, what) {
        ("FLOWS", "entries") => Err(other_size(map, there, wanted, "flow_entries")),
        ("AFFINITY_PINS", "entries") => Err(other_size(map, there, wanted, "affinity_entries")),
        ("TRANSLATIONS", "entries") => Err(other_size(map, there, wanted, "nat_entries")),
        ("SLOTS", "entries") => Err(other_size(map, there, wanted, "ring_slots")),
        _ => Err(other_layout(
            map,
            format!("{what} {there} there, {wanted} wanted"),
        )),
    }
}

fn type_name(shape: &Shape) -> String {
    let known = shape.map_type.map(|known| format!("{known:?}"));
    known.map_or_else(|| "unknown".to_owned(), |name| name.to_lowercase())
}
