use std::net::IpAddr;

use super::*;

/// A value in a database.
enum Value {
    Text(&'static str),
    Number(u16),
    Wide(u32),
    Long(u64),
    List(Vec<Self>),
    Map(Vec<(&'static str, Self)>),
}

use Value::{List, Long, Map, Number, Text, Wide};

impl Value {
    /// Appends its encoding (the MaxMind DB file format 2.0).
    fn encode(&self, data: &mut Vec<u8>) {
        let control = |data: &mut Vec<u8>, kind: u8, size: usize| {
            assert!(size < 29, "longer ones are encoded otherwise");
            let size = size as u8;
            match kind {
                8.. => data.extend([size, kind - 7]),
                _ => data.push(kind << 5 | size),
            }
        };
        match self {
            Text(text) => {
                control(data, 2, text.len());
                data.extend(text.as_bytes());
            }
            Number(number) => {
                control(data, 5, 2);
                data.extend(number.to_be_bytes());
            }
            Wide(number) => {
                control(data, 6, 4);
                data.extend(number.to_be_bytes());
            }
            Long(number) => {
                control(data, 9, 8);
                data.extend(number.to_be_bytes());
            }
            List(values) => {
                control(data, 11, values.len());
                values.iter().for_each(|it| it.encode(data));
            }
            Map(pairs) => {
                control(data, 7, pairs.len());
                for (key, value) in pairs {
                    Text(key).encode(data);
                    value.encode(data);
                }
            }
        }
    }
}

/// A branch of the tree.
#[derive(Clone, Copy)]
enum Branch {
    Data(usize),
    Node(usize),
    Nothing,
}

/// A database of IPv6 addresses, with those of IPv4 below `::/96`.
fn database(networks: &[(&str, Value)]) -> Vec<u8> {
    let mut nodes = vec![[Branch::Nothing; 2]];
    let mut data = Vec::new();
    for (network, value) in networks {
        let (address, length) = network.split_once('/').unwrap();
        let (bits, length) = match address.parse().unwrap() {
            IpAddr::V4(v4) => (
                u128::from(v4.to_bits()),
                96 + length.parse::<u32>().unwrap(),
            ),
            IpAddr::V6(v6) => (v6.to_bits(), length.parse().unwrap()),
        };
        let mut node = 0;
        for depth in 0..length {
            let bit = (bits >> (127 - depth) & 1) as usize;
            if depth + 1 == length {
                nodes[node][bit] = Branch::Data(data.len());
            } else if let Branch::Node(next) = nodes[node][bit] {
                node = next;
            } else {
                nodes.push([Branch::Nothing; 2]);
                nodes[node][bit] = Branch::Node(nodes.len() - 1);
                node = nodes.len() - 1;
            }
        }
        value.encode(&mut data);
    }
    let mut file = Vec::new();
    for branch in nodes.iter().flatten() {
        let number = match branch {
            Branch::Node(node) => *node,
            Branch::Nothing => nodes.len(),
            Branch::Data(offset) => nodes.len() + 16 + offset,
        };
        file.extend(&(number as u32).to_be_bytes()[1..]);
    }
    file.extend([0; 16]);
    file.extend(data);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    Map(vec![
        ("binary_format_major_version", Number(2)),
        ("binary_format_minor_version", Number(0)),
        ("build_epoch", Long(0)),
        ("database_type", Text("Test")),
        ("description", Map(vec![("en", Text("a test"))])),
        ("ip_version", Number(6)),
        ("languages", List(vec![Text("en")])),
        ("node_count", Wide(nodes.len() as u32)),
        ("record_size", Number(24)),
    ])
    .encode(&mut file);
    file
}

fn named(code: &'static str, iso: &'static str, name: &'static str) -> Value {
    Map(vec![
        (code, Text(iso)),
        (
            "names",
            Map(vec![("de", Text("anders")), ("en", Text(name))]),
        ),
    ])
}

fn example() -> Vec<u8> {
    database(&[
        (
            "192.0.2.0/24",
            Map(vec![
                ("continent", named("code", "NA", "North America")),
                ("country", named("iso_code", "US", "United States")),
                (
                    "subdivisions",
                    List(vec![
                        named("iso_code", "CA", "California"),
                        named("iso_code", "085", "Santa Clara"),
                    ]),
                ),
                (
                    "city",
                    Map(vec![("names", Map(vec![("en", Text("San Jose"))]))]),
                ),
                ("location", Map(vec![("accuracy_radius", Number(5))])),
                (
                    "traits",
                    Map(vec![("isp", Text("ATT")), ("organization", Text("a.b"))]),
                ),
            ]),
        ),
        (
            "198.51.100.0/25",
            Map(vec![(
                "registered_country",
                named("iso_code", "IE", "Ireland"),
            )]),
        ),
        ("203.0.113.0/24", Map(vec![("isp", Text("Some ISP"))])),
        ("203.0.112.0/24", Map(vec![])),
        (
            "2001:db8::/32",
            Map(vec![
                ("country", named("iso_code", "BQ", "Bonaire")),
                (
                    "subdivisions",
                    List(vec![named("iso_code", "SE", "Statia")]),
                ),
            ]),
        ),
    ])
}

#[test]
fn places_of_a_database_become_locations() {
    let table = locations(Path::new("x.mmdb"), &example()).unwrap();
    for (client, location) in [
        ("192.0.2.200", Some("NA.US.California.San Jose.ATT.\"a.b\"")),
        ("198.51.100.127", Some("EU.IE")),
        ("198.51.100.128", None),
        ("203.0.113.1", Some("*.*.*.*.Some ISP")),
        ("203.0.112.1", None),
        ("2001:db8::1", Some("NA.BQ.Statia")),
        (
            "::ffff:192.0.2.7",
            Some("NA.US.California.San Jose.ATT.\"a.b\""),
        ),
    ] {
        let found = table.at(client.parse().unwrap()).map(Location::to_string);
        assert_eq!(found.as_deref(), location, "{client}");
    }
}

#[test]
fn codes_of_a_database_become_regions() {
    let table = regions(Path::new("x.mmdb"), &example()).unwrap();
    for (client, region) in [
        ("192.0.2.200", Some("US-CA")),
        ("198.51.100.1", Some("IE")),
        ("203.0.113.1", None),
        ("2001:db8::1", Some("XE")),
    ] {
        let found = table.at(client.parse().unwrap()).map(|it| it.code());
        assert_eq!(found, region, "{client}");
    }
}

#[test]
fn what_is_no_database_or_was_cut_is_refused_at_every_length() {
    let whole = example();
    let code = |bytes: &[u8]| {
        let wrong = locations(Path::new("x.mmdb"), bytes).unwrap_err();
        assert!(wrong[0].message.starts_with("x.mmdb: "), "{}", wrong[0]);
        wrong[0].code.clone()
    };
    for length in 0..whole.len() {
        assert_eq!(code(&whole[..length]), "broken-mmdb", "{length} bytes");
    }
    assert_eq!(code(b"192.0.2.0,192.0.2.255,EU,IE\n"), "broken-mmdb");
    // Its tree is cut, and the description of it is not.
    let mut short = whole;
    short.drain(..300);
    assert_eq!(code(&short), "broken-mmdb");
    assert_eq!(
        code(&database(&[("192.0.2.0/24", Map(vec![]))])),
        "empty-data"
    );
}

#[test]
fn a_field_of_another_type_is_told() {
    let odd = database(&[("192.0.2.0/24", Map(vec![("country", Text("IE"))]))]);
    let wrong = regions(Path::new("x.mmdb"), &odd).unwrap_err();
    assert_eq!(wrong[0].code, "broken-mmdb");
}
