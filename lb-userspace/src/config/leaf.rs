//! Readers of single values. Each takes a TOML value and says what is wrong with it, if anything.

use std::{net::IpAddr, ops::RangeInclusive, path::PathBuf, time::Duration};

use toml::Value;

use super::report::Wrong;
use crate::{model::Name, refusal};

/// A string. `wanted` says what it should be.
pub(super) fn text<'v>(value: &'v Value, wanted: &str) -> Result<&'v str, Wrong> {
    value.as_str().ok_or_else(|| kind(value, wanted))
}

/// `true` or `false`.
pub(super) fn truth(value: &Value) -> Result<bool, Wrong> {
    value.as_bool().ok_or_else(|| kind(value, "true or false"))
}

/// An integer. `wanted` says which.
pub(super) fn integer(value: &Value, wanted: &str) -> Result<i64, Wrong> {
    value.as_integer().ok_or_else(|| kind(value, wanted))
}

/// An integer in `range`.
pub(super) fn within<T>(range: RangeInclusive<T>) -> impl Fn(&Value) -> Result<T, Wrong>
where
    T: TryFrom<i64> + PartialOrd + std::fmt::Display,
{
    move |value| {
        let wanted = format!("{} to {}", range.start(), range.end());
        let number = integer(value, &wanted)?;
        T::try_from(number)
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| refusal::value::out_of_range(number, &wanted))
    }
}

/// A TCP or UDP port.
pub(super) fn port(value: &Value) -> Result<u16, Wrong> {
    within(1..=u16::MAX)(value)
}

/// A word of a fixed list, and what stands for it.
pub(super) fn one_of<T: Clone>(words: &[(&str, T)]) -> impl Fn(&Value) -> Result<T, Wrong> {
    move |value| {
        let list: Vec<_> = words.iter().map(|(word, _)| shown(word)).collect();
        let wanted = list.join(" or ");
        let text = text(value, &wanted)?;
        let known = words.iter().find(|(word, _)| *word == text);
        known
            .map(|(_, meaning)| meaning.clone())
            .ok_or_else(|| refusal::value::unknown_word(shown(text), wanted))
    }
}

/// A [`Name`].
pub(super) fn name(value: &Value) -> Result<Name, Wrong> {
    name_of(text(value, NAME)?)
}

/// `text` as a [`Name`].
pub(super) fn name_of(text: &str) -> Result<Name, Wrong> {
    text.parse()
        .map_err(|rule| refusal::value::bad_name(shown(text), rule))
}

const NAME: &str = "a name of 1 to 63 letters, digits, `.`, `_` or `-`";

/// An IP address that can be one host's own and seen by others.
pub(super) fn address(value: &Value) -> Result<IpAddr, Wrong> {
    const WANTED: &str = "an IP address like \"192.0.2.1\" or \"2001:db8::1\"";
    let text = text(value, WANTED)?;
    let address = text.parse::<IpAddr>().map_err(|_no_address| {
        decorated(text).unwrap_or_else(|| refusal::value::bad_address(shown(text), WANTED))
    })?;
    if let IpAddr::V6(v6) = address
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        return Err(refusal::value::mapped_address(address, v4));
    }
    match not_of_one_host(address) {
        None => Ok(address),
        Some((what, mend)) => Err(refusal::value::unusable_address(address, what, mend)),
    }
}

/// What is wrong with an address that has something around it which belongs elsewhere.
fn decorated(text: &str) -> Option<Wrong> {
    let (what, bare) = if let Some((address, zone)) = text.split_once('%') {
        (!zone.is_empty()).then_some(("names an interface", address))?
    } else if let Some((address, bits)) = text.split_once('/') {
        bits.parse::<u8>().ok()?;
        ("has a prefix length", address)
    } else {
        ("is in brackets", text.strip_prefix('[')?.strip_suffix(']')?)
    };
    let bare: IpAddr = bare.parse().ok()?;
    let mend = match bare {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => LINK_LOCAL_MEND.to_owned(),
        _ => format!("use \"{bare}\""),
    };
    Some(refusal::value::decorated_address(shown(text), what, mend))
}

const LINK_LOCAL_MEND: &str = "use a global or unique local address of that host";

/// Why an address is not one host's own and seen by others, if it is not, and what to do.
fn not_of_one_host(address: IpAddr) -> Option<(&'static str, &'static str)> {
    let what = match address {
        _ if address.is_unspecified() => "the unspecified address",
        _ if address.is_multicast() => "a multicast address",
        _ if address.is_loopback() => "a loopback address",
        IpAddr::V4(v4) if v4.is_broadcast() => "the broadcast address",
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            return Some(("a link-local address", LINK_LOCAL_MEND));
        }
        _ => return None,
    };
    Some((what, "use the address of one host"))
}

/// A duration in `range`, written with its unit.
pub(super) fn duration(
    range: RangeInclusive<Duration>,
) -> impl Fn(&Value) -> Result<Duration, Wrong> {
    // A sum next to 2^64 seconds makes humantime panic; it takes more letters than this.
    const LONGEST: usize = 20;
    const WANTED: &str = "a number with a unit, like \"10s\" or \"250ms\"";
    move |value| {
        let text = match value {
            Value::Integer(_) | Value::Float(_) => {
                return Err(refusal::value::missing_unit(value));
            }
            _ => text(value, WANTED)?,
        };
        let short = Some(text).filter(|text| text.len() <= LONGEST);
        let Some(duration) = short.and_then(|text| humantime::parse_duration(text).ok()) else {
            return Err(refusal::value::bad_duration(shown(text)));
        };
        if range.contains(&duration) {
            return Ok(duration);
        }
        let [low, high] = [range.start(), range.end()].map(|end| humantime::format_duration(*end));
        Err(refusal::value::out_of_range(
            text,
            format!("{low} to {high}"),
        ))
    }
}

/// An absolute path.
pub(super) fn path(value: &Value) -> Result<PathBuf, Wrong> {
    let text = text(value, "a path that begins with `/`")?;
    if text.starts_with('/') && !text.contains(char::is_control) {
        Ok(text.into())
    } else {
        Err(refusal::value::relative_path(shown(text)))
    }
}

/// A value of another type than the one that is wanted.
pub(super) fn kind(value: &Value, wanted: &str) -> Wrong {
    let found = match value {
        Value::Array(_) => "is an array".to_owned(),
        Value::Table(_) => "is a table".to_owned(),
        Value::Boolean(truth) => format!("{truth} is a boolean"),
        Value::Datetime(date) => format!("{date} is a date"),
        Value::Float(number) => format!("{number:?} is a float"),
        Value::Integer(number) => format!("{number} is an integer"),
        Value::String(text) => format!("{} is a string", shown(text)),
    };
    refusal::file::wrong_type(found, wanted)
}

/// `text` in quotes, safe to print, cut where it is long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}..", &text[..end]),
        None => format!("{text:?}"),
    }
}
