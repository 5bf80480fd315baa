//! Regions of clients as lines of `prefix,country` or `prefix,country,state`.

use std::{collections::HashMap, path::Path};

use super::lines::{Mistakes, Rows, fields, lines, text};
use crate::{
    config::{clients::clients_of, leaf::shown, report::Wrong, spelling::closest},
    model::{Clients, Region},
    refusal,
    whereabouts::Table,
};

/// Reads such lines: a prefix, a range `FROM-TO` or an address; a country (ISO 3166-1, two letters); a
/// state (ISO 3166-2, with or without the country before it) if the hierarchy has states of that
/// country. A first line of just these words is a heading.
pub(in crate::config) fn read(file: &Path, bytes: &[u8]) -> Result<Table<Region>, Vec<Wrong>> {
    let text = text(bytes, Mistakes::new(file))?;
    let mut rows = Rows::new(Mistakes::new(file));
    let mut known = HashMap::new();
    for (number, line) in lines(text) {
        if ["prefix,country", "prefix,country,state"].contains(&&*line.to_lowercase()) {
            continue;
        }
        rows.take(number, entry(line, &mut known).map(Some));
    }
    rows.table()
}

fn entry(
    line: &str,
    known: &mut HashMap<(String, String), Region>,
) -> Result<(Clients, Region), Wrong> {
    let fields = fields(line)?;
    let (clients, country, state) = match &fields[..] {
        [clients, country] => (clients, country, ""),
        [clients, country, state] => (clients, country, &**state),
        _ => return Err(refusal::data::bad_columns(fields.len(), "2 or 3")),
    };
    let key = (country.to_string(), state.to_owned());
    let region = match known.get(&key) {
        Some(region) => *region,
        None => {
            let region = region(country, state)?;
            known.insert(key, region);
            region
        }
    };
    Ok((clients_of(clients)?, region))
}

fn region(country: &str, state: &str) -> Result<Region, Wrong> {
    if !Region::is_country(country) {
        let mend = match nearest(country) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "use two letters of ISO 3166-1, like \"IE\"".to_owned(),
        };
        return Err(refusal::data::bad_country(shown(country), mend));
    }
    let upper = state.to_ascii_uppercase();
    let alone = upper.strip_prefix(&format!("{}-", country.to_ascii_uppercase()));
    match Region::of(country, Some(alone.unwrap_or(&upper))) {
        Region::State(code) => Ok(Region::State(code)),
        region if state.is_empty() => Ok(region),
        _ => Err(refusal::data::bad_state(
            shown(state),
            country.to_ascii_uppercase(),
        )),
    }
}

/// The country that was most likely meant. Codes of two letters are all near each other.
fn nearest(code: &str) -> Option<&'static str> {
    let meant = Region::meant_by(code);
    let country = |code: &&str| Region::is_country(code);
    let near = || match code.len() {
        0..=2 => None,
        _ => closest(&code.to_ascii_uppercase(), Region::codes().filter(country)),
    };
    meant.filter(country).or_else(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Vec<String> {
        let wrong = read(Path::new("geo.csv"), text.as_bytes()).unwrap_err();
        wrong.iter().map(Wrong::to_string).collect()
    }

    #[test]
    fn countries_and_states_of_prefixes_ranges_and_addresses() {
        let text = "prefix,country,state\n\
            192.0.2.0/24,ie\n\
            # a comment\n\
            198.51.100.0-198.51.100.9,US,CA\n\
            203.0.113.7,US,us-ny\n\
            203.0.113.0/24,us,\n\
            2001:db8::/32,\"AU\",\"QLD\"\n\
            2001:db8:7::/48,CG\n";
        let table = read(Path::new("geo.csv"), text.as_bytes()).unwrap();
        for (client, region) in [
            ("192.0.2.200", Some("IE")),
            ("198.51.100.9", Some("US-CA")),
            ("198.51.100.10", None),
            ("203.0.113.7", Some("US-NY")),
            ("203.0.113.8", Some("US")),
            ("2001:db8::1", Some("AU-QLD")),
            ("2001:db8:7::1", Some("WORLD")),
        ] {
            let found = table.at(client.parse().unwrap()).map(|it| it.code());
            assert_eq!(found, region, "{client}");
        }
        assert_eq!(table.entries(), 6);
    }

    #[test]
    fn all_mistakes_of_a_file_come_with_their_lines() {
        let text = "192.0.2.0/24,UK\n\
            192.0.2.1/24,IE\n\
            192.0.3.0/24,ZZ\n\
            192.0.4.0/24,IRE\n\
            192.0.5.0/24,IE,L\n\
            192.0.6.9-192.0.6.1,IE\n\
            192.0.7.0/24\n\
            192.0.8.0/24,US,CA,x\n\
            192.0.9.0/24,\"US\n\
            somewhere,US\n";
        assert_eq!(
            wrong(text),
            [
                "geo.csv line 1: \"UK\" is no country code; did you mean GB?",
                "geo.csv line 2: \"192.0.2.1/24\" has bits beyond its length; use \"192.0.2.0/24\"",
                "geo.csv line 3: \"ZZ\" is no country code; use two letters of ISO 3166-1, like \"IE\"",
                "geo.csv line 4: \"IRE\" is no country code; did you mean IE?",
                "geo.csv line 5: \"L\" is no state of IE; use a code like \"US-CA\", or leave it out",
                "geo.csv line 6: \"192.0.6.9-192.0.6.1\" ends before it begins; use \"192.0.6.1-192.0.6.9\"",
                "geo.csv line 7: has 1 fields; use 2 or 3",
                "geo.csv line 8: has 4 fields; use 2 or 3",
                "geo.csv line 9: has a quote within a field, or one that does not end; put quotes \
                 around whole fields, and write one within twice",
                "geo.csv line 10: \"somewhere\" is no prefix, range or address; use a prefix like \
                 \"198.51.100.0/24\", a range like \"192.0.2.0-192.0.2.9\", or one address",
            ]
        );
    }

    #[test]
    fn a_prefix_stands_in_a_file_once() {
        let text = "192.0.2.0/24,IE\n198.51.100.0/24,IE\n192.0.2.0-192.0.2.255,FR\n";
        let mend = "leave it to one of them";
        let expected = format!("geo.csv line 3: 192.0.2.0/24 is in line 1 too; {mend}");
        assert_eq!(wrong(text), [expected]);
    }

    #[test]
    fn a_file_without_an_entry_is_none() {
        for text in ["", "\n", "prefix,country\n", "# nothing\n"] {
            let expected = "geo.csv: has no entry; get the file anew, or leave it out";
            assert_eq!(wrong(text), [expected], "{text:?}");
        }
    }
}
