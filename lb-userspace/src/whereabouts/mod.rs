//! Where clients are: their place in the geographic hierarchy, their location, and how far regions are
//! from them in milliseconds. Pure.
//!
//! Each of the three is a [`Table`] from addresses to values; `config/data` reads the files that they
//! come from.

mod table;
#[cfg(test)]
mod tests;
mod watch;

use std::{collections::BTreeMap, fmt, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

pub use self::{
    table::{Table, Twice},
    watch::{Stamp, Watch},
};
use crate::model::{Location, Region};

/// A region that latencies are measured to, like `westeurope` (S66). It is compared without regard to
/// case (R13).
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LatencyRegion(Arc<str>);

impl LatencyRegion {
    /// The region of this name; none if the name is blank or has control characters.
    pub fn new(name: &str) -> Option<Self> {
        let name = name.trim();
        let fits = !name.is_empty() && !name.contains(char::is_control);
        fits.then(|| Self(name.to_lowercase().into()))
    }

    /// Its name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LatencyRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Round-trip times between clients and regions, one row of a latency table.
pub type LatencyRow = BTreeMap<LatencyRegion, Duration>;

/// A file that tells where clients are.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct DataFile {
    /// The key that names it: `latency.files[0]`.
    pub key: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it was just before it was read; none if it was not there.
    pub stamp: Option<Stamp>,
}

/// What a configuration knows of where clients are.
///
/// It is equal to another one if they were made of the same contents: see [`Self::new`].
#[derive(Default)]
pub struct Whereabouts {
    regions: Table<Region>,
    locations: Table<Location>,
    latencies: Table<Arc<LatencyRow>>,
    files: Vec<DataFile>,
    digest: [u8; 32],
}

impl Whereabouts {
    /// Tables that were read from these files. `digest` is one of all that they were made of, whatever
    /// the files are called.
    pub fn new(
        regions: Table<Region>,
        locations: Table<Location>,
        latencies: Table<Arc<LatencyRow>>,
        files: Vec<DataFile>,
        digest: [u8; 32],
    ) -> Self {
        Self {
            regions,
            locations,
            latencies,
            files,
            digest,
        }
    }

    /// The finest region of each client that the geographic files know.
    pub fn regions(&self) -> &Table<Region> {
        &self.regions
    }

    /// The location of each client that the custom entries, or else the files, know (R10).
    pub fn locations(&self) -> &Table<Location> {
        &self.locations
    }

    /// How far regions are from each client that the latency files know.
    pub fn latencies(&self) -> &Table<Arc<LatencyRow>> {
        &self.latencies
    }

    /// The finest region of a client: the world if nothing is known of it (S87).
    pub fn region(&self, client: IpAddr) -> Region {
        self.regions.at(client).copied().unwrap_or(Region::World)
    }

    /// Where a client is, if that is known.
    pub fn location(&self, client: IpAddr) -> Option<&Location> {
        self.locations.at(client)
    }

    /// How far regions are from a client, if that is known.
    pub fn latency(&self, client: IpAddr) -> Option<&LatencyRow> {
        self.latencies.at(client).map(|row| &**row)
    }

    /// The files that it was read from.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }
}

impl fmt::Debug for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whereabouts")
            .field("regions", &self.regions.entries())
            .field("locations", &self.locations.entries())
            .field("latencies", &self.latencies.entries())
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Whereabouts {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Whereabouts {}
