use std::{
    fmt,
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use aya::programs::links::{FdLink, PinnedLink};

use super::{
    interface::{self, OpenLink},
    object,
    pins::{EARLIER_MAPS, Pins},
};
use crate::refusal::{
    Refusal,
    pins::{foreign_pins, kept_pin, still_attached},
};

/// What was removed of an edge.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Detached {
    /// The interfaces that the program was on.
    pub interfaces: Vec<String>,
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
        match &self.interfaces[..] {
            [] => f.write_str("was not attached")?,
            interfaces => write!(f, "detached from {}", interfaces.join(", "))?,
        }
        let program = if self.program { "the program and " } else { "" };
        write!(f, "; removed {program}{} maps", self.maps)
    }
}

/// Detaches the program that is pinned in `pin_dir` and removes all its pins; no daemon is needed.
///
/// # Errors
///
/// The directory is none for pins, something in it can not be removed or is not Waggle's, or another
/// process keeps the program on its interface.
pub fn detach(pin_dir: &Path) -> Result<Detached, Refusal> {
    let pins = Pins::new(pin_dir);
    let mut detached = Detached::default();
    if !pin_dir.exists() {
        return Ok(detached);
    }
    pins.check_place()?;
    let links = links(&pins)?;
    for pin in pins.links()? {
        remove(&pin)?;
    }
    let name = |link: &OpenLink| interface::name(link.interface);
    detached.interfaces = links.iter().map(name).collect();
    detached.program = remove(&pins.program())?;
    remove(&pins.next_program())?;
    let maps = object::map_names()?;
    let maps = maps.iter().map(String::as_str).chain(EARLIER_MAPS);
    for map in maps {
        detached.maps += usize::from(remove(&pins.maps().join(map))?);
    }
    for dir in [&pins.maps(), pin_dir] {
        remove_dir(dir)?;
    }
    match links.iter().find(|link| !has_ended(**link)) {
        Some(link) => Err(still_attached(name(link))),
        None => Ok(detached),
    }
}

/// The pinned links that hold a program on an interface.
pub(super) fn links(pins: &Pins) -> Result<Vec<OpenLink>, Refusal> {
    let found = |path: PathBuf| {
        let link = FdLink::from(PinnedLink::from_pin(path).ok()?);
        let id = link.info().ok()?.id();
        let open = interface::open_links().ok()?;
        open.into_iter()
            .find(|open| open.id == id && open.interface != 0)
    };
    Ok(pins.links()?.into_iter().filter_map(found).collect())
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

fn remove(path: &Path) -> Result<bool, Refusal> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(kept_pin(path.display(), error)),
    }
}

/// Removes a directory that is empty.
fn remove_dir(dir: &Path) -> Result<(), Refusal> {
    let failed = |error| kept_pin(dir.display(), error);
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            let entries = fs::read_dir(dir).map_err(failed)?;
            let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
            let names: Vec<_> = entries.filter_map(Result::ok).map(name).collect();
            Err(foreign_pins(dir.display(), names.join(", ")))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}
