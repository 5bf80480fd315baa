//! `[locations]`, `[geography]` and `[latency]`: where clients are, by entries in the configuration and by
//! the files that it names.

use std::{
    cell::RefCell,
    hash::Hash,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use toml::Value;

use super::{
    authorities::Host,
    clients::clients,
    data::{geography, latency, mmdb, netscaler},
    leaf::{self, shown},
    raw::{Found, Table},
    report::Wrong,
};
use crate::{
    model::{Clients, Group, LatencySource, Location, LocationPattern, Stage},
    refusal,
    whereabouts::{self, DataFile, LatencyRegion, Twice, Whereabouts},
};

/// Reads the three tables and their files. What is broken is left out, and reported; `groups` are those that
/// decide by them.
pub(super) fn read(root: &mut Table<'_>, host: Host<'_>, groups: &[Found<Group>]) -> Whereabouts {
    let files = Files {
        host,
        read: RefCell::default(),
    };
    let locations = root.table("locations", |table| {
        let custom = custom(table, &files);
        let formats = netscaler::FORMATS.iter();
        let formats = formats.map(|format| (format.name, Some(format)));
        let formats: Vec<_> = formats.chain([(MMDB, None)]).collect();
        let places = files.all(table, &formats, |format, path, bytes| match format {
            Some(format) => netscaler::read(path, bytes, format),
            None => mmdb::locations(path, bytes),
        });
        Some(custom.over(places))
    });
    let regions = root.table("geography", |table| {
        let formats = [("csv", false), (MMDB, true)];
        let read = |is_database, path: &Path, bytes: &[u8]| match is_database {
            true => mmdb::regions(path, bytes),
            false => geography::read(path, bytes),
        };
        Some(files.all(table, &formats, read))
    });
    let latencies = root.table("latency", |table| {
        let quantum = table.optional("quantum", |value| quantum(value, groups));
        files.digest(format!("quantum {quantum:?}").as_bytes());
        let read = |(), path: &Path, bytes: &[u8]| latency::read(path, bytes, quantum);
        Some(files.all(table, &[("csv", ())], read))
    });
    let (files, digest) = files.read.into_inner();
    Whereabouts::new(
        regions.unwrap_or_default(),
        locations.unwrap_or_default(),
        latencies.unwrap_or_default(),
        files,
        digest.finalize().into(),
    )
}

/// A location.
pub(super) fn location(value: &Value) -> Result<Location, Wrong> {
    let text = leaf::text(value, "a location like \"Europe.UK\"")?;
    text.parse()
        .map_err(|why| refusal::data::bad_location(shown(text), why))
}

/// A pattern of locations.
pub(super) fn pattern(value: &Value) -> Result<LocationPattern, Wrong> {
    let text = leaf::text(value, "a location like \"Europe.UK\" or \"*.UK\"")?;
    text.parse()
        .map_err(|why| refusal::data::bad_location(shown(text), why))
}

/// A region of latency tables.
pub(super) fn latency_region(value: &Value) -> Result<LatencyRegion, Wrong> {
    let text = leaf::text(value, "the name of a region in latency files")?;
    LatencyRegion::new(text).ok_or_else(|| refusal::data::bad_region(shown(text)))
}

/// What the times of latency files are rounded to multiples of. Within a window that is narrower nobody could
/// be told from those without any.
fn quantum(value: &Value, groups: &[Found<Group>]) -> Result<Duration, Wrong> {
    let quantum = leaf::duration(Duration::from_micros(1)..=Duration::from_secs(1))(value)?;
    let narrower = |stage: &Stage| match stage {
        Stage::Latency {
            source: LatencySource::Client,
            window,
        } => Some(*window).filter(|it| !it.is_zero() && *it < quantum),
        _ => None,
    };
    for Found { value: group, .. } in groups {
        if let Some(window) = group.stages.iter().find_map(narrower) {
            let [given, window] = [quantum, window].map(humantime::format_duration);
            return Err(refusal::data::coarse_quantum(given, &group.name, window));
        }
    }
    Ok(quantum)
}

/// Entries that are searched before any file (R10).
fn custom(table: &mut Table<'_>, files: &Files<'_>) -> whereabouts::Table<Location> {
    let found = table.tables("custom", |entry| {
        let example = "\"192.0.2.0-192.0.2.127\"";
        let range = entry.required("range", example, clients);
        let location = entry.required("location", "\"Europe.UK\"", location);
        Some((range?, location?))
    });
    for Found { value, .. } in &found {
        let (range, location): &(Clients, Location) = value;
        files.digest(format!("custom {range} {location}").as_bytes());
    }
    let entries: Vec<_> = found.iter().map(|found| found.value.clone()).collect();
    whereabouts::Table::new(&entries).unwrap_or_else(|twice| {
        for Twice {
            prefix,
            first,
            again,
        } in twice
        {
            let wrong = refusal::service::clients_twice(prefix, &found[first].path);
            table.wrong_at(format!("{}.range", found[again].path), wrong);
        }
        whereabouts::Table::default()
    })
}

/// The formats of a kind of file, by their names: the first is the usual one.
type Formats<F> = [(&'static str, F)];

/// The format of databases, known by the ending of their names.
const MMDB: &str = "mmdb";

/// Files that are read, and a digest of all that is.
struct Files<'a> {
    host: Host<'a>,
    read: RefCell<(Vec<DataFile>, Sha256)>,
}

impl Files<'_> {
    /// What the files of the list `files` hold; the first that knows an address holds. `read` is given
    /// the format of each.
    fn all<T: Clone + Eq + Hash, F: Copy>(
        &self,
        table: &mut Table<'_>,
        formats: &Formats<F>,
        read: impl Fn(F, &Path, &[u8]) -> Result<whereabouts::Table<T>, Vec<Wrong>>,
    ) -> whereabouts::Table<T> {
        let named: Vec<_> = formats.iter().map(|format| (format.0, *format)).collect();
        let files = table.texts_or_tables(
            "files",
            "a path or a table: `{ path = .. }`",
            |text| Ok((path(text)?, None)),
            |entry| {
                let path = entry.required("path", "\"places.csv\"", |value| {
                    path(leaf::text(value, "a path")?)
                });
                let format = entry.optional("format", leaf::one_of(&named));
                Some((path?, format))
            },
        );
        let mut all = whereabouts::Table::default();
        for Found { path: key, value } in files {
            let (path, format) = value;
            let is_database = path.extension().is_some_and(|ending| ending == MMDB);
            let by_ending = || {
                let database = formats
                    .iter()
                    .find(|format| is_database && format.0 == MMDB);
                database.or(formats.first()).copied()
            };
            let Some((name, format)) = format.or_else(by_ending) else {
                continue;
            };
            match self.one(&key, &path, name, |path, bytes| read(format, path, bytes)) {
                Ok(file) => all = all.over(file),
                Err(wrong) => wrong
                    .into_iter()
                    .for_each(|wrong| table.wrong_at(key.clone(), wrong)),
            }
        }
        all
    }

    fn one<T>(
        &self,
        key: &str,
        path: &Path,
        format: &str,
        read: impl Fn(&Path, &[u8]) -> Result<T, Vec<Wrong>>,
    ) -> Result<T, Vec<Wrong>> {
        let path = self.host.directory.join(path);
        self.read.borrow_mut().0.push(DataFile {
            key: key.to_owned(),
            path: path.clone(),
            stamp: (self.host.stamp)(&path),
        });
        let bytes = (self.host.read)(&path)
            .map_err(|error| vec![refusal::data::unreadable_data(path.display(), error)])?;
        self.digest(format!("{key} {format}").as_bytes());
        self.digest(&bytes);
        read(&path, &bytes)
    }

    fn digest(&self, bytes: &[u8]) {
        let digest = &mut self.read.borrow_mut().1;
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    }
}

/// A path, which may be relative to the directory of the configuration.
fn path(text: &str) -> Result<PathBuf, Wrong> {
    match text.is_empty() || text.contains(char::is_control) {
        true => Err(refusal::data::bad_data_path(shown(text))),
        false => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests;
