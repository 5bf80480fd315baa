use toml::Value;

use super::{
    clients,
    leaf::{self, shown},
    raw::Table,
    report::Wrong,
};
use crate::{
    model::{Prefix, Tunnels},
    refusal,
};

/// Reads what `[edge]` says of tunnels.
pub(super) fn read(edge: &mut Table<'_>) -> Tunnels {
    let sources = match edge.has("tunnel_sources") {
        true => edge.list("tunnel_sources", source).unwrap_or_default(),
        false => Vec::new(),
    };
    let of_v4 = |it: &&Prefix| it.first().is_ipv4();
    let v4 = sources.iter().filter(of_v4).count();
    if v4 > 1 || sources.len() - v4 > 1 {
        edge.wrong("tunnel_sources", refusal::value::several_tunnel_sources());
    }
    Tunnels {
        are_hops: edge.or("tunnel_hop", true, leaf::truth),
        have_checksums: edge.or("tunnel_checksum", false, leaf::truth),
        sources,
    }
}

/// A prefix whose addresses differ in sixteen bits at most.
fn source(value: &Value) -> Result<Prefix, Wrong> {
    const WANTED: &str = "a prefix like \"10.200.0.0/16\" or \"fd00::/112\", or a longer one";
    let text = leaf::text(value, WANTED)?;
    let bad = || refusal::value::bad_prefix(shown(text), WANTED);
    let (address, length) = text.split_once('/').ok_or_else(bad)?;
    let prefix = clients::prefix(text, address, length)?;
    let shortest = if prefix.first().is_ipv4() { 16 } else { 112 };
    match prefix.length() >= shortest {
        true => Ok(prefix),
        false => Err(refusal::value::out_of_range(prefix, WANTED)),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{
        parse,
        tests::{mistakes, with},
    };

    fn edge(line: &str) -> String {
        with("[edge]", &format!("[edge]\n{line}"))
    }

    #[test]
    fn bad_places_for_tunnels_to_come_from() {
        const MEND: &str = "use a prefix like \"10.200.0.0/16\" or \"fd00::/112\", or a longer one";
        for (sources, wrong) in [
            (
                "\"10.0.0.0/15\"",
                format!("[0]: 10.0.0.0/15 is out of range; {MEND}"),
            ),
            (
                "\"fd00::/111\"",
                format!("[0]: fd00::/111 is out of range; {MEND}"),
            ),
            (
                "\"10.0.0.1\"",
                format!("[0]: \"10.0.0.1\" is no prefix; {MEND}"),
            ),
            (
                "\"tunnel\"",
                format!("[0]: \"tunnel\" is no prefix; {MEND}"),
            ),
            (
                "\"10.0.0.1/16\"",
                "[0]: \"10.0.0.1/16\" has bits beyond its length; use \"10.0.0.0/16\"".to_owned(),
            ),
            (
                "\"10.0.0.0/24\", \"10.1.0.0/24\"",
                ": has several prefixes of one family; leave one of each".to_owned(),
            ),
        ] {
            let expected = format!("edge.tunnel_sources{wrong}");
            assert_eq!(
                mistakes(&edge(&format!("tunnel_sources = [{sources}]"))),
                [expected]
            );
        }
        for key in ["tunnel_hop", "tunnel_checksum"] {
            let wrong = format!("edge.{key}: 1 is an integer; use true or false");
            assert_eq!(mistakes(&edge(&format!("{key} = 1"))), [wrong]);
        }
    }

    #[test]
    fn tunnels_come_from_a_part_of_the_addresses_or_from_the_edge_s_own() {
        let tunnels = |line: &str| parse(&edge(line)).unwrap().model.edge.tunnels;
        let [v4, v6] = ["10.0.0.9", "fd00::9"].map(|it| it.parse().unwrap());
        let own = tunnels("tunnel_hop = false");
        assert!(!own.have_checksums && tunnels("tunnel_checksum = true").have_checksums);
        assert!(!own.are_hops && own.source(v4).is_none() && own.source(v6).is_none());
        assert_eq!(own.more_sources(), [0, 0]);
        let both = tunnels("tunnel_sources = [\"10.200.0.0/16\", \"fd00:1::100/120\"]");
        assert!(both.are_hops);
        assert_eq!(both.source(v4), Some("10.200.0.0".parse().unwrap()));
        assert_eq!(both.source(v6), Some("fd00:1::100".parse().unwrap()));
        assert_eq!(both.more_sources(), [0xffff, 0xff]);
    }
}
