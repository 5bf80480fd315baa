use std::{fmt, fs, io, path::Path, thread, time::Duration};

use aya::programs::links::{FdLink, PinnedLink};

use super::{
    interface::{self, OpenLink},
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
    /// A pin can not be removed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The directory is not on a BPF file system.
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
    pins.check_file_system()?;
    let link = link(&pins);
    if remove(&pins.link())? {
        detached.interface = link.map(|link| interface::name(link.interface));
    }
    detached.program = remove(&pins.program())?;
    remove(&pins.next_program())?;
    if pins.maps().exists() {
        for map in fs::read_dir(pins.maps())? {
            fs::remove_file(map?.path())?;
            detached.maps += 1;
        }
        fs::remove_dir(pins.maps())?;
    }
    fs::remove_dir(pin_dir)?;
    match link {
        Some(link) if !has_ended(link) => {
            Err(DetachError::StillAttached(interface::name(link.interface)))
        }
        _ => Ok(detached),
    }
}

/// The pinned link, if it holds a program on an interface.
fn link(pins: &Pins) -> Option<OpenLink> {
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

fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
