//! Which clients a rule speaks of.

use std::net::IpAddr;

use toml::Value;

use super::{
    leaf::{self, shown},
    report::Wrong,
};
use crate::{
    model::{Clients, Prefix},
    refusal,
};

/// A prefix like "198.51.100.0/24", a range like "192.0.2.0-192.0.2.9", or one address.
pub(super) fn clients(value: &Value) -> Result<Clients, Wrong> {
    clients_of(leaf::text(value, WANTED)?)
}

/// The same of a text.
pub(super) fn clients_of(text: &str) -> Result<Clients, Wrong> {
    if let Some((address, length)) = text.split_once('/') {
        prefix(text, address, length).map(Clients::from)
    } else if let Some((first, last)) = text.split_once('-') {
        range(text, first, last)
    } else {
        let address = address(text, text)?;
        Clients::new(address, address).ok_or_else(|| no_clients(text))
    }
}

const WANTED: &str =
    "a prefix like \"198.51.100.0/24\", a range like \"192.0.2.0-192.0.2.9\", or one address";

/// The prefix that `text` has, whose parts stand before and behind the slash.
pub(super) fn prefix(text: &str, address: &str, length: &str) -> Result<Prefix, Wrong> {
    let network: IpAddr = address.parse().map_err(|_no_address| no_clients(text))?;
    let digits = length.bytes().all(|b| b.is_ascii_digit());
    let length = length.parse().ok().filter(|_| digits);
    let length: u8 = length.ok_or_else(|| no_clients(text))?;
    let Some(prefix) = Prefix::around(network, length) else {
        let most = if network.is_ipv4() { 32 } else { 128 };
        let wanted = format!("a length of 0 to {most}");
        return Err(refusal::value::out_of_range(shown(text), &wanted));
    };
    if let (IpAddr::V4(v4), 96..) = (network.to_canonical(), length)
        && network.is_ipv6()
    {
        return Err(is_mapped(text, format!("{v4}/{}", length - 96)));
    }
    if prefix.first() != network {
        return Err(refusal::service::host_bits(shown(text), prefix));
    }
    Ok(prefix)
}

fn range(text: &str, first: &str, last: &str) -> Result<Clients, Wrong> {
    range_of(text, address(text, first)?, address(text, last)?)
}

/// The addresses from `first` to `last`, as `text` has them.
pub(super) fn range_of(text: &str, first: IpAddr, last: IpAddr) -> Result<Clients, Wrong> {
    if first.is_ipv4() != last.is_ipv4() {
        return Err(refusal::service::mixed_range(shown(text)));
    }
    Clients::new(first, last).ok_or_else(|| {
        let instead = format!("{last}-{first}");
        refusal::service::reversed_range(shown(text), instead)
    })
}

/// An address in `text`.
fn address(text: &str, address: &str) -> Result<IpAddr, Wrong> {
    let address: IpAddr = address.parse().map_err(|_no_address| no_clients(text))?;
    match address.to_canonical() {
        IpAddr::V4(v4) if address.is_ipv6() => Err(is_mapped(text, v4.to_string())),
        _ => Ok(address),
    }
}

fn no_clients(text: &str) -> Wrong {
    refusal::service::bad_clients(shown(text), WANTED)
}

fn is_mapped(text: &str, instead: String) -> Wrong {
    refusal::service::mapped_clients(shown(text), instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        match clients(&Value::String(text.to_owned())) {
            Ok(clients) => Ok(clients.to_string()),
            Err(wrong) => Err(wrong.at("x").to_string().split_off(3)),
        }
    }

    #[test]
    fn prefixes_ranges_and_addresses() {
        for (text, expected) in [
            ("198.51.100.0/24", "198.51.100.0/24"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("2001:db8::1", "2001:db8::1/128"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("192.0.2.0-192.0.2.255", "192.0.2.0/24"),
            ("1.2.3.4-5.6.7.8", "1.2.3.4-5.6.7.8"),
            ("::1-::2", "::1-::2"),
        ] {
            assert_eq!(read(text), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn bad_clients() {
        let use_what = format!("use {WANTED}");
        let rubbish = |text: &str| format!("{text:?} is no prefix, range or address; {use_what}");
        for (text, expected) in [
            (
                "10.0.0.1/8",
                "\"10.0.0.1/8\" has bits beyond its length; use \"10.0.0.0/8\"",
            ),
            (
                "2001:db8::1/32",
                "\"2001:db8::1/32\" has bits beyond its length; use \"2001:db8::/32\"",
            ),
            (
                "10.0.0.0/33",
                "\"10.0.0.0/33\" is out of range; use a length of 0 to 32",
            ),
            (
                "::/129",
                "\"::/129\" is out of range; use a length of 0 to 128",
            ),
            (
                "10.0.0.9-10.0.0.1",
                "\"10.0.0.9-10.0.0.1\" ends before it begins; use \"10.0.0.1-10.0.0.9\"",
            ),
            (
                "10.0.0.1-::1",
                "\"10.0.0.1-::1\" mixes IPv4 and IPv6; use two addresses of the same family",
            ),
            (
                "::ffff:10.0.0.0/104",
                "\"::ffff:10.0.0.0/104\" is IPv4 written as IPv6; write it as \"10.0.0.0/8\"",
            ),
            (
                "::ffff:10.0.0.1",
                "\"::ffff:10.0.0.1\" is IPv4 written as IPv6; write it as \"10.0.0.1\"",
            ),
            (
                "::1-::ffff:10.0.0.1",
                "\"::1-::ffff:10.0.0.1\" is IPv4 written as IPv6; write it as \"10.0.0.1\"",
            ),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()));
        }
        for text in [
            "",
            "x",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "/8",
            "-",
            "1.2.3.4-",
            "10.0.0.0/8/9",
            "10.0.0.0/256",
            "fe80::1%eth0",
        ] {
            assert_eq!(read(text), Err(rubbish(text)));
        }
        assert!(clients(&Value::Integer(10)).is_err());
    }
}
