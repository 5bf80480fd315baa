use std::{
    fmt,
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use aya::programs::links::{FdLink, PinnedLink};
use aya_obj::ParseError;

use super::{
    interface::{self, OpenLink},
    object,
    pins::{Pins, PinsError},
};

/// What was removed of an edge.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Detached {
    /// The interface that the program was on, if it was on one.
    pub interface: Option<String>,
    /// Whether a program was pinned.
    pub program: bool,
    /// How many maps were pinned.
    pub maps: usize,
}

impl fmt::Display for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("nothing is attached or pinned");
        }
        match &self.interface {
            Some(interface) => write!(f, "detached from {interface}")?,
            None => f.write_str("was not attached")?,
        }
        let program = if self.program { "the program and " } else { "" };
        write!(f, "; removed {program}{} maps", self.maps)
    }
}

/// Why an edge was not detached.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// Someone else keeps things in the directory, or another version of this program did.
    #[error(
        "the pins are removed, but not {dir}, which holds what this waggle has not made: {}; remove that \
         by hand if nothing needs it", names.join(", ")
    )]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// What stands in it.
        names: Vec<String>,
    },
    /// A pin can not be removed.
    #[error("{path}: {source}")]
    Io {
        /// The pin.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The object in this binary is broken.
    #[error("the packet program can not be read: {0}")]
    Object(#[from] ParseError),
    /// The directory is none for pins.
    #[error(transparent)]
    Pins(#[from] PinsError),
    /// Some other process keeps the link open.
    #[error(
        "the pins are removed, but the program is still on {0}: another process keeps its link open"
    )]
    StillAttached(String),
}

/// Detaches the program that is pinned in `pin_dir` and removes all its pins; no daemon is needed.
pub fn detach(pin_dir: &Path) -> Result<Detached, DetachError> {
    let pins = Pins::new(pin_dir);
    let mut detached = Detached::default();
    if !pin_dir.exists() {
        return Ok(detached);
    }
    pins.check_place()?;
    let link = link(&pins);
    if remove(&pins.link())? {
        detached.interface = link.map(|link| interface::name(link.interface));
    }
    detached.program = remove(&pins.program())?;
    remove(&pins.next_program())?;
    for map in object::map_names()? {
        detached.maps += usize::from(remove(&pins.maps().join(map))?);
    }
    for dir in [&pins.maps(), pin_dir] {
        remove_dir(dir)?;
    }
    match link {
        Some(link) if !has_ended(link) => {
            Err(DetachError::StillAttached(interface::name(link.interface)))
        }
        _ => Ok(detached),
    }
}

/// The pinned link, if it holds a program on an interface.
pub(super) fn link(pins: &Pins) -> Option<OpenLink> {
    let link = FdLink::from(PinnedLink::from_pin(pins.link()).ok()?);
    let id = link.info().ok()?.id();
    let open = interface::open_links().ok()?;
    open.into_iter()
        .find(|open| open.id == id && open.interface != 0)
}

/// The kernel frees a link a moment after its last holder is gone.
fn has_ended(link: OpenLink) -> bool {
    for _ in 0..200 {
        // An interface that can not be asked is gone, or in another namespace.
        let attached = interface::attached(link.interface).ok().flatten();
        if attached.is_none_or(|attached| attached.program != link.program) {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

fn remove(path: &Path) -> Result<bool, DetachError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(failed(path, source)),
    }
}

/// Removes a directory that is empty.
fn remove_dir(dir: &Path) -> Result<(), DetachError> {
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            let names = fs::read_dir(dir).map_err(|e| failed(dir, e))?;
            let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
            Err(DetachError::Foreign {
                dir: dir.into(),
                names: names.filter_map(Result::ok).map(name).collect(),
            })
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(dir, error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> DetachError {
    let path = path.into();
    DetachError::Io { path, source }
}
