use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::model::{Clients, Prefix};

fn clients(text: &str) -> Clients {
    let (first, last) = text.split_once('-').unwrap();
    Clients::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
}

fn table(entries: &[(&str, &str)]) -> Table<Location> {
    let entries = entries
        .iter()
        .map(|(range, place)| (clients(range), place.parse().unwrap()));
    Table::new(&entries.collect::<Vec<_>>()).unwrap()
}

fn at<'t>(table: &'t Table<Location>, address: &str) -> Option<&'t Location> {
    table.at(address.parse().unwrap())
}

#[test]
fn t222_t223_custom_entries_are_searched_first_as_a_whole() {
    let file = table(&[("192.0.2.0-192.0.2.255", "Europe.UK")]);
    let custom = table(&[("192.0.2.0-192.0.2.127", "NA.US.CA.San Jose")]);
    let both = custom.over(file.clone());
    let san_jose: Location = "NA.US.CA.San Jose".parse().unwrap();
    let uk: Location = "Europe.UK".parse().unwrap();
    assert_eq!(at(&both, "192.0.2.9"), Some(&san_jose));
    assert_eq!(at(&both, "192.0.2.127"), Some(&san_jose));
    assert_eq!(at(&both, "192.0.2.128"), Some(&uk));
    assert_eq!(at(&both, "192.0.2.200"), Some(&uk), "T222");
    assert_eq!(at(&both, "192.0.3.0"), None);
    // A shorter prefix, and yet it is found first.
    let custom = table(&[("192.0.0.0-192.0.255.255", "NA.US")]);
    let us: Location = "NA.US".parse().unwrap();
    let both = custom.over(file);
    assert_eq!(at(&both, "192.0.2.9"), Some(&us), "T223");
    assert_eq!(both.v4().len(), 3, "the file's entry makes no run");
    assert_eq!(both.entries(), 2);
}

#[test]
fn within_a_table_the_longest_prefix_holds() {
    let table = table(&[
        ("10.0.0.0-10.255.255.255", "NA"),
        ("10.1.0.0-10.1.0.255", "NA.US"),
        ("2001:db8::-2001:db8::ff", "EU"),
    ]);
    let shown = |address: &str| at(&table, address).map(Location::to_string);
    assert_eq!(shown("10.1.0.7").as_deref(), Some("NA.US"));
    assert_eq!(shown("::ffff:10.1.1.0").as_deref(), Some("NA"));
    assert_eq!(shown("2001:db8::7").as_deref(), Some("EU"));
    assert_eq!(shown("2001:db8:1::"), None);
    assert_eq!(table.v4().len(), 5);
    assert_eq!(table.values().len(), 3);
}

#[test]
fn two_entries_for_the_same_addresses_are_told() {
    let entries = [
        (clients("10.0.0.0-10.0.1.9"), 1),
        (clients("::-::1"), 1),
        (clients("10.0.0.0-10.0.0.255"), 2),
        (clients("::-::1"), 1),
    ];
    let twice = Table::new(&entries).unwrap_err();
    let found = |twice: &Twice| (twice.prefix.to_string(), twice.first, twice.again);
    let found: Vec<_> = twice.iter().map(found).collect();
    assert_eq!(
        found,
        [
            ("10.0.0.0/24".to_owned(), 0, 2),
            ("::/127".to_owned(), 1, 3)
        ]
    );
}

#[test]
fn nothing_is_known_without_files() {
    let nothing = Whereabouts::default();
    let client = "192.0.2.1".parse().unwrap();
    assert_eq!(nothing.region(client), Region::World);
    assert_eq!(nothing.location(client), None);
    assert_eq!(nothing.latency(client), None);
    assert_eq!(nothing.regions().v4(), [(0, 0)]);
    assert_eq!(nothing.latencies().v6(), [(0, 0)]);
}

#[test]
fn whereabouts_are_the_same_by_content() {
    let made_of = |digest: u8, path: &str| {
        let file = DataFile {
            key: "latency.files[0]".to_owned(),
            path: path.into(),
            stamp: None,
        };
        Whereabouts::new(
            Table::default(),
            Table::default(),
            Table::default(),
            vec![file],
            [digest; 32],
        )
    };
    assert_eq!(made_of(1, "/a"), made_of(1, "/b"));
    assert_ne!(made_of(1, "/a"), made_of(2, "/a"));
}

#[test]
fn regions_of_latency_tables_are_compared_without_case() {
    let region = |name| LatencyRegion::new(name).unwrap();
    assert_eq!(region(" WestEurope "), region("westeurope"));
    assert_eq!(region("WestEurope").to_string(), "westeurope");
    assert_eq!(LatencyRegion::new(" "), None);
    assert_eq!(LatencyRegion::new("a\nb"), None);
}

/// Prefixes of a few addresses, so that they hold each other often.
fn prefixes() -> impl Strategy<Value = Vec<(Prefix, u8)>> {
    let prefix =
        (any::<bool>(), 0..64_u8, 0..=6_u8, 0..4_u8).prop_map(|(v4, host, length, value)| {
            let host = u128::from(host);
            let (address, length) = match v4 {
                true => (IpAddr::V4(Ipv4Addr::from_bits(host as u32)), 26 + length),
                false => (IpAddr::V6(Ipv6Addr::from_bits(host)), 122 + length),
            };
            (Prefix::around(address, length).unwrap(), value)
        });
    proptest::collection::vec(prefix, 0..12).prop_map(|mut prefixes| {
        prefixes.sort_unstable_by_key(|(prefix, _)| *prefix);
        prefixes.dedup_by_key(|(prefix, _)| *prefix);
        prefixes
    })
}

/// The value of the longest prefix that an address is in.
fn longest(prefixes: &[(Prefix, u8)], address: IpAddr) -> Option<u8> {
    let around = prefixes.iter().filter(|(it, _)| it.contains(address));
    around.max_by_key(|(it, _)| it.length()).map(|it| it.1)
}

proptest! {
    #[test]
    fn tables_over_tables_answer_as_searching_one_after_the_other(
        tables in proptest::collection::vec(prefixes(), 1..4),
    ) {
        let table = |entries: &Vec<(Prefix, u8)>| {
            let entries = entries.iter().map(|(prefix, value)| (Clients::from(*prefix), *value));
            Table::new(&entries.collect::<Vec<_>>()).unwrap()
        };
        let all = tables.iter().map(table).reduce(Table::over).unwrap();
        for host in 0..70_u8 {
            for address in [IpAddr::from([0, 0, 0, host]), Ipv6Addr::from_bits(host.into()).into()] {
                let expected = tables.iter().find_map(|it| longest(it, address));
                prop_assert_eq!(all.at(address).copied(), expected, "{}", address);
            }
        }
        prop_assert!(all.v4().windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        prop_assert!(all.v6().windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
    }
}
