//! Location files of NetScaler, in all formats that it takes (D72).
//!
//! Each line is a range of addresses with fields for them, separated by commas; quotes are optional and
//! fields at the end may be left out. The columns are those of <https://support.citrix.com/CTX235799>;
//! from `geoip-city` on, which could not be read there, those of MaxMind's products of these names. Addresses may be of IPv4 or IPv6 in every format, as in NetScaler's `netscaler6` and
//! `geoip-country6`. Longitudes and latitudes are not used.

use std::{
    borrow::Cow,
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
};

use super::lines::{Mistakes, Rows, fields, lines, text};
use crate::{
    config::{clients::range_of, leaf::shown, report::Wrong},
    model::{Clients, Location, Qualifier, Region},
    refusal,
    whereabouts::Table,
};

/// A format, by what its fields after the addresses are.
#[derive(Debug, Eq, PartialEq)]
pub(in crate::config) struct Format {
    /// As NetScaler calls it.
    pub(in crate::config) name: &'static str,
    addresses: Addresses,
    columns: &'static [Column],
}

/// How addresses are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Addresses {
    /// In the usual form, in a file with tags at its head.
    Tagged,
    /// As numbers (ip2location.com); the usual form is taken too.
    Numbers,
    /// In the usual form; the same two as numbers may follow, or stand instead (maxmind.com).
    Both,
}

/// What a field is: the qualifier in this place, or nothing that is of use.
type Column = Option<usize>;

const CONTINENT: Column = Some(0);
const COUNTRY: Column = Some(1);
const REGION: Column = Some(2);
const CITY: Column = Some(3);
const ISP: Column = Some(4);
const ORGANISATION: Column = Some(5);
/// Names of countries, postal codes, coordinates, area codes.
const OTHER: Column = None;

/// All formats.
pub(in crate::config) const FORMATS: [Format; 11] = {
    use Addresses::{Both, Numbers, Tagged};
    const fn format(
        name: &'static str,
        addresses: Addresses,
        columns: &'static [Column],
    ) -> Format {
        Format {
            name,
            addresses,
            columns,
        }
    }
    [
        format(
            "netscaler",
            Tagged,
            &[
                CONTINENT,
                COUNTRY,
                REGION,
                CITY,
                ISP,
                ORGANISATION,
                OTHER,
                OTHER,
            ],
        ),
        format("ip-country", Numbers, &[COUNTRY, OTHER]),
        format("ip-country-isp", Numbers, &[COUNTRY, OTHER, ISP]),
        format(
            "ip-country-region-city",
            Numbers,
            &[COUNTRY, OTHER, REGION, CITY],
        ),
        format(
            "ip-country-region-city-isp",
            Numbers,
            &[COUNTRY, OTHER, REGION, CITY, ISP],
        ),
        format("geoip-country", Both, &[COUNTRY, OTHER]),
        format("geoip-region", Both, &[COUNTRY, REGION]),
        format(
            "geoip-city",
            Both,
            &[COUNTRY, REGION, CITY, OTHER, OTHER, OTHER, OTHER, OTHER],
        ),
        format("geoip-country-org", Both, &[COUNTRY, OTHER, ORGANISATION]),
        format("geoip-country-isp", Both, &[COUNTRY, OTHER, ISP]),
        format(
            "geoip-city-isp-org",
            Both,
            &[
                COUNTRY,
                REGION,
                CITY,
                OTHER,
                OTHER,
                OTHER,
                OTHER,
                OTHER,
                ISP,
                ORGANISATION,
            ],
        ),
    ]
};

/// Reads a location file.
pub(in crate::config) fn read(
    file: &Path,
    bytes: &[u8],
    format: &Format,
) -> Result<Table<Location>, Vec<Wrong>> {
    let text = text(bytes, Mistakes::new(file))?;
    let mut lines = lines(text).peekable();
    let mut reader = Reader {
        format,
        labels_are_free: false,
        known: HashMap::new(),
    };
    if format.addresses == Addresses::Tagged && lines.peek().is_some() {
        reader.labels_are_free = head(&mut lines)
            .map_err(|what| Mistakes::new(file).whole(refusal::data::no_location_file(what)))?;
    }
    let mut rows = Rows::new(Mistakes::new(file));
    for (number, line) in lines {
        rows.take(number, reader.entry(line));
    }
    rows.table()
}

/// Reads the lines up to `Start`, and says whether qualifiers mean what the file likes
/// (`Context=custom`) instead of continent, country and so on. An error is the line that is missing.
fn head<'t>(lines: &mut impl Iterator<Item = (usize, &'t str)>) -> Result<bool, &'static str> {
    const TAG: &str = "NSGEO1.0";
    const START: &str = "Start";
    if lines.next().is_none_or(|(_, line)| line != TAG) {
        return Err(TAG);
    }
    let mut labels_are_free = false;
    for (_, line) in lines {
        if line.eq_ignore_ascii_case(START) {
            return Ok(labels_are_free);
        }
        if let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("context")
        {
            labels_are_free = value.trim().eq_ignore_ascii_case("custom");
        }
    }
    Err(START)
}

struct Reader<'f> {
    format: &'f Format,
    labels_are_free: bool,
    /// Locations by the fields that they come from: a file has few against its lines.
    known: HashMap<String, Option<Location>>,
}

impl Reader<'_> {
    /// The entry of a line; none of one that tells nothing of its addresses.
    fn entry(&mut self, line: &str) -> Result<Option<(Clients, Location)>, Wrong> {
        let all = fields(line)?;
        let [first, last, rest @ ..] = &all[..] else {
            return Err(self.bad_columns(all.len()));
        };
        let clients = self.clients(first, last)?;
        let rest = match (self.format.addresses, rest) {
            (Addresses::Both, [one, two, rest @ ..]) if is_number(one) && is_number(two) => rest,
            _ => rest,
        };
        if rest.is_empty() || rest.len() > self.format.columns.len() {
            return Err(self.bad_columns(all.len()));
        }
        let key = rest.join("\n");
        let location = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let location = self.location(rest)?;
                self.known.insert(key, location.clone());
                location
            }
        };
        Ok(location.map(|location| (clients, location)))
    }

    fn clients(&self, first: &str, last: &str) -> Result<Clients, Wrong> {
        let range = format!("{first}-{last}");
        let numbers = self.format.addresses != Addresses::Tagged;
        let [first, last] = if numbers && is_number(first) && is_number(last) {
            let [first, last] = [number(first)?, number(last)?];
            let is_v4 = first.max(last) <= u32::MAX.into();
            [first, last].map(|number| of_number(number, is_v4))
        } else {
            [address(first)?, address(last)?]
        };
        // Files of IPv6 have the addresses of IPv4 in their form.
        let [v4_first, v4_last] = [first, last].map(|it| it.to_canonical());
        match v4_first.is_ipv4() == v4_last.is_ipv4() {
            true => range_of(&range, v4_first, v4_last),
            false => range_of(&range, first, last),
        }
    }

    fn location(&self, fields: &[Cow<'_, str>]) -> Result<Option<Location>, Wrong> {
        let mut qualifiers: [Option<Qualifier>; Location::MOST_QUALIFIERS] = Default::default();
        for (column, field) in self.columns(fields.len()).zip(fields) {
            // An asterisk is NetScaler's, a dash ip2location's word for what is not known.
            let Some(place) = column.filter(|_| !matches!(&**field, "" | "*" | "-")) else {
                continue;
            };
            let is_country = column == COUNTRY && self.format.addresses != Addresses::Tagged;
            if is_country && !(field.len() == 2 && field.bytes().all(|b| b.is_ascii_alphanumeric()))
            {
                let mend = "use two letters, like \"IE\"; or give the file's `format`";
                return Err(refusal::data::bad_country(shown(field), mend));
            }
            let qualifier = Qualifier::new(field).ok_or_else(|| {
                let why = "has a control character";
                refusal::data::bad_location(shown(field), why)
            })?;
            qualifiers[place] = Some(qualifier);
        }
        if qualifiers[0].is_none() && !self.labels_are_free {
            let country = qualifiers[1].as_ref().map(Qualifier::as_str);
            qualifiers[0] = country
                .and_then(Region::continent_of)
                .and_then(Qualifier::new);
        }
        let location = Location::new(qualifiers);
        Ok(Some(location).filter(|it| !it.is_unknown()))
    }

    /// What the fields of a line are. The name of the country may be left out between its code and an
    /// organisation or ISP.
    fn columns(&self, fields: usize) -> impl Iterator<Item = Column> {
        let columns = self.format.columns;
        let unnamed = self.format.addresses == Addresses::Both
            && columns.len() == 3
            && columns[1] == OTHER
            && fields == 2;
        let columns = columns.iter().enumerate();
        columns.filter_map(move |(i, column)| (!(unnamed && i == 1)).then_some(*column))
    }

    fn bad_columns(&self, given: usize) -> Wrong {
        let most = 2 + self.format.columns.len();
        let wanted = match self.format.addresses {
            Addresses::Both => format!("3 to {most}, or 2 more with the addresses as numbers"),
            Addresses::Numbers | Addresses::Tagged => format!("3 to {most}"),
        };
        let wanted = format!("{wanted}; or give the file's `format`");
        refusal::data::bad_columns(given, wanted)
    }
}

fn is_number(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(field: &str) -> Result<u128, Wrong> {
    field
        .parse()
        .map_err(|_larger| refusal::data::bad_row_address(shown(field)))
}

fn of_number(number: u128, is_v4: bool) -> IpAddr {
    match is_v4 {
        true => Ipv4Addr::from_bits(number as u32).into(),
        false => Ipv6Addr::from_bits(number).into(),
    }
}

fn address(field: &str) -> Result<IpAddr, Wrong> {
    let address: Result<IpAddr, _> = field.parse();
    address.map_err(|_no_address| refusal::data::bad_row_address(shown(field)))
}

#[cfg(test)]
mod tests;
