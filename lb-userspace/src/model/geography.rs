//! The geographic hierarchy of Traffic Manager: World, eight groups, countries, and the states of three
//! of them (S78, D47; appendix A of the routing rules has the codes as published).

use std::{fmt, str::FromStr};

/// A node of the hierarchy.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Region {
    /// Everything, also addresses of which nothing is known (S87).
    World,
    /// A group of countries: `GEO-EU`.
    Group(&'static str),
    /// A country: `IE`.
    Country(&'static str),
    /// A state or province: `US-CA`.
    State(&'static str),
}

/// Groups, and the countries in each. XE is Sint Eustatius, XS Saba and XJ Jan Mayen.
const GROUPS: [(&str, &str); 8] = [
    (
        "GEO-EU",
        "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI \
         LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XJ XK",
    ),
    ("GEO-ME", "AE BH IL IQ IR JO KW LB OM PS QA SY SA TR YE"),
    (
        "GEO-NA",
        "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI \
         PA PM PR SV SX TC TT UM US VC VG VI XE XS",
    ),
    (
        "GEO-AS",
        "AF AM AZ BD BN BT CC CN CX GE HK ID IN IO JP KG KH KP KR KZ LA LK MM MN MO MV MY NP PH PK \
         SG TH TJ TL TM TW UZ VN",
    ),
    (
        "GEO-AF",
        "AO BF BI BJ BV BW CD CF CI CM CV DJ DZ EG ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML \
         MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TF TG TN TZ UG YT ZA ZM ZW",
    ),
    ("GEO-AN", "AQ"),
    ("GEO-SA", "AR BO BR CL CO EC FK GF GS GY PE PY SR UY VE"),
    (
        "GEO-AP",
        "AS AU CK FJ FM GU HM KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV VU WF WS",
    ),
];

/// Countries with states, and those.
const STATES: [(&str, &str); 3] = [
    (
        "US",
        "US-AK US-AL US-AR US-AZ US-CA US-CO US-CT US-DC US-DE US-FL US-GA US-HI US-IA US-ID US-IL \
         US-IN US-KS US-KY US-LA US-MA US-MD US-ME US-MI US-MN US-MO US-MS US-MT US-NC US-ND US-NE \
         US-NH US-NJ US-NM US-NV US-NY US-OH US-OK US-OR US-PA US-RI US-SC US-SD US-TN US-TX US-UT \
         US-VA US-VT US-WA US-WI US-WV US-WY",
    ),
    (
        "CA",
        "CA-AB CA-BC CA-MB CA-NB CA-NL CA-NS CA-NT CA-NU CA-ON CA-PE CA-QC CA-SK CA-YT",
    ),
    ("AU", "AU-ACT AU-NSW AU-NT AU-QLD AU-SA AU-TAS AU-VIC AU-WA"),
];

/// Countries that the published hierarchy leaves out: they are in no group, and in the world only.
const IN_NO_GROUP: [&str; 2] = ["CG", "EH"];

/// Continents (ISO code) of the groups. The Middle East is in Asia; for a few islands and for Antarctic
/// territories the group is that of another continent than the one that databases name.
const CONTINENTS: [(&str, &str); 8] = [
    ("GEO-EU", "EU"),
    ("GEO-ME", "AS"),
    ("GEO-NA", "NA"),
    ("GEO-AS", "AS"),
    ("GEO-AF", "AF"),
    ("GEO-AN", "AN"),
    ("GEO-SA", "SA"),
    ("GEO-AP", "OC"),
];

impl Region {
    /// The finest region of a country and a subdivision of it, in ISO codes (ISO 3166-1, and ISO 3166-2
    /// without the country), as databases tell them. A subdivision that the hierarchy does not have is
    /// the country; a country that it does not have (CG and EH too) is the world.
    ///
    /// The private codes for Sint Eustatius, Saba and Jan Mayen stand for subdivisions of BQ and SJ in
    /// a database; Svalbard and Jan Mayen may be subdivisions of Norway there.
    pub fn of(country: &str, subdivision: Option<&str>) -> Self {
        let country = country.to_ascii_uppercase();
        let subdivision = subdivision.unwrap_or_default().to_ascii_uppercase();
        let country = match (country.as_str(), subdivision.as_str()) {
            ("BQ", "SE") => "XE",
            ("BQ", "SA") => "XS",
            ("SJ" | "NO", "22") => "XJ",
            ("NO", "21") => "SJ",
            (country, _) => country,
        };
        let state = state(&format!("{country}-{subdivision}")).map(Self::State);
        let country = || country_of(country).map(|(_, code)| Self::Country(code));
        state.or_else(country).unwrap_or(Self::World)
    }

    /// Whether a country code is one of ISO 3166-1 that the hierarchy knows or is known to lack.
    pub fn is_country(code: &str) -> bool {
        let code = code.to_ascii_uppercase();
        country_of(&code).is_some() || IN_NO_GROUP.contains(&code.as_str())
    }

    /// The code of the continent that a country is in, as its group says (D71: a location without a
    /// continent gets it from its country).
    pub fn continent_of(country: &str) -> Option<&'static str> {
        let (group, _) = country_of(&country.to_ascii_uppercase())?;
        let known = CONTINENTS.iter().find(|(known, _)| *known == group)?;
        Some(known.1)
    }

    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Self::World => "WORLD",
            Self::Group(code) | Self::Country(code) | Self::State(code) => code,
        }
    }

    /// The next coarser region; none above the world.
    pub fn parent(self) -> Option<Self> {
        match self {
            Self::World => None,
            Self::Group(_) => Some(Self::World),
            Self::Country(code) => country_of(code).map(|(group, _)| Self::Group(group)),
            Self::State(code) => {
                let (country, _) = code.split_once('-')?;
                country_of(country).map(|(_, code)| Self::Country(code))
            }
        }
    }

    /// It and all regions around it, from the finest to the world: the order in which a mapping is
    /// looked for (S79).
    pub fn chain(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |region| region.parent())
    }

    /// The codes of all regions.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        let countries = GROUPS.iter().flat_map(|(_, codes)| words(codes));
        let states = STATES.iter().flat_map(|(_, codes)| words(codes));
        let groups = GROUPS.iter().map(|(code, _)| *code);
        std::iter::once("WORLD")
            .chain(groups)
            .chain(countries)
            .chain(states)
    }

    /// The code that someone meant who wrote this one: without its `GEO-` or its country, or the
    /// common other code for Great Britain.
    pub fn meant_by(code: &str) -> Option<&'static str> {
        let code = code.to_ascii_uppercase();
        if code == "UK" {
            return Some("GB");
        }
        let mut codes = Self::codes();
        codes.find(|known| known.split_once('-').is_some_and(|(_, rest)| rest == code))
    }
}

/// Why a text is no [`Region`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("is the code of no region")]
pub struct UnknownRegion;

impl FromStr for Region {
    type Err = UnknownRegion;

    fn from_str(code: &str) -> Result<Self, UnknownRegion> {
        let code = code.to_ascii_uppercase();
        if code == Self::World.code() {
            return Ok(Self::World);
        }
        let group = || GROUPS.iter().find(|(group, _)| *group == code);
        country_of(&code)
            .map(|(_, country)| Self::Country(country))
            .or_else(|| group().map(|(group, _)| Self::Group(group)))
            .or_else(|| state(&code).map(Self::State))
            .ok_or(UnknownRegion)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// The group and the code of a country.
fn country_of(code: &str) -> Option<(&'static str, &'static str)> {
    GROUPS
        .iter()
        .find_map(|(group, codes)| Some((*group, words(codes).find(|it| *it == code)?)))
}

/// The code of a state, with its country.
fn state(code: &str) -> Option<&'static str> {
    let (country, _) = code.split_once('-')?;
    let (_, codes) = STATES.iter().find(|(known, _)| *known == country)?;
    words(codes).find(|known| *known == code)
}

fn words(codes: &'static str) -> impl Iterator<Item = &'static str> {
    codes.split(' ')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn chain(code: &str) -> Vec<&'static str> {
        let region: Region = code.parse().unwrap();
        region.chain().map(Region::code).collect()
    }

    #[test]
    fn s78_every_region_leads_to_the_world() {
        assert_eq!(chain("us-ca"), ["US-CA", "US", "GEO-NA", "WORLD"]);
        assert_eq!(chain("CA"), ["CA", "GEO-NA", "WORLD"]);
        assert_eq!(chain("au-qld"), ["AU-QLD", "AU", "GEO-AP", "WORLD"]);
        assert_eq!(chain("ie"), ["IE", "GEO-EU", "WORLD"]);
        assert_eq!(chain("Geo-Me"), ["GEO-ME", "WORLD"]);
        assert_eq!(chain("world"), ["WORLD"]);
        for code in Region::codes() {
            assert_eq!(chain(code).last(), Some(&"WORLD"), "{code}");
        }
    }

    #[test]
    fn codes_are_unique_and_as_many_as_published() {
        let codes: Vec<_> = Region::codes().collect();
        let unique: BTreeSet<_> = codes.iter().collect();
        assert_eq!(unique.len(), codes.len());
        let count = |what: fn(&Region) -> bool| {
            let regions = codes.iter().map(|code| code.parse().unwrap());
            regions.filter(what).count()
        };
        assert_eq!(count(|it| matches!(it, Region::Group(_))), 8);
        assert_eq!(count(|it| matches!(it, Region::State(_))), 51 + 13 + 8);
        assert_eq!(count(|it| matches!(it, Region::Country(_))), 251);
    }

    #[test]
    fn t76_the_groups_are_those_of_the_hierarchy() {
        for (country, group) in [
            ("TR", "GEO-ME"),
            ("IL", "GEO-ME"),
            ("RU", "GEO-EU"),
            ("CY", "GEO-EU"),
            ("GE", "GEO-AS"),
            ("KZ", "GEO-AS"),
            ("EG", "GEO-AF"),
            ("XK", "GEO-EU"),
            ("XE", "GEO-NA"),
            ("XJ", "GEO-EU"),
        ] {
            assert_eq!(chain(country)[1], group, "{country}");
        }
    }

    #[test]
    fn codes_of_a_database() {
        for (country, subdivision, region) in [
            ("US", Some("CA"), "US-CA"),
            ("us", Some("dc"), "US-DC"),
            ("US", Some("PR"), "US"),
            ("US", None, "US"),
            ("IE", Some("L"), "IE"),
            ("CA", Some("AB"), "CA-AB"),
            ("AU", Some("ACT"), "AU-ACT"),
            ("BQ", Some("SE"), "XE"),
            ("BQ", Some("SA"), "XS"),
            ("BQ", Some("BO"), "BQ"),
            ("BQ", None, "BQ"),
            ("SJ", Some("22"), "XJ"),
            ("SJ", Some("21"), "SJ"),
            ("NO", Some("22"), "XJ"),
            ("NO", Some("21"), "SJ"),
            ("NO", Some("03"), "NO"),
            ("CG", None, "WORLD"),
            ("EH", None, "WORLD"),
            ("ZZ", Some("CA"), "WORLD"),
            ("", None, "WORLD"),
        ] {
            assert_eq!(Region::of(country, subdivision).code(), region, "{country}");
        }
        assert!(Region::is_country("cg") && Region::is_country("IE"));
        assert!(!Region::is_country("ZZ") && !Region::is_country("US-CA"));
    }

    #[test]
    fn what_is_no_code_and_what_was_meant() {
        for (code, meant) in [
            ("UK", Some("GB")),
            ("eu", Some("GEO-EU")),
            ("ME", Some("GEO-ME")),
            ("QLD", Some("AU-QLD")),
            ("Europe", None),
            ("US-XX", None),
            ("IE-L", None),
            ("CG", None),
            ("", None),
        ] {
            if code != "ME" {
                assert_eq!(code.parse::<Region>(), Err(UnknownRegion), "{code}");
            }
            assert_eq!(Region::meant_by(code), meant, "{code}");
        }
    }

    #[test]
    fn continents_of_countries() {
        for (country, continent) in [
            ("ie", Some("EU")),
            ("US", Some("NA")),
            ("TR", Some("AS")),
            ("AU", Some("OC")),
            ("BR", Some("SA")),
            ("ZM", Some("AF")),
            ("AQ", Some("AN")),
            ("CG", None),
            ("-", None),
        ] {
            assert_eq!(Region::continent_of(country), continent, "{country}");
        }
    }
}
