//! What is wrong with whole files, and with those that a configuration names.

use std::{collections::BTreeSet, fs, io, path::Path};

use super::{GOOD, with};
use crate::{
    config::{authorities::Host, load, parse_on},
    refusal::{Code, Errors},
};

/// The codes of files that have no text to be checked.
pub(super) fn unread() -> Vec<Code> {
    let directory = tempfile::tempdir().unwrap();
    let huge = directory.path().join("huge");
    fs::File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    let paths = [
        directory.path().join("missing"),
        huge,
        directory.path().into(),
    ];
    let code = |path: &std::path::PathBuf| load(path).unwrap_err().errors[0].code.clone();
    paths.iter().map(code).collect()
}

/// The codes of files with certificates that are not what they should be.
pub(super) fn untrusted() -> Vec<Code> {
    let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let code = |probe: &str, read: &dyn Fn(&Path) -> io::Result<Vec<u8>>| {
        let text = with("\"http\"", probe);
        let host = Host {
            read,
            ..Host::empty()
        };
        let Errors(errors) = parse_on(&text, host).unwrap_err();
        errors[0].code.clone()
    };
    let named = "\"https\", host = \"a\", ca_file = \"/ca.pem\"";
    let gone = |_: &Path| Err(io::Error::other("gone"));
    vec![
        code(named, &gone),
        code(named, &|_| Ok(Vec::new())),
        code(named, &|_| Ok(broken.to_vec())),
        code("\"https\", host = \"a\"", &gone),
    ]
}

/// For each code a table of files and the content of those that provokes it.
const DATA: &[(&str, &str, &[u8])] = &[
    ("no-text", "latency = { files = [\"x\"] }", b"\xff"),
    ("empty-data", "latency = { files = [\"x\"] }", b""),
    (
        "broken-mmdb",
        "geography = { files = [\"x.mmdb\"] }",
        b"no database",
    ),
    (
        "no-location-file",
        "locations = { files = [\"x\"] }",
        b"192.0.2.1,192.0.2.2,EU,IE",
    ),
    (
        "bad-columns",
        "latency = { files = [\"x\"] }",
        b"192.0.2.1,we",
    ),
    ("stray-quote", "latency = { files = [\"x\"] }", b"\"x"),
    (
        "bad-row-address",
        "locations = { files = [\"x\"] }",
        b"NSGEO1.0\nStart\nx,192.0.2.2,EU,IE",
    ),
    (
        "bad-country",
        "geography = { files = [\"x\"] }",
        b"192.0.2.1,UK",
    ),
    (
        "bad-state",
        "geography = { files = [\"x\"] }",
        b"192.0.2.1,US,XX",
    ),
    (
        "bad-milliseconds",
        "latency = { files = [\"x\"] }",
        b"192.0.2.1,we,far",
    ),
    (
        "row-twice",
        "latency = { files = [\"x\"] }",
        b"192.0.2.1,we,1\n192.0.2.1,we,2",
    ),
];

/// The codes of files that tell where clients are and are not what they should be.
pub(super) fn misled() -> BTreeSet<Code> {
    let many = "192.0.2.1\n".repeat(100);
    let many = [(
        "more-mistakes",
        "latency = { files = [\"x\"] }",
        many.as_bytes(),
    )];
    let code = |(code, files, content): &(&'static str, &str, &[u8])| {
        let host = Host {
            read: &|_| Ok(content.to_vec()),
            ..Host::empty()
        };
        let Errors(errors) = parse_on(&format!("{files}\n{GOOD}"), host).unwrap_err();
        let codes: Vec<_> = errors.iter().map(|it| it.code.clone()).collect();
        assert!(
            codes.contains(&Code::from(*code)),
            "{code} is expected, {codes:?} came"
        );
        Code::from(*code)
    };
    DATA.iter().chain(&many).map(code).collect()
}
