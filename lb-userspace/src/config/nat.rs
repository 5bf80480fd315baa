use std::ops::RangeInclusive;

use toml::Value;

use super::{
    edge::{FEWEST_PINS, LARGEST_TABLE},
    leaf::{self, shown},
    raw::Table,
    report::Wrong,
};
use crate::{model::Nat, refusal};

/// Reads what `[edge]` says of `full-nat` backends.
pub(super) fn read(edge: &mut Table<'_>) -> Nat {
    let sources = match edge.has("nat_source") {
        true => edge.list("nat_source", leaf::address).unwrap_or_default(),
        false => Vec::new(),
    };
    let twice = |is_v4: bool| sources.iter().filter(|it| it.is_ipv4() == is_v4).count() > 1;
    if twice(true) || twice(false) {
        edge.wrong("nat_source", refusal::value::several_nat_sources());
    }
    let entries = leaf::within(FEWEST_PINS..=LARGEST_TABLE);
    Nat {
        sources,
        ports: edge.or("nat_ports", 61_000..=u16::MAX, ports),
        entries: edge.or("nat_entries", 1 << 16, entries),
    }
}

/// The first and the last of some ports.
fn ports(value: &Value) -> Result<RangeInclusive<u16>, Wrong> {
    const WANTED: &str =
        "the first and the last of at least 64 ports from 1024 on, like \"61000-65535\"";
    let text = leaf::text(value, WANTED)?;
    let bad = || refusal::value::bad_ports(shown(text), WANTED);
    let (first, last) = text.split_once('-').ok_or_else(bad)?;
    let port = |text: &str| text.trim().parse::<u16>().map_err(|_no_port| bad());
    let (first, last) = (port(first)?, port(last)?);
    match first >= 1024 && first <= last && last - first >= 63 {
        true => Ok(first..=last),
        false => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{mistakes, with};

    fn key(line: &str) -> Vec<String> {
        mistakes(&with("[edge]", &format!("[edge]\n{line}")))
    }

    #[test]
    fn bad_places_for_translated_flows_to_come_from() {
        const MEND: &str =
            "use the first and the last of at least 64 ports from 1024 on, like \"61000-65535\"";
        for bad in [
            "",
            "61000",
            "61000-",
            "-61000",
            "61000-65536",
            "65535-61000",
            "61000-61062",
            "1023-2000",
            "a-b",
            "1-2-3",
        ] {
            let expected =
                format!("edge.nat_ports: \"{bad}\" is no range of ports for that; {MEND}");
            assert_eq!(key(&format!("nat_ports = \"{bad}\"")), [expected]);
        }
        assert_eq!(
            key("nat_ports = 61000"),
            [format!("edge.nat_ports: 61000 is an integer; {MEND}")]
        );
        for (bad, wrong) in [
            (
                "\"10.0.0.7\", \"10.0.0.8\"",
                ": has several addresses of one family; leave one of each",
            ),
            (
                "\"127.0.0.1\"",
                "[0]: 127.0.0.1 is a loopback address; use the address of one host",
            ),
        ] {
            let expected = format!("edge.nat_source{wrong}");
            assert_eq!(key(&format!("nat_source = [{bad}]")), [expected]);
        }
        for good in [
            "nat_ports = \"61000-61063\"",
            "nat_ports = \"1024-65535\"",
            "nat_source = [\"10.0.0.7\", \"2001:db8::7\"]",
        ] {
            assert_eq!(key(good), [""; 0]);
        }
    }
}
