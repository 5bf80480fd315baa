//! MaxMind databases.

use std::{collections::HashMap, fmt, hash::Hash, path::Path};

use maxminddb::{MaxMindDbError, Reader, WithinOptions};
use serde::Deserialize;

use super::lines::Mistakes;
use crate::{
    config::report::Wrong,
    model::{Clients, Location, Prefix, Qualifier, Region},
    refusal,
    whereabouts::Table,
};

/// What is read of a record: the fields that GeoIP2 and GeoLite2 databases of countries, cities, ISPs
/// and enterprises have, and others that follow them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    continent: Place<'a>,
    country: Place<'a>,
    registered_country: Place<'a>,
    subdivisions: Vec<Place<'a>>,
    city: Place<'a>,
    isp: Option<&'a str>,
    organization: Option<&'a str>,
    traits: Traits<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Place<'a> {
    code: Option<&'a str>,
    iso_code: Option<&'a str>,
    #[serde(borrow)]
    names: Names<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Names<'a> {
    en: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Traits<'a> {
    isp: Option<&'a str>,
    organization: Option<&'a str>,
}

impl Record<'_> {
    /// The code of the country, or of the one where the addresses are registered.
    fn country(&self) -> Option<&str> {
        self.country.iso_code.or(self.registered_country.iso_code)
    }

    /// The region; the world is as good as nothing.
    fn region(&self) -> Option<Region> {
        let subdivision = self.subdivisions.first().and_then(|it| it.iso_code);
        let region = Region::of(self.country()?, subdivision);
        Some(region).filter(|it| *it != Region::World)
    }

    /// The location: codes of continent and country, English names of the first subdivision and the
    /// city, ISP and organisation. So do the files that come with NetScaler, which are made of such a
    /// database.
    fn location(&self) -> Option<Location> {
        let country = self.country();
        let continent = self.continent.code;
        let region = self.subdivisions.first();
        let region = region.and_then(|it| it.names.en.or(it.iso_code));
        let fields = [
            continent.or_else(|| country.and_then(Region::continent_of)),
            country,
            region,
            self.city.names.en,
            self.isp.or(self.traits.isp),
            self.organization.or(self.traits.organization),
        ];
        let location = Location::new(fields.map(|field| field.and_then(Qualifier::new)));
        Some(location).filter(|it| !it.is_unknown())
    }
}

/// The locations in a database.
pub(in crate::config) fn locations(
    file: &Path,
    bytes: &[u8],
) -> Result<Table<Location>, Vec<Wrong>> {
    table(file, bytes, |record| record.location())
}

/// The regions in a database.
pub(in crate::config) fn regions(file: &Path, bytes: &[u8]) -> Result<Table<Region>, Vec<Wrong>> {
    table(file, bytes, |record| record.region())
}

fn table<T: Clone + Eq + Hash>(
    file: &Path,
    bytes: &[u8],
    read: impl Fn(&Record<'_>) -> Option<T>,
) -> Result<Table<T>, Vec<Wrong>> {
    let whole = |wrong| Mistakes::new(file).whole(wrong);
    let entries = entries(bytes, read).map_err(|error| whole(broken(error)))?;
    if entries.is_empty() {
        return Err(whole(refusal::data::empty_data()));
    }
    Table::new(&entries).map_err(|_twice| whole(broken("a network is there twice")))
}

fn broken(reason: impl fmt::Display) -> Wrong {
    refusal::data::broken_mmdb(reason)
}

/// What the networks of a database are. Many share a record.
fn entries<T: Clone>(
    bytes: &[u8],
    read: impl Fn(&Record<'_>) -> Option<T>,
) -> Result<Vec<(Clients, T)>, MaxMindDbError> {
    let reader = Reader::from_source(bytes)?;
    let mut known: HashMap<usize, Option<T>> = HashMap::new();
    let mut entries = Vec::new();
    for network in reader.networks(WithinOptions::default())? {
        let network = network?;
        let Some(offset) = network.offset() else {
            continue;
        };
        let value = match known.get(&offset) {
            Some(value) => value.clone(),
            None => {
                let value = network.decode::<Record<'_>>()?.as_ref().and_then(&read);
                known.insert(offset, value.clone());
                value
            }
        };
        let addresses = network.network()?;
        let prefix = Prefix::around(addresses.ip(), addresses.prefix());
        if let (Some(prefix), Some(value)) = (prefix, value) {
            entries.push((prefix.into(), value));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
