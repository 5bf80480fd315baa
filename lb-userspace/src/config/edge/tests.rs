use crate::config::tests::{expect, mistakes, with};

const INTERFACES: &str = "interfaces = [\"eth0\"]";

fn key(line: &str) -> Vec<String> {
    mistakes(&with(INTERFACES, &format!("{INTERFACES}\n{line}")))
}

#[test]
fn bad_names_of_edges() {
    const RULE: &str =
        "a name is 1 to 63 letters, digits, `.`, `_` or `-` and begins with a letter or digit";
    for (name, shown) in [
        (r#""""#, r#""""#),
        (r#""a\nb""#, r#""a\nb""#),
        (r#""../x""#, r#""../x""#),
        (r#""a\u001b[2J""#, r#""a\u{1b}[2J""#),
    ] {
        let found = mistakes(&with("name = \"e\"", &format!("name = {name}")));
        assert_eq!(found, [format!("edge.name: {shown} is no name; {RULE}")]);
    }
    let long = with("name = \"e\"", &format!("name = \"{}\"", "x".repeat(100)));
    let cut = format!("edge.name: \"{}\".. is no name; {RULE}", "x".repeat(80));
    assert_eq!(mistakes(&long), [cut]);
}

#[test]
fn bad_interfaces() {
    const RULE: &str = "use 1 to 15 letters without space, `/` or `:`";
    for bad in ["", "sixteen-letters.", "a b", "a/b", "a:1", "..", "a\\n"] {
        let found = mistakes(&with(INTERFACES, &format!("interfaces = [\"{bad}\"]")));
        let expected = format!("edge.interfaces[0]: \"{bad}\" is no interface name; {RULE}");
        assert_eq!(found, [expected]);
    }
    expect(
        INTERFACES,
        &[
            (
                "",
                &["edge.interfaces: is missing; add `interfaces = [\"eth0\"]`"],
            ),
            (
                "interfaces = []",
                &["edge.interfaces: is empty; add `interfaces = [\"eth0\"]`"],
            ),
            (
                "interfaces = \"eth0\"",
                &["edge.interfaces: \"eth0\" is a string; use a list, like `[\"..\"]`"],
            ),
            (
                "interface = [\"eth0\"]",
                &[
                    "edge.interfaces: is missing; add `interfaces = [\"eth0\"]`",
                    "edge.interface: unknown key; did you mean `interfaces`?",
                ],
            ),
        ],
    );
}

#[test]
fn bad_settings() {
    for (line, expected) in [
        (
            "xdp_mode = \"fast\"",
            "xdp_mode: \"fast\" is unknown; use \"auto\" or \"native\" or \"generic\"",
        ),
        (
            "packet_log = true",
            "packet_log: true is a boolean; use \"off\" or \"debug\"",
        ),
        (
            "ring_key = \"\"",
            "ring_key: is empty; use a text, the same on every edge",
        ),
        (
            "pin_dir = \"bpf\"",
            "pin_dir: \"bpf\" is no absolute path; use a path that begins with `/`",
        ),
        (
            "state_dir = \"/a\\u0000\"",
            "state_dir: \"/a\\0\" is no absolute path; use a path that begins with `/`",
        ),
        (
            "startup_grace = \"10\"",
            "startup_grace: \"10\" is no duration; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "startup_grace = \"2h\"",
            "startup_grace: 2h is out of range; use 0s to 1h",
        ),
        (
            "ring_grace = 30",
            "ring_grace: 30 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "ring_grace = \"soon\"",
            "ring_grace: \"soon\" is no duration; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "ring_grace = \"11m\"",
            "ring_grace: 11m is out of range; use 0s to 10m",
        ),
    ] {
        assert_eq!(key(line), [format!("edge.{expected}")]);
    }
}

#[test]
fn bad_sizes_and_limits() {
    for (line, expected) in [
        (
            "flow_entries = 32",
            "flow_entries: 32 is out of range; use a power of two from 64 to 67108864",
        ),
        (
            "flow_entries = 134217728",
            "flow_entries: 134217728 is out of range; use a power of two from 64 to 67108864",
        ),
        (
            "ring_slots = 32769",
            "ring_slots: 32769 does not fit; use a multiple of 64 from 32768 to 67108864",
        ),
        (
            "ring_slots = 32704",
            "ring_slots: 32704 is out of range; use a multiple of 64 from 32768 to 67108864",
        ),
        (
            "affinity_entries = 1023",
            "affinity_entries: 1023 is out of range; use 1024 to 67108864",
        ),
        (
            "nat_entries = 1",
            "nat_entries: 1 is out of range; use 1024 to 67108864",
        ),
        (
            "reply_limit = -1",
            "reply_limit: -1 is out of range; use 0 to 4294967295",
        ),
        (
            "insert_limit = 999",
            "insert_limit: 999 is out of range; use 1000 to 4294967295",
        ),
        (
            "insert_limit = 1e6",
            "insert_limit: 1000000.0 is a float; use 1000 to 4294967295",
        ),
    ] {
        assert_eq!(key(line), [format!("edge.{expected}")]);
    }
}

#[test]
fn bad_idle_times_of_flows() {
    for (idle, expected) in [
        (
            "{ datagram = \"999ms\" }",
            ".datagram: 999ms is out of range; use 1s to 1day",
        ),
        (
            "{ established = \"25h\" }",
            ".established: 25h is out of range; use 1s to 1day",
        ),
        (
            "{ opening = 60 }",
            ".opening: 60 has no unit; use a number with a unit, like \"10s\" or \"250ms\"",
        ),
        (
            "{ udp = \"1m\" }",
            ".udp: unknown key; known here: opening, established, closing, datagram",
        ),
        (
            "\"1m\"",
            ": \"1m\" is a string; use a table: `flow_idle = { .. }`",
        ),
    ] {
        let found = key(&format!("flow_idle = {idle}"));
        assert_eq!(found, [format!("edge.flow_idle{expected}")]);
    }
}

#[test]
fn bad_places_for_metrics() {
    const MEND: &str =
        "use \"off\", or an address of this host and a port, like \"127.0.0.1:9390\"";
    for (value, wrong) in [
        ("9390", "9390 is an integer"),
        ("\"127.0.0.1\"", "\"127.0.0.1\" is no address with a port"),
        (
            "\"localhost:1\"",
            "\"localhost:1\" is no address with a port",
        ),
        ("\"127.0.0.1:0\"", "\"127.0.0.1:0\" names no port"),
        ("\"[ff02::1]:1\"", "\"[ff02::1]:1\" is a multicast address"),
    ] {
        let found = key(&format!("metrics = {value}"));
        assert_eq!(found, [format!("edge.metrics: {wrong}; {MEND}")]);
    }
}

#[test]
fn the_limits_themselves_are_allowed() {
    for line in [
        "metrics = \"off\"",
        "metrics = \"0.0.0.0:1\"",
        "metrics = \"[::1]:65535\"",
        "flow_entries = 64",
        "flow_entries = 67108864",
        "flow_idle = { opening = \"1s\", established = \"24h\", closing = \"1day\" }",
        "ring_slots = 32768",
        "ring_slots = 67108864",
        "insert_limit = 1000",
        "reply_limit = 0",
        "answer_echo = false",
        "affinity_entries = 1024",
        "startup_grace = \"0s\"",
        "startup_grace = \"1h\"",
        "ring_grace = \"0s\"",
        "ring_grace = \"10m\"",
    ] {
        assert_eq!(key(line), [""; 0], "{line}");
    }
}

#[test]
fn a_control_path_fits_a_socket_address() {
    let path = |length: usize| format!("control = \"/{}\"", "x".repeat(length - 1));
    assert_eq!(key(&path(107)), [""; 0]);
    let expected = "edge.control: a socket's path can not be 108 bytes long; use at most 107";
    assert_eq!(key(&path(108)), [expected]);
}
