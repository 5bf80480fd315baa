//! Keys that only some kinds have.

use std::{io, path::Path};

use rcgen::{CertificateParams, KeyPair};

use super::*;
use crate::{
    config::{Checked, authorities::Host, parse_on},
    model::{HttpsProbe, Trust},
};

/// The mistakes of a probe, or the probe, on a host that trusts one authority and has the file
/// `/ca.pem`.
fn on_a_host(probe: &str) -> Result<ProbeKind, String> {
    Ok(checked(probe)?.model.groups["g"]
        .probe
        .clone()
        .unwrap()
        .kind)
}

/// The whole configuration on that host.
fn checked(probe: &str) -> Result<Checked, String> {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::default().self_signed(&key).unwrap();
    let host = Host {
        read: &|path| match path.to_str() {
            Some("/ca.pem") => Ok(certificate.pem().into_bytes()),
            Some("/key.pem") => Ok(key.serialize_pem().into_bytes()),
            _ => Err(io::ErrorKind::NotFound.into()),
        },
        trusted: &|| vec![certificate.der().to_vec()],
        ..Host::empty()
    };
    let probe = format!("probe = {{ {probe} }}");
    let text = with("probe = { kind = \"http\" }", &probe);
    parse_on(&text, host).map_err(|errors| errors.to_string())
}

#[track_caller]
fn https(keys: &str) -> HttpsProbe {
    match on_a_host(&format!("kind = \"https\", {keys}")) {
        Ok(ProbeKind::Https(https)) => https,
        other => panic!("{other:?}"),
    }
}

#[test]
fn https_asks_the_host_by_its_name_and_trusts_whom_the_system_trusts() {
    let https = https("host = \"www.example.com:8443\"");
    assert_eq!(https.http.host.as_deref(), Some("www.example.com:8443"));
    assert_eq!(https.server_name, "www.example.com");
    assert!(matches!(&https.trust, Trust::Authorities(system) if system.file().is_none()));
}

#[test]
fn sni_authorities_and_verification_are_settings() {
    let name = |keys: &str| https(keys).server_name;
    assert_eq!(
        name("host = \"a.example\", sni = \"b.example\""),
        "b.example"
    );
    assert_eq!(
        name("host = \"a.example\", sni = \"192.0.2.1\""),
        "192.0.2.1"
    );
    assert_eq!(name("host = \"[2001:db8::1]:443\""), "2001:db8::1");
    let trust = |keys: &str| https(&format!("host = \"a.example\", {keys}")).trust;
    let file = Some(Path::new("/ca.pem"));
    let given = trust("ca_file = \"/ca.pem\"");
    assert!(matches!(given, Trust::Authorities(authorities) if authorities.file() == file));
    assert!(matches!(trust("verify = true"), Trust::Authorities(_)));
    assert_eq!(trust("verify = false"), Trust::Anyone);
}

const HOST_MISSING: &str =
    "host: is missing; add `host = \"www.example.com\"`, the name that clients use";
const SNI_WANTED: &str = "use a DNS name like \"www.example.com\", or an address";
const NO_FILE: &str = "ca_file: can not read /none: entity not found; name a file with the \
    certificates of the authorities";

#[test]
fn bad_https() {
    for (keys, expected) in [
        ("path = \"/\"", HOST_MISSING.to_owned()),
        (
            "host = \"a b\"",
            "host: \"a b\" is no host; use a name or an address, with `:` and a port where it is \
             not the usual one"
                .to_owned(),
        ),
        (
            "host = \"-\"",
            "sni: is missing, and \"-\" is no name for a server; add `sni = \"www.example.com\"`"
                .to_owned(),
        ),
        (
            "host = \"a\", sni = \"a.example:443\"",
            format!("sni: \"a.example:443\" is no name for a server; {SNI_WANTED}"),
        ),
        (
            "host = \"a\", sni = 1",
            format!("sni: 1 is an integer; {SNI_WANTED}"),
        ),
        (
            "host = \"a\", verify = \"no\"",
            "verify: \"no\" is a string; use true or false".to_owned(),
        ),
        (
            "host = \"a\", ca_file = \"ca.pem\"",
            "ca_file: \"ca.pem\" is no absolute path; use a path that begins with `/`".to_owned(),
        ),
        (
            "host = \"a\", ca_file = \"/key.pem\"",
            "ca_file: /key.pem holds no certificate; name a PEM file, with \
             `-----BEGIN CERTIFICATE-----` in it"
                .to_owned(),
        ),
        ("host = \"a\", ca_file = \"/none\"", NO_FILE.to_owned()),
        (
            "host = \"a\", ca_file = \"/ca.pem\", verify = false",
            "ca_file: no authority is asked with `verify = false`; leave out one of them"
                .to_owned(),
        ),
    ] {
        let found = on_a_host(&format!("kind = \"https\", {keys}")).unwrap_err();
        assert_eq!(found, format!("group[0].probe.{expected}"));
    }
}

#[test]
fn all_mistakes_of_an_https_probe_come_at_once() {
    let keys = "sni = \"a b\", ca_file = \"/none\", method = \"PUT\"";
    let found = on_a_host(&format!("kind = \"https\", {keys}")).unwrap_err();
    let expected = [
        HOST_MISSING,
        "method: \"PUT\" is unknown; use \"HEAD\" or \"GET\"",
        &format!("sni: \"a b\" is no name for a server; {SNI_WANTED}"),
        NO_FILE,
    ]
    .map(|line| format!("group[0].probe.{line}"));
    assert_eq!(found, expected.join("\n"));
}

#[test]
fn a_host_without_authorities_is_told_at_the_check() {
    let https = "probe = { kind = \"https\", host = \"a.example\" }";
    let text = with("probe = { kind = \"http\" }", https);
    let expected = "group[0].probe.ca_file: is missing, and this host has no certificates of \
        authorities; install the package `ca-certificates`, or name a file with them";
    assert_eq!(mistakes(&text), [expected]);
}

#[test]
fn the_summary_says_what_is_sent_and_whether_a_certificate_is_checked() {
    for (probe, said) in [
        (
            "kind = \"https\", host = \"a.example:8443\"",
            "HEAD :80/ over TLS, certificate for a.example, every 30s, 2 of 4",
        ),
        (
            "kind = \"https\", host = \"a.example\", verify = false",
            "HEAD :80/ over TLS, certificate not checked, every 30s, 2 of 4",
        ),
        ("kind = \"tcp\"", "TCP :80 every 30s, 2 of 4"),
    ] {
        assert_eq!(checked(probe).unwrap().summary.groups[0].probe, said);
    }
}

#[test]
fn t213_a_tcp_probe_with_a_path_is_refused() {
    let all = "path = \"/\", expect = [\"200\"], method = \"GET\", host = \"a\", \
        user_agent = \"b\", headers = { a = \"b\" }, sni = \"a\", ca_file = \"/ca.pem\", \
        verify = true";
    let found = on_a_host(&format!("kind = \"tcp\", {all}")).unwrap_err();
    let line = |key: &str, kind: &str| {
        format!(
            "group[0].probe.{key}: tcp probes have no such key; leave it out, or use \
             `kind = \"{kind}\"`"
        )
    };
    let http = ["method", "path", "host", "user_agent", "headers", "expect"];
    let https = ["sni", "ca_file", "verify"];
    let expected = http.map(|key| line(key, "http")).into_iter();
    let expected: Vec<_> = expected
        .chain(https.map(|key| line(key, "https")))
        .collect();
    assert_eq!(found, expected.join("\n"));
    let tcp = on_a_host("kind = \"tcp\", interval = \"1s\", health = { window = 1 }");
    assert_eq!(tcp, Ok(ProbeKind::Tcp));
}

#[test]
fn an_unknown_key_of_a_tcp_probe_lists_those_that_it_has() {
    let found = on_a_host("kind = \"tcp\", zzz = 1").unwrap_err();
    let expected = "group[0].probe.zzz: unknown key; known here: kind, port, interval, timeout, \
        health, latency";
    assert_eq!(found, expected);
}

#[test]
fn an_http_probe_has_no_keys_of_tls() {
    for (key, value) in [
        ("sni", "\"a\""),
        ("ca_file", "\"/ca.pem\""),
        ("verify", "false"),
    ] {
        let found = on_a_host(&format!("kind = \"http\", {key} = {value}")).unwrap_err();
        let expected = format!(
            "group[0].probe.{key}: http probes have no such key; leave it out, or use \
             `kind = \"https\"`"
        );
        assert_eq!(found, expected);
    }
}
