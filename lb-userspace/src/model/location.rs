//! Where something is, in the words of NetScaler GSLB: up to six qualifiers, most general first
//! (D71 of the routing rules).

use std::{
    fmt,
    hash::{Hash, Hasher},
    iter::Peekable,
    str::{Chars, FromStr},
    sync::Arc,
};

/// One part of a location, like `Europe` or `San Jose`: not empty, without control characters. It is
/// compared without regard to case (R13) and shown as it was written.
#[derive(Clone, Debug)]
pub struct Qualifier {
    written: Box<str>,
    folded: Box<str>,
}

impl Qualifier {
    /// The qualifier of this text; none if the text is blank or has control characters.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && !text.contains(char::is_control);
        fits.then(|| Self {
            written: text.into(),
            folded: text.to_lowercase().into(),
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl PartialEq for Qualifier {
    fn eq(&self, other: &Self) -> bool {
        self.folded == other.folded
    }
}

impl Eq for Qualifier {}

impl Hash for Qualifier {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded.hash(state);
    }
}

impl fmt::Display for Qualifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.written {
            plain if plain != "*" && !plain.contains(['.', '"']) => f.write_str(plain),
            other => write!(f, "\"{}\"", other.replace('"', "\"\"")),
        }
    }
}

/// Qualifiers in dotted notation. One that is left out is `*`; those at the end are not kept, so that
/// `Europe.UK` and `Europe.UK.*.*` are the same.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Qualifiers(Arc<[Option<Qualifier>]>);

impl Qualifiers {
    fn new(mut qualifiers: Vec<Option<Qualifier>>) -> Self {
        while qualifiers.pop_if(|last| last.is_none()).is_some() {}
        Self(qualifiers.into())
    }

    /// The qualifiers that are given, each with its place.
    fn given(&self) -> impl Iterator<Item = (usize, &Qualifier)> {
        let places = self.0.iter().enumerate();
        places.filter_map(|(place, qualifier)| Some((place, qualifier.as_ref()?)))
    }

    fn at(&self, place: usize) -> Option<&Qualifier> {
        self.0.get(place)?.as_ref()
    }
}

impl FromStr for Qualifiers {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        let mut qualifiers = Vec::new();
        let mut letters = text.chars().peekable();
        loop {
            qualifiers.push(next_qualifier(&mut letters)?);
            match letters.next() {
                None => break,
                Some('.') => {}
                Some(_) => return Err(InvalidLocation::StrayQuote),
            }
        }
        if qualifiers.len() > Location::MOST_QUALIFIERS {
            return Err(InvalidLocation::TooMany(qualifiers.len()));
        }
        Ok(Self::new(qualifiers))
    }
}

impl fmt::Display for Qualifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("*");
        }
        for (place, qualifier) in self.0.iter().enumerate() {
            let dot = if place > 0 { "." } else { "" };
            match qualifier {
                Some(qualifier) => write!(f, "{dot}{qualifier}")?,
                None => write!(f, "{dot}*")?,
            }
        }
        Ok(())
    }
}

/// Takes the letters up to the next dot that is not in quotes.
fn next_qualifier(letters: &mut Peekable<Chars<'_>>) -> Result<Option<Qualifier>, InvalidLocation> {
    while letters.next_if(|it| *it == ' ').is_some() {}
    let mut text = String::new();
    let quoted = letters.next_if_eq(&'"').is_some();
    if quoted {
        loop {
            match letters.next().ok_or(InvalidLocation::OpenQuote)? {
                '"' if letters.next_if_eq(&'"').is_none() => break,
                letter => text.push(letter),
            }
        }
        while letters.next_if_eq(&' ').is_some() {}
    } else {
        while let Some(letter) = letters.next_if(|it| *it != '.') {
            text.push(letter);
        }
        if text.contains('"') {
            return Err(InvalidLocation::StrayQuote);
        }
    }
    if text.trim() == "*" && !quoted {
        return Ok(None);
    }
    let qualifier = Qualifier::new(&text).ok_or_else(|| match text.contains(char::is_control) {
        true => InvalidLocation::ControlCharacter,
        false => InvalidLocation::Empty,
    })?;
    Ok(Some(qualifier))
}

/// Why a text is no location and no pattern of locations.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidLocation {
    /// A letter that can not be printed.
    #[error("has a control character")]
    ControlCharacter,
    /// Nothing stands before, between or after dots.
    #[error("has an empty qualifier")]
    Empty,
    /// A quote that does not end.
    #[error("has a quote that does not end")]
    OpenQuote,
    /// A quote does not stand around a whole qualifier.
    #[error("has a quote within a qualifier")]
    StrayQuote,
    /// More than there are kinds of qualifiers.
    #[error("has {0} qualifiers")]
    TooMany(usize),
}

/// Where a client, a backend or an edge is: continent, country, region, city, ISP and organisation, as
/// far as they are known, like `NA.US.CA.San Jose` (D71). A qualifier with a dot in it is put in double
/// quotes; one that is not known is `*`, or left out at the end.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Location(Qualifiers);

impl Location {
    /// Continent, country, region, city, ISP, organisation.
    pub const MOST_QUALIFIERS: usize = 6;

    /// The location with these qualifiers, in the order of D71.
    pub fn new(qualifiers: [Option<Qualifier>; Self::MOST_QUALIFIERS]) -> Self {
        Self(Qualifiers::new(qualifiers.into()))
    }

    /// The qualifiers, as far as they are known.
    pub fn qualifiers(&self) -> impl Iterator<Item = Option<&Qualifier>> {
        self.0.0.iter().map(Option::as_ref)
    }

    /// Whether no qualifier is known.
    pub fn is_unknown(&self) -> bool {
        self.0.0.is_empty()
    }

    /// How near two locations are for static proximity: the number of leading qualifiers that are
    /// equal (R8). 0 is no match (D76); a qualifier that is not known equals none.
    pub fn depth(&self, other: &Self) -> usize {
        let pairs = self.0.0.iter().zip(other.0.0.iter());
        pairs
            .take_while(|(one, other)| one.is_some() && one == other)
            .count()
    }
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which locations are meant: `*.UK` is every location whose second qualifier is `UK`. A qualifier that
/// is `*`, or left out at the end, may be anything; the others are literal.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LocationPattern(Qualifiers);

impl LocationPattern {
    /// How much of the pattern a location has.
    pub fn fit(&self, location: &Location) -> Fit {
        let equal = |(place, literal)| location.0.at(place) == Some(literal);
        let literals = self.0.given().count();
        match self.0.given().filter(|literal| equal(*literal)).count() {
            all if all == literals => Fit::Perfect,
            0 => Fit::None,
            _ => Fit::Partial,
        }
    }

    /// Whether every literal qualifier equals the one in the same place of the location: what
    /// `MATCHES_LOCATION` says of a client (S101). A qualifier that the location does not tell equals
    /// no literal (D77, `Expression`).
    pub fn matches(&self, location: &Location) -> bool {
        self.fit(location) == Fit::Perfect
    }
}

impl FromStr for LocationPattern {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        text.parse().map(Self)
    }
}

impl fmt::Display for LocationPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How much of a [`LocationPattern`] a location has.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fit {
    /// Nothing, or the pattern has literal qualifiers and none is equal.
    None,
    /// Some of several literal qualifiers, whichever (S104; whether they must be the leading ones is
    /// open, and this is the literal reading). A pattern with one literal has no partial fit.
    Partial,
    /// Every literal qualifier (S103).
    Perfect,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        text.parse().unwrap()
    }

    fn fit(pattern: &str, place: &str) -> Fit {
        let pattern: LocationPattern = pattern.parse().unwrap();
        assert_eq!(
            pattern.matches(&location(place)),
            pattern.fit(&location(place)) == Fit::Perfect
        );
        pattern.fit(&location(place))
    }

    #[test]
    fn locations_are_shown_as_they_were_written() {
        for (text, shown) in [
            ("Europe.UK", "Europe.UK"),
            (
                "NA.US.CA.San Jose.ATT.citrix",
                "NA.US.CA.San Jose.ATT.citrix",
            ),
            ("NA.US.CA.\"San Jose\"", "NA.US.CA.San Jose"),
            (" Europe . UK ", "Europe.UK"),
            ("Europe.*.*", "Europe"),
            ("*.ZMB.*.*", "*.ZMB"),
            ("*", "*"),
            ("*.*", "*"),
            (
                "\"St. John's\".\"a \"\"b\"\"\".\"*\"",
                "\"St. John's\".\"a \"\"b\"\"\".\"*\"",
            ),
        ] {
            let location = location(text);
            assert_eq!(location.to_string(), shown);
            assert_eq!(location.to_string().parse(), Ok(location), "{text}");
        }
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(location("ASIA.hk"), location("Asia.HK"));
        assert_ne!(location("Asia.HK"), location("Asia.HKG"));
        assert_eq!(location("ÖSTERREICH"), location("österreich"));
        assert_eq!(fit("europe.uk", "EUROPE.UK.London"), Fit::Perfect);
    }

    #[test]
    fn what_is_no_location() {
        use InvalidLocation::*;
        for (text, why) in [
            ("", Empty),
            ("  ", Empty),
            ("Europe.", Empty),
            (".UK", Empty),
            ("Europe..London", Empty),
            ("Europe.\"\"", Empty),
            ("a.b.c.d.e.f.g", TooMany(7)),
            ("*.*.*.*.*.*.*", TooMany(7)),
            ("Europe.\"UK", OpenQuote),
            ("Europe.\"UK\"x", StrayQuote),
            ("Europe.U\"K\"", StrayQuote),
            ("Europe.U\nK", ControlCharacter),
        ] {
            assert_eq!(text.parse::<Location>(), Err(why), "{text:?}");
            assert_eq!(text.parse::<LocationPattern>(), Err(why), "{text:?}");
        }
    }

    #[test]
    fn s103_a_perfect_match_has_every_literal() {
        for place in ["*.UK", "*.UK.*.*", "Europe.UK.*.*", "Europe.UK.London"] {
            assert_eq!(fit("*.UK.*.*", place), Fit::Perfect, "{place}");
        }
        assert_eq!(fit("Europe.UK", "Europe.UK"), Fit::Perfect);
        assert_eq!(fit("*", "*"), Fit::Perfect, "no literal, nothing to miss");
    }

    #[test]
    fn s104_a_partial_match_has_some_of_the_literals() {
        assert_eq!(fit("Europe.UK", "Europe.EG"), Fit::Partial);
        assert_eq!(fit("Asia.HK", "Asia.IN"), Fit::Partial);
        assert_eq!(fit("Asia.HK", "Africa.HK"), Fit::Partial, "any of them");
        assert_eq!(fit("Asia.HK", "Europe.UK"), Fit::None);
        assert_eq!(fit("Asia.HK", "*"), Fit::None);
    }

    #[test]
    fn t135_one_literal_can_not_match_partially() {
        for place in ["Europe.RU", "Asia.HK", "Europe.UKR", "*"] {
            assert_eq!(fit("*.UK", place), Fit::None, "{place}");
        }
    }

    #[test]
    fn s101_a_rule_looks_at_its_literals_only() {
        assert_eq!(fit("*.ZMB.*.*", "Africa.ZMB"), Fit::Perfect);
        assert_eq!(fit("*.ZMB.*.*", "*.ZMB.Lusaka"), Fit::Perfect);
        assert_eq!(fit("*.ZMB.*.*", "Europe.FR"), Fit::None);
        // D77: what is not known of the client does not equal a literal.
        assert_eq!(fit("Africa.ZMB", "*.ZMB"), Fit::Partial);
        assert_eq!(fit("*.ZMB", "Africa"), Fit::None);
    }

    #[test]
    fn static_proximity_counts_leading_qualifiers() {
        for (one, other, depth) in [
            ("Europe.UK.London", "Europe.UK", 2),
            ("Europe.UK.London", "Europe.RU", 1),
            ("Africa.ZA", "Europe.UK", 0),
            ("Africa.UK", "Europe.UK", 0),
            ("*.UK", "Europe.UK", 0),
            ("*.UK", "*.UK", 0),
            ("*", "Europe.UK", 0),
            ("Europe.*.London", "Europe.UK.London", 1),
        ] {
            let [one, other] = [location(one), location(other)];
            assert_eq!(one.depth(&other), depth, "{one} {other}");
            assert_eq!(other.depth(&one), depth, "{one} {other}");
        }
    }
}
