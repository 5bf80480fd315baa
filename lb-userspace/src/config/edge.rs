use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

use lb_common::CHUNK;
use toml::Value;

use super::{
    leaf::{self, shown},
    nat,
    raw::Table,
    report::Wrong,
    tunnels, whereabouts,
};
use crate::{
    model::{Edge, FlowIdle, XdpMode},
    refusal,
};

pub(super) const LARGEST_TABLE: u32 = 1 << 26;
/// The kernel keeps some free for each CPU, so that a smaller table would give up pins early.
pub(super) const FEWEST_PINS: u32 = 1 << 10;
const ONE_MILLION: u32 = 1 << 20;
/// As many as the packet program's table of them takes.
const MOST_INTERFACES: usize = 64;
/// Room for the shortest ring, and for its successor beside it.
const SMALLEST_POOL: u32 = 1 << 15;

/// Reads `[edge]`.
pub(super) fn read(edge: &mut Table<'_>) -> Option<Edge> {
    let name = edge.required("name", "\"fra-1\"", leaf::name);
    let interfaces = interfaces(edge);
    let modes = [
        ("auto", XdpMode::Auto),
        ("native", XdpMode::Native),
        ("generic", XdpMode::Generic),
    ];
    let xdp_mode = edge.or("xdp_mode", XdpMode::Auto, leaf::one_of(&modes));
    let ring_key = edge.or("ring_key", "waggle".to_owned(), ring_key);
    let packet_log = leaf::one_of(&[("off", false), ("debug", true)]);
    let packet_log = edge.or("packet_log", false, packet_log);
    let pin_dir = edge.optional("pin_dir", leaf::path);
    let state_dir = edge.optional("state_dir", leaf::path);
    let control = edge.optional("control", socket);
    let metrics = edge.or("metrics", None, listener);
    let grace = leaf::duration(Duration::ZERO..=Duration::from_secs(3600));
    let startup_grace = edge.or("startup_grace", Duration::from_secs(10), grace);
    let flow_entries = edge.or("flow_entries", ONE_MILLION, flow_entries);
    let flow_idle = edge.table("flow_idle", |idle| Some(read_flow_idle(idle)));
    let ring_slots = edge.or("ring_slots", 4 * ONE_MILLION, ring_slots);
    let location = edge.optional("location", whereabouts::location);
    let pins = leaf::within(FEWEST_PINS..=LARGEST_TABLE);
    let affinity_entries = edge.or("affinity_entries", 1 << 16, pins);
    let answer_echo = edge.or("answer_echo", true, leaf::truth);
    let nat = nat::read(edge);
    let tunnels = tunnels::read(edge);
    let reply_limit = edge.or("reply_limit", 1000, leaf::within(0..=u32::MAX));
    let insert_limit = edge.or("insert_limit", 500_000, leaf::within(1000..=u32::MAX));

    let name = name?;
    let under = |dir: &str| PathBuf::from(format!("{dir}/{name}"));
    Some(Edge {
        interfaces: interfaces?,
        xdp_mode,
        ring_key,
        packet_log,
        pin_dir: pin_dir.unwrap_or_else(|| Edge::default_pin_dir(name.as_str())),
        state_dir: state_dir.unwrap_or_else(|| under(Edge::STATE_ROOT)),
        control: control.unwrap_or_else(|| format!("{}/{name}.sock", Edge::RUN_ROOT).into()),
        metrics,
        location,
        startup_grace,
        flow_entries,
        flow_idle: flow_idle.unwrap_or(FlowIdle::DEFAULT),
        ring_slots,
        insert_limit,
        reply_limit,
        answer_echo,
        affinity_entries,
        nat,
        tunnels,
        name,
    })
}

/// A time under a second is about what a packet may be late; beyond a day, tables hold the past.
fn read_flow_idle(idle: &mut Table<'_>) -> FlowIdle {
    let mut time = |key, default| {
        let range = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
        idle.or(key, default, leaf::duration(range))
    };
    FlowIdle {
        opening: time("opening", FlowIdle::DEFAULT.opening),
        established: time("established", FlowIdle::DEFAULT.established),
        closing: time("closing", FlowIdle::DEFAULT.closing),
        datagram: time("datagram", FlowIdle::DEFAULT.datagram),
    }
}

fn interfaces(edge: &mut Table<'_>) -> Option<Vec<String>> {
    edge.require("interfaces", "add `interfaces = [\"eth0\"]`");
    let interfaces = edge.list("interfaces", interface_name)?;
    let mut seen = BTreeSet::new();
    if let Some(again) = interfaces.iter().find(|name| !seen.insert(*name)) {
        edge.wrong("interfaces", refusal::value::interface_twice(again));
    }
    if interfaces.len() > MOST_INTERFACES {
        edge.wrong(
            "interfaces",
            refusal::value::many_interfaces(interfaces.len(), MOST_INTERFACES),
        );
    }
    Some(interfaces)
}

/// What the kernel takes as an interface's name (`dev_valid_name`), without control characters.
fn interface_name(value: &Value) -> Result<String, Wrong> {
    let text = leaf::text(value, "the name of an interface, like \"eth0\"")?;
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':');
    if text.is_empty() || text.len() > 15 || matches!(text, "." | "..") || text.contains(bad) {
        return Err(refusal::value::bad_interface_name(shown(text)));
    }
    Ok(text.to_owned())
}

fn ring_key(value: &Value) -> Result<String, Wrong> {
    const WANTED: &str = "a text, the same on every edge";
    match leaf::text(value, WANTED)? {
        "" => Err(refusal::value::empty_text(WANTED)),
        text => Ok(text.to_owned()),
    }
}

/// A path that a unix socket can have: it takes 108 bytes, a zero at the end included (unix(7)).
fn socket(value: &Value) -> Result<PathBuf, Wrong> {
    let path = leaf::path(value)?;
    match path.as_os_str().len() {
        0..=107 => Ok(path),
        length => Err(refusal::value::long_socket_path(length)),
    }
}

/// An address and port to listen on, or none for `off`. A name is not looked up.
fn listener(value: &Value) -> Result<Option<SocketAddr>, Wrong> {
    const WANTED: &str = "\"off\", or an address of this host and a port, like \"127.0.0.1:9390\"";
    let text = leaf::text(value, WANTED)?;
    if text == "off" {
        return Ok(None);
    }
    let bad = |what: &str| refusal::value::bad_listener(shown(text), what, WANTED);
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => Err(bad("names no port")),
        Ok(address) if address.ip().is_multicast() => Err(bad("is a multicast address")),
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(bad("is no address with a port")),
    }
}

fn flow_entries(value: &Value) -> Result<u32, Wrong> {
    let wanted = format!("a power of two from 64 to {LARGEST_TABLE}");
    table_size(value, 64, &wanted, u32::is_power_of_two)
}

fn ring_slots(value: &Value) -> Result<u32, Wrong> {
    let wanted = format!("a multiple of {CHUNK} from {SMALLEST_POOL} to {LARGEST_TABLE}");
    table_size(value, SMALLEST_POOL, &wanted, |size| {
        (size as usize).is_multiple_of(CHUNK)
    })
}

fn table_size(
    value: &Value,
    least: u32,
    wanted: &str,
    fits: impl FnOnce(u32) -> bool,
) -> Result<u32, Wrong> {
    let number = leaf::integer(value, wanted)?;
    let size = u32::try_from(number)
        .ok()
        .filter(|size| (least..=LARGEST_TABLE).contains(size))
        .ok_or_else(|| refusal::value::out_of_range(number, wanted))?;
    if fits(size) {
        Ok(size)
    } else {
        Err(refusal::value::odd_size(size, wanted))
    }
}

#[cfg(test)]
mod tests {
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
}
