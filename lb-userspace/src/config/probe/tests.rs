mod health;
mod kinds;

use std::time::Duration;

use crate::{
    config::{
        parse,
        tests::{mistakes, with},
    },
    model::{HttpProbe, Method, Probe, ProbeKind, Smoothing},
};

fn file(keys: &str) -> String {
    let probe = format!("probe = {{ kind = \"http\"{keys} }}");
    with("probe = { kind = \"http\" }", &probe)
}

fn bad(keys: &str) -> Vec<String> {
    mistakes(&file(&format!(", {keys}")))
}

fn probe(keys: &str) -> Probe {
    let model = parse(&file(&format!(", {keys}"))).unwrap().model;
    model.groups["g"].probe.clone().unwrap()
}

fn http(keys: &str) -> HttpProbe {
    match probe(keys).kind {
        ProbeKind::Http(http) => http,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_settings() {
    for (keys, expected) in [
        (
            "method = \"POST\"",
            "method: \"POST\" is unknown; use \"HEAD\" or \"GET\"",
        ),
        ("port = 0", "port: 0 is out of range; use 1 to 65535"),
        (
            "interval = 30",
            "interval: 30 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "interval = \"99ms\"",
            "interval: 99ms is out of range; use 100ms to 1day",
        ),
        (
            "interval = \"30 parsecs\"",
            "interval: \"30 parsecs\" is no duration; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "timeout = \"31s\"",
            "timeout: 31s is longer than the interval; use at most 30s",
        ),
        (
            "timeout = \"0s\"",
            "timeout: 0s is out of range; use 1ms to 1day",
        ),
        (
            "host = \"*.example.com\"",
            "host: \"*.example.com\" is no host; use a name or an address, with `:` and a port where it is not the usual one",
        ),
        (
            "host = \"a b\"",
            "host: \"a b\" is no host; use a name or an address, with `:` and a port where it is not the usual one",
        ),
        (
            "user_agent = \"a\\r\\nb\"",
            "user_agent: \"a\\r\\nb\" is no value of a header; use printable ASCII without a space at either end",
        ),
        (
            "expect = []",
            "expect: is empty; leave it out for \"200\", or list status codes",
        ),
        (
            "expect = [200]",
            "expect[0]: 200 is an integer; use \"200\" or \"200-299\", from 100 to 599",
        ),
        (
            "expect = \"200\"",
            "expect: \"200\" is a string; use a list, like `[\"..\"]`",
        ),
        (
            "urgent = true",
            "urgent: unknown key; known here: kind, method, path, host, user_agent, headers, expect, port, interval, timeout, health, latency",
        ),
    ] {
        assert_eq!(bad(keys), [format!("group[0].probe.{expected}")]);
    }
}

#[test]
fn bad_kinds() {
    for (probe, expected) in [
        (
            "{}",
            &["group[0].probe.kind: is missing; add `kind = \"http\"`"][..],
        ),
        (
            "{ kind = \"icmp\" }",
            &[
                "group[0].probe.kind: \"icmp\" is unknown; use \"http\" or \"https\" or \"tcp\" or \"none\"",
            ],
        ),
        (
            "{ kind = \"none\", path = \"/\" }",
            &[
                "group[0].probe.path: unknown key; known here: kind",
                "group[0].probe: nothing is probed, and 2 members are enabled; use `kind = \"http\"` or `kind = \"tcp\"`, or enable one member only",
            ],
        ),
    ] {
        let text = with("probe = { kind = \"http\" }", &format!("probe = {probe}"));
        assert_eq!(mistakes(&text), expected);
    }
}

#[test]
fn bad_paths() {
    for path in [
        "",
        "healthz",
        "http://a/",
        "/a b",
        "/a#b",
        "/ä",
        "/%",
        "/%2",
        "/%zz",
        "/a\\n",
    ] {
        let found = bad(&format!("path = \"{path}\""));
        let start =
            format!("group[0].probe.path: \"{path}\" is no path for a request; begin with `/`");
        assert!(
            found.len() == 1 && found[0].starts_with(&start),
            "{found:?}"
        );
    }
    for path in ["/", "/a/b?c=d&e=%2F", "/~x;y=(1,2)"] {
        assert_eq!(http(&format!("path = \"{path}\"")).path, path);
    }
}

#[test]
fn bad_headers() {
    const VALUE: &str =
        "is no value of a header; use printable ASCII without a space at either end";
    for (header, expected) in [
        (
            "\"X Y\" = \"1\"",
            "\"X Y\": is no name of a header; use letters, digits and `-`".to_owned(),
        ),
        (
            "\"\" = \"1\"",
            "\"\": is no name of a header; use letters, digits and `-`".to_owned(),
        ),
        (
            "hOST = \"a\"",
            "hOST: is set by the probe itself; use the key `host` of the probe".to_owned(),
        ),
        (
            "User-Agent = \"a\"",
            "User-Agent: is set by the probe itself; use the key `user_agent` of the probe"
                .to_owned(),
        ),
        (
            "Content-Length = \"1\"",
            "Content-Length: is set by the probe itself; leave it out".to_owned(),
        ),
        ("A = \"1\\n2\"", format!("A: \"1\\n2\" {VALUE}")),
        ("A = \"\"", format!("A: \"\" {VALUE}")),
        ("A = \" x\"", format!("A: \" x\" {VALUE}")),
        ("A = 1", "A: 1 is an integer; use a string".to_owned()),
    ] {
        let found = bad(&format!("headers = {{ {header} }}"));
        assert_eq!(found, [format!("group[0].probe.headers.{expected}")]);
    }
    let found = bad("headers = 1");
    assert_eq!(
        found,
        ["group[0].probe.headers: 1 is an integer; use a table: `headers = { .. }`"]
    );
    let headers = |count: u8| {
        let headers: Vec<_> = (0..count).map(|i| format!("X-{i} = \"1\"")).collect();
        bad(&format!("headers = {{ {} }}", headers.join(", ")))
    };
    assert_eq!(headers(8), [""; 0]);
    assert_eq!(
        headers(9),
        ["group[0].probe.headers: has 9 headers; use at most 8"]
    );
    let found = bad("headers = { x-a = \"1\", X-A = \"2\" }");
    let expected = "group[0].probe.headers: X-A and x-a are the same header; leave out one of them";
    assert_eq!(found, [expected]);
}

#[test]
fn headers_stand_in_one_order() {
    let http = http("user_agent = \"U\", headers = { B = \"2\", A = \"1\" }");
    let pairs: Vec<_> = http
        .headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    assert_eq!(pairs, ["User-Agent:U", "A:1", "B:2"]);
}

#[test]
fn bad_status_codes() {
    for code in [
        "",
        "OK",
        "99",
        "600",
        "299-200",
        "200-",
        "-200",
        "+200",
        "2xx",
        "200-250-299",
    ] {
        let expected = format!(
            "group[0].probe.expect[0]: \"{code}\" is no status code; use \"200\" or \"200-299\", from 100 to 599"
        );
        assert_eq!(bad(&format!("expect = [\"{code}\"]")), [expected]);
    }
    let codes = |count: u16| {
        (200..200 + count)
            .map(|code| format!("\"{code}\""))
            .collect::<Vec<_>>()
    };
    assert_eq!(bad(&format!("expect = [{}]", codes(8).join(","))), [""; 0]);
    let expected = ["group[0].probe.expect: has 9 ranges; use at most 8"];
    assert_eq!(bad(&format!("expect = [{}]", codes(9).join(","))), expected);
}

#[test]
fn status_codes_in_another_order_are_the_same_probe() {
    let one = http("expect = [\"200-299\", \"404\", \"404\"]");
    assert_eq!(one, http("expect = [\"404\", \"200-299\"]"));
    assert_eq!(one.expect.len(), 2);
}

#[test]
fn bad_smoothing() {
    for (latency, expected) in [
        ("smoothing = 0", "smoothing: 0 is out of range; use 1 to 64"),
        (
            "smoothing = 65",
            "smoothing: 65 is out of range; use 1 to 64",
        ),
        (
            "dead_band = 1",
            "dead_band: 1 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "dead_band = \"11s\"",
            "dead_band: 11s is out of range; use 0s to 10s",
        ),
        (
            "dead_band_percent = 101",
            "dead_band_percent: 101 is out of range; use 0 to 100",
        ),
        (
            "dead_band_percent = \"10%\"",
            "dead_band_percent: \"10%\" is a string; use 0 to 100",
        ),
        (
            "window = 4",
            "window: unknown key; known here: smoothing, dead_band, dead_band_percent",
        ),
    ] {
        let expected = format!("group[0].probe.latency.{expected}");
        assert_eq!(bad(&format!("latency = {{ {latency} }}")), [expected]);
    }
    let probe = probe("latency = { smoothing = 1, dead_band = \"0s\", dead_band_percent = 100 }");
    let expected = Smoothing {
        parts: 1,
        dead_band: Duration::ZERO,
        dead_band_percent: 100,
    };
    assert_eq!(probe.smoothing, expected);
}

#[test]
fn what_depends_on_a_bad_value_is_not_reported_too() {
    let found = bad("interval = \"x\", timeout = \"40s\"");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn the_default_timeout_is_never_above_the_interval() {
    assert_eq!(probe("interval = \"2s\"").timeout, Duration::from_secs(2));
    assert_eq!(probe("interval = \"60s\"").timeout, Duration::from_secs(5));
}

#[test]
fn a_group_without_a_service_has_no_port_to_take() {
    let text = with(
        "[[service]]",
        "[[group]]\nname = \"h\"\nmember = [{ backend = \"a\" }]\nprobe = { kind = \"http\" }\n[[service]]",
    );
    let expected = "group[1].probe.port: is missing, and no service with a port uses this group; add `port = 80`";
    assert_eq!(mistakes(&text), [expected]);
    let service_with_a_mistake = text.replace("port = 80", "port = 0");
    let expected = "service[0].port: 0 is out of range; use 1 to 65535";
    assert_eq!(mistakes(&service_with_a_mistake), [expected]);
}
