use super::*;

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

fn read_text(name: &str, text: &str) -> Result<Table<Location>, Vec<String>> {
    let read = read(Path::new("places.csv"), text.as_bytes(), format(name));
    read.map_err(|wrong| wrong.iter().map(Wrong::to_string).collect())
}

/// Where a client is by a file of one line.
fn line(name: &str, line: &str, client: &str) -> Option<String> {
    let text = match name {
        "netscaler" => format!("NSGEO1.0\nStart\n{line}\n"),
        _ => line.to_owned(),
    };
    let table = read_text(name, &text).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    assert_eq!(table.entries(), 1, "{name}");
    let location = table.at(client.parse().unwrap());
    location.map(Location::to_string)
}

/// For each format the fields after the addresses, and what they say.
const COLUMNS: [(&str, &str, &str, &str); 11] = [
    (
        "netscaler",
        DOTTED,
        "NA,US,CA,\"San Jose\",ATT,citrix,-121.9,37.3",
        "NA.US.CA.San Jose.ATT.citrix",
    ),
    ("ip-country", NUMBERS, "\"US\",\"UNITED STATES\"", "NA.US"),
    (
        "ip-country-isp",
        NUMBERS,
        "\"US\",\"UNITED STATES\",\"ATT, INC.\"",
        "NA.US.*.*.\"ATT, INC.\"",
    ),
    (
        "ip-country-region-city",
        NUMBERS,
        "\"US\",\"UNITED STATES\",\"CALIFORNIA\",\"SAN JOSE\"",
        "NA.US.CALIFORNIA.SAN JOSE",
    ),
    (
        "ip-country-region-city-isp",
        NUMBERS,
        "\"US\",\"UNITED STATES\",\"CALIFORNIA\",\"SAN JOSE\",\"ATT\"",
        "NA.US.CALIFORNIA.SAN JOSE.ATT",
    ),
    ("geoip-country", BOTH, "\"IE\",\"Ireland\"", "EU.IE"),
    ("geoip-region", BOTH, "\"US\",\"CA\"", "NA.US.CA"),
    (
        "geoip-city",
        NUMBERS,
        "US,CA,\"San Jose\",95113,37.33,-121.89,807,408",
        "NA.US.CA.San Jose",
    ),
    (
        "geoip-country-org",
        BOTH,
        "\"US\",\"United States\",\"citrix\"",
        "NA.US.*.*.*.citrix",
    ),
    ("geoip-country-isp", BOTH, "\"US\",\"ATT\"", "NA.US.*.*.ATT"),
    (
        "geoip-city-isp-org",
        BOTH,
        "US,CA,San Jose,95113,37.33,-121.89,807,408,ATT,citrix",
        "NA.US.CA.San Jose.ATT.citrix",
    ),
];

const DOTTED: &str = "192.0.2.0,192.0.2.255";
const NUMBERS: &str = "\"3221225984\",\"3221226239\"";
const BOTH: &str = "\"192.0.2.0\",\"192.0.2.255\",\"3221225984\",\"3221226239\"";

#[test]
fn d72_every_format_has_its_columns() {
    let names = COLUMNS.map(|(name, ..)| name);
    assert_eq!(FORMATS.each_ref().map(|format| format.name), names);
    for (name, addresses, fields, expected) in COLUMNS {
        let fields = format!("{addresses},{fields}");
        for client in ["192.0.2.0", "192.0.2.255"] {
            let found = line(name, &fields, client);
            assert_eq!(found.as_deref(), Some(expected), "{name}");
        }
        assert_eq!(line(name, &fields, "192.0.3.0"), None, "{name}");
    }
}

#[test]
fn fields_at_the_end_may_be_left_out_and_unknown_ones_say_nothing() {
    for (name, fields, expected) in [
        ("netscaler", "192.0.2.0,192.0.2.255,Europe", "Europe"),
        (
            "netscaler",
            "192.0.2.0,192.0.2.255,,IE,,Dublin",
            "EU.IE.*.Dublin",
        ),
        ("netscaler", "192.0.2.0,192.0.2.255,,Erewhon", "*.Erewhon"),
        ("netscaler", "192.0.2.0,192.0.2.255,*,IE,*", "EU.IE"),
        ("geoip-country", "192.0.2.0,192.0.2.255,IE", "EU.IE"),
        ("geoip-country", "192.0.2.0,192.0.2.255,A1,Proxy", "*.A1"),
        (
            "ip-country-region-city",
            "3221225984,3221226239,IE,Ireland,-,Dublin",
            "EU.IE.*.Dublin",
        ),
    ] {
        let found = line(name, fields, "192.0.2.7");
        assert_eq!(found.as_deref(), Some(expected), "{fields}");
    }
    let reserved =
        "\"0\",\"16777215\",\"-\",\"-\"\n\"16777216\",\"16777471\",\"AU\",\"Australia\"\n";
    let table = read_text("ip-country", reserved).unwrap();
    assert_eq!(table.entries(), 1);
    assert_eq!(table.at("0.0.0.1".parse().unwrap()), None);
    let location = table.at("1.0.0.9".parse().unwrap()).unwrap();
    assert_eq!(location.to_string(), "OC.AU");
}

#[test]
fn ipv6_in_every_form() {
    for (name, fields, client) in [
        (
            "netscaler",
            "2001:db8::,2001:db8::ffff,EU,IE",
            "2001:db8::7",
        ),
        (
            "geoip-country",
            "\"2001:db8::\", \"2001:db8::ffff\", \"42540766411282592856903984951653826560\", \
             \"42540766411282592856903984951653892095\", \"IE\", \"Ireland\"",
            "2001:db8::7",
        ),
        (
            "ip-country",
            "42540766411282592856903984951653826560,42540766411282592856903984951653892095,IE,Ireland",
            "2001:db8::7",
        ),
        // 192.0.2.0/24 in the form of IPv6.
        (
            "ip-country",
            "281473902969344,281473902969599,IE,Ireland",
            "192.0.2.7",
        ),
        (
            "geoip-country",
            "::ffff:192.0.2.0,::ffff:192.0.2.255,IE",
            "192.0.2.7",
        ),
    ] {
        let found = line(name, fields, client);
        assert_eq!(found.as_deref(), Some("EU.IE"), "{fields}");
    }
}

#[test]
fn a_custom_context_has_labels_of_its_own() {
    let head = "NSGEO1.0\nContext=custom\nQualifier1=ispname\nQualifier2=site\nStart\n";
    let table = read_text("netscaler", &format!("{head}192.0.2.0,192.0.2.255,,IE\n")).unwrap();
    let location = table.at("192.0.2.7".parse().unwrap()).unwrap();
    assert_eq!(location.to_string(), "*.IE", "no continent");
}

#[test]
fn every_format_names_the_line_that_is_broken() {
    for format in &FORMATS {
        let head = match format.addresses {
            Addresses::Tagged => "NSGEO1.0\nStart\n",
            Addresses::Numbers | Addresses::Both => "# one\n# two\n",
        };
        let columns = "x,".repeat(20);
        let quotes = "put quotes around whole fields, and write one within twice";
        for (broken, wrong) in [
            (
                "192.0.2.9,192.0.2.1,IE,IE",
                "\"192.0.2.9-192.0.2.1\" ends before it begins; use \"192.0.2.1-192.0.2.9\"".to_owned(),
            ),
            (
                "192.0.2.9,2001:db8::,IE,IE",
                "\"192.0.2.9-2001:db8::\" mixes IPv4 and IPv6; use two addresses of the same family".to_owned(),
            ),
            (
                "192.0.2.0/24,192.0.2.255,IE,IE",
                "\"192.0.2.0/24\" is no address; use an address like \"192.0.2.1\", or its number".to_owned(),
            ),
            (
                "192.0.2.9,192.0.2.10,\"IE",
                format!("has a quote within a field, or one that does not end; {quotes}"),
            ),
        ] {
            let text = format!("{head}192.0.2.0,192.0.2.1,IE,IE\n\n{broken}\n");
            let expected = [format!("places.csv line 5: {wrong}")];
            assert_eq!(read_text(format.name, &text), Err(expected.into()), "{}", format.name);
        }
        for broken in [
            "192.0.2.0",
            "192.0.2.0,192.0.2.1",
            &format!("1.1.1.1,1.1.1.2,{columns}"),
        ] {
            let wrong = read_text(format.name, &format!("{head}{broken}\n")).unwrap_err();
            assert!(wrong[0].starts_with("places.csv line 3: has "), "{wrong:?}");
            assert!(wrong[0].contains(" fields; use 3 to "), "{wrong:?}");
        }
        let empty = read_text(format.name, head).unwrap_err();
        assert_eq!(
            empty,
            ["places.csv: has no entry; get the file anew, or leave it out"]
        );
        let binary = read(Path::new("places.csv"), b"NSGEO1.0\n\xff\n", format).unwrap_err();
        assert_eq!(binary[0].code, "no-text");
    }
}

#[test]
fn a_file_of_another_format_is_told() {
    let mend =
        "begin with `NSGEO1.0`, and put `Start` before the entries; or give the file's `format`";
    for (text, line) in [
        ("192.0.2.0,192.0.2.255,EU,IE\n", "NSGEO1.0"),
        ("NSGEO1.0\n192.0.2.0,192.0.2.255,EU,IE\n", "Start"),
    ] {
        let expected = format!("places.csv: has no line `{line}`; {mend}");
        assert_eq!(read_text("netscaler", text), Err(vec![expected]));
    }
    let wrong = read_text("geoip-region", "192.0.2.0,192.0.2.255,Europe,IE\n").unwrap_err();
    let expected = "places.csv line 1: \"Europe\" is no country code; use two letters, like \"IE\"; \
        or give the file's `format`";
    assert_eq!(wrong, [expected]);
    let wrong = read_text(
        "ip-country",
        "4294967296,99999999999999999999999999999999999999999,IE\n",
    );
    assert!(wrong.unwrap_err()[0].contains("is no address"));
}
