use std::{cell::RefCell, collections::BTreeMap, io};

use super::*;
use crate::{
    config::{
        Checked, parse_on,
        tests::{GOOD, with},
    },
    refusal::{Errors, Problem},
};

const PLACES: &str = "NSGEO1.0\nStart\n192.0.2.0,192.0.2.255,Europe,UK\n";
const GEOGRAPHY: &str = "192.0.2.0/24,GB\n198.51.100.0/24,US,CA\n";
const LATENCY: &str = "192.0.2.0/24,we,20\n192.0.2.0/24,us,90\n203.0.113.0/24,we,5\n";

/// What a configuration says on a host that has these files, with its warnings.
fn parse(text: &str, files: &[(&str, &[u8])]) -> Result<Checked, Errors> {
    let files: BTreeMap<PathBuf, &[u8]> = files.iter().map(|(at, it)| (at.into(), *it)).collect();
    let read = |path: &Path| {
        let content = files.get(path).map(|content| content.to_vec());
        content.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let host = Host {
        directory: Path::new("/etc/waggle"),
        read: &read,
        ..Host::empty()
    };
    parse_on(text, host)
}

fn mistakes(tables: &str, files: &[(&str, &[u8])]) -> Vec<String> {
    let Errors(problems) = parse(&format!("{GOOD}{tables}"), files).unwrap_err();
    problems.iter().map(Problem::to_string).collect()
}

const TABLES: &str = "
[locations]
files = [{ path = \"other.csv\", format = \"ip-country\" }, \"/data/places.csv\"]
custom = [{ range = \"192.0.2.0-192.0.2.127\", location = \"NA.US.CA.San Jose\" }]
[geography]
files = [\"geo.csv\"]
[latency]
files = [\"rtt.csv\"]
";

const FILES: [(&str, &[u8]); 4] = [
    (
        "/etc/waggle/other.csv",
        b"3325256704,3325256959,IE,Ireland\n",
    ),
    ("/data/places.csv", PLACES.as_bytes()),
    ("/etc/waggle/geo.csv", GEOGRAPHY.as_bytes()),
    ("/etc/waggle/rtt.csv", LATENCY.as_bytes()),
];

#[test]
fn t222_custom_entries_and_files_become_whereabouts() {
    let Checked { model, summary, .. } = parse(&format!("{GOOD}{TABLES}"), &FILES).unwrap();
    let places = &model.whereabouts;
    let location = |client: &str| {
        let location = places.location(client.parse().unwrap());
        location.map(Location::to_string)
    };
    assert_eq!(location("192.0.2.9").as_deref(), Some("NA.US.CA.San Jose"));
    assert_eq!(location("192.0.2.200").as_deref(), Some("Europe.UK"));
    assert_eq!(location("198.51.100.7").as_deref(), Some("EU.IE"));
    assert_eq!(location("203.0.113.7"), None);
    let region = |client: &str| places.region(client.parse().unwrap()).code();
    assert_eq!(region("192.0.2.9"), "GB");
    assert_eq!(region("198.51.100.7"), "US-CA");
    assert_eq!(region("203.0.113.7"), "WORLD");
    let row = places.latency("192.0.2.9".parse().unwrap()).unwrap();
    assert_eq!(row.len(), 2);
    let files: Vec<_> = places.files().iter().collect();
    let named = |file: &&DataFile| format!("{} {}", file.key, file.path.display());
    assert_eq!(
        files.iter().map(named).collect::<Vec<_>>(),
        [
            "locations.files[0] /etc/waggle/other.csv",
            "locations.files[1] /data/places.csv",
            "geography.files[0] /etc/waggle/geo.csv",
            "latency.files[0] /etc/waggle/rtt.csv",
        ]
    );
    let summary = summary.to_string();
    let line = "clients    3 location, 2 geography, 2 latency entries\n";
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn t223_a_shorter_custom_prefix_goes_before_the_file() {
    let tables = TABLES.replace("192.0.2.0-192.0.2.127", "192.0.0.0/16");
    let tables = tables.replace("NA.US.CA.San Jose", "NA.US");
    let model = parse(&format!("{GOOD}{tables}"), &FILES).unwrap().model;
    let location = model.whereabouts.location("192.0.2.9".parse().unwrap());
    assert_eq!(location.unwrap().to_string(), "NA.US");
}

#[test]
fn models_differ_when_a_file_does() {
    let text = format!("{GOOD}{TABLES}");
    let model = |files: &[(&str, &[u8])]| parse(&text, files).unwrap().model;
    let before = model(&FILES);
    assert_eq!(model(&FILES), before);
    for changed in 0..FILES.len() {
        let mut files = FILES;
        let content = [files[changed].1, b"\n"].concat();
        files[changed].1 = &content;
        assert_ne!(model(&files), before, "{}", files[changed].0);
    }
    let custom = text.replace("San Jose", "San José");
    assert_ne!(parse(&custom, &FILES).unwrap().model, before);
    let lines = crate::model::changes(&before, &parse(&custom, &FILES).unwrap().model);
    assert_eq!(lines, ["where clients are: changed"]);
}

/// Two backends in regions, a latency window of 10 ms, three rows near 20 and 40 ms, and what else is in the
/// table of latencies.
fn by_latency(quantum: &str) -> Result<Checked, Errors> {
    const ROWS: &str = "192.0.2.0/26,we,20\n192.0.2.0/26,us,41\n192.0.2.64/26,we,21\n\
        192.0.2.64/26,us,39\n192.0.2.128/26,we,19\n192.0.2.128/26,us,42\n";
    let text = GOOD
        .replace(".0.0.1\"", ".0.0.1\"\nregion = \"we\"")
        .replace(".0.0.2\"", ".0.0.2\"\nregion = \"us\"");
    let group = "name = \"g\"\npolicy = \"dynamic-rtt\"\nlatency_window = \"10ms\"\n";
    let text = text.replacen("name = \"g\"\n", group, 1);
    let text = format!("{text}[latency]\nfiles = [\"rtt.csv\"]\n{quantum}\n");
    parse(&text, &[("/etc/waggle/rtt.csv", ROWS.as_bytes())])
}

#[test]
fn a_quantum_makes_fewer_classes_and_another_model() {
    let [exact, rounded] = ["", "quantum = \"5ms\""].map(|it| by_latency(it).unwrap());
    assert_eq!(exact.clients.partition().classes.len(), 4);
    assert_eq!(rounded.clients.partition().classes.len(), 2);
    assert_ne!(exact.model, rounded.model);
}

#[test]
fn bad_quanta() {
    let no_duration = "is no duration; use a number with a unit, like \"10s\" or \"250ms\"";
    let window = "is more than the latency window of group \"g\", 10ms; use at most 10ms, or another \
        window: 0s keeps those with the lowest rounded time";
    for (quantum, wrong) in [
        ("\"0ms\"", "0ms is out of range; use 1us to 1s".to_owned()),
        ("\"2s\"", "2s is out of range; use 1us to 1s".to_owned()),
        ("\"-5ms\"", format!("\"-5ms\" {no_duration}")),
        (
            "5",
            "5 has no unit; use a number with a unit, like \"10s\" or \"250ms\"".to_owned(),
        ),
        ("\"11ms\"", format!("11ms {window}")),
    ] {
        let Errors(problems) = by_latency(&format!("quantum = {quantum}")).unwrap_err();
        let told: Vec<_> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(told, [format!("latency.quantum: {wrong}")]);
    }
    assert!(by_latency("quantum = \"10ms\"").is_ok());
}

#[test]
fn backends_and_the_edge_have_places() {
    let text = with(
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\nlocation = 'NA.US.\"St. Paul\"'\nregion = \"CentralUS\"",
    )
    .replace("[edge]", "[edge]\nlocation = \"Europe.DE\"");
    let model = parse(&text, &[]).unwrap().model;
    let backend = &model.backends["a"];
    let location = backend.location.as_ref().unwrap().to_string();
    assert_eq!(location, "NA.US.\"St. Paul\"");
    assert_eq!(backend.region.as_ref().unwrap().as_str(), "centralus");
    assert_eq!(model.edge.location, Some("europe.de".parse().unwrap()));
    assert_eq!(model.backends["b"].location, None);
}

#[test]
fn bad_places() {
    let mend = "use up to six qualifiers with dots between them, like \"NA.US.CA.San Jose\", and quotes \
        around one that has a dot";
    for (location, why) in [
        ("a.b.c.d.e.f.g", "has 7 qualifiers"),
        ("Europe.", "has an empty qualifier"),
        ("", "has an empty qualifier"),
        ("Europe.\"UK", "has a quote that does not end"),
    ] {
        let shown = format!("{location:?}");
        let expected = format!("{shown} {why}; {mend}");
        for (part, place) in [
            ("address = \"10.0.0.1\"", "backend[0].location"),
            ("[edge]", "edge.location"),
        ] {
            let text = with(part, &format!("{part}\nlocation = '{location}'"));
            let Errors(problems) = parse(&text, &[]).unwrap_err();
            assert_eq!(problems[0].to_string(), format!("{place}: {expected}"));
        }
        let custom = format!(
            "locations = {{ custom = [{{ range = \"::/0\", location = '{location}' }}] }}\n"
        );
        let Errors(problems) = parse(&format!("{custom}{GOOD}"), &[]).unwrap_err();
        assert_eq!(
            problems[0].to_string(),
            format!("locations.custom[0].location: {expected}")
        );
    }
    let text = with(
        "address = \"10.0.0.1\"",
        "address = \"10.0.0.1\"\nregion = \" \"",
    );
    let Errors(problems) = parse(&text, &[]).unwrap_err();
    let expected = "backend[0].region: \" \" is no name of a region; use the name that the latency \
        files have";
    assert_eq!(problems[0].to_string(), expected);
}

#[test]
fn bad_custom_entries() {
    let tables = "[locations]
        custom = [
            { range = \"192.0.2.0/24\", location = \"Europe\" },
            { range = \"192.0.2.0-192.0.2.255\", location = \"Asia\" },
            { range = \"192.0.2.9-192.0.2.1\", location = \"Asia\" },
            { range = \"192.0.2.1/24\", location = \"Asia\" },
            { location = \"Asia\" },
            { range = \"::/0\" },
        ]";
    assert_eq!(
        mistakes(tables, &[]),
        [
            "locations.custom[2].range: \"192.0.2.9-192.0.2.1\" ends before it begins; use \"192.0.2.1-192.0.2.9\"",
            "locations.custom[3].range: \"192.0.2.1/24\" has bits beyond its length; use \"192.0.2.0/24\"",
            "locations.custom[4].range: is missing; add `range = \"192.0.2.0-192.0.2.127\"`",
            "locations.custom[5].location: is missing; add `location = \"Europe.UK\"`",
            "locations.custom[1].range: 192.0.2.0/24 is in locations.custom[0] too; leave it to one of them",
        ]
    );
}

#[test]
fn mistakes_of_files_come_with_key_path_and_line() {
    let tables = "
        [locations]
        files = [\"places.csv\", \"gone.csv\", { path = \"x.mmdb\" }, { path = \"p\", format = \"xml\" }, 7, \"\"]
        [geography]
        files = [\"geo.csv\", { path = \"geo.csv\", format = \"mmdb\" }]
        [latency]
        files = [\"rtt.csv\"]";
    let files: [(&str, &[u8]); 4] = [
        ("/etc/waggle/places.csv", b""),
        ("/etc/waggle/x.mmdb", b"x"),
        ("/etc/waggle/geo.csv", b"192.0.2.0/24,IE\n192.0.3.0/24,ZZ\n"),
        (
            "/etc/waggle/rtt.csv",
            b"192.0.2.0/24,we,-3\n192.0.2.0/24,we,x\n",
        ),
    ];
    let found = mistakes(tables, &files);
    let starts = [
        "locations.files[3].format: \"xml\" is unknown; use \"netscaler\" or \"ip-country\" or",
        "locations.files[4]: 7 is an integer; use a path or a table: `{ path = .. }`",
        "locations.files[5]: \"\" is no path; use a path, absolute or from the directory of this file",
        "locations.files[0]: /etc/waggle/places.csv: has no entry; ",
        "locations.files[1]: can not read /etc/waggle/gone.csv: entity not found; ",
        "locations.files[2]: /etc/waggle/x.mmdb: is no MaxMind database, or a broken one: ",
        "locations.files[3]: can not read /etc/waggle/p: ",
        "geography.files[0]: /etc/waggle/geo.csv line 2: \"ZZ\" is no country code; ",
        "geography.files[1]: /etc/waggle/geo.csv: is no MaxMind database, or a broken one: ",
        "latency.files[0]: /etc/waggle/rtt.csv line 1: \"-3\" is out of range; use 0 to 60000 ms",
        "latency.files[0]: /etc/waggle/rtt.csv line 2: \"x\" is no number; ",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found}\n{start}");
    }
}

#[test]
fn every_file_is_read_once_and_from_where_the_configuration_is() {
    let read = RefCell::new(Vec::new());
    let record = |path: &Path| {
        read.borrow_mut().push(path.to_owned());
        Ok(LATENCY.as_bytes().to_vec())
    };
    let host = Host {
        directory: Path::new("conf"),
        read: &record,
        ..Host::empty()
    };
    let text = format!("{GOOD}[latency]\nfiles = [\"a.csv\", \"../b.csv\"]\n");
    parse_on(&text, host).unwrap();
    let expected = ["conf/a.csv", "conf/../b.csv"].map(PathBuf::from);
    assert_eq!(*read.borrow(), expected);
}
