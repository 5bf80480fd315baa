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
    let grace = leaf::duration(Duration::ZERO..=Duration::from_secs(600));
    let ring_grace = edge.or("ring_grace", Duration::from_secs(10), grace);
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
        ring_grace,
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
mod tests;
