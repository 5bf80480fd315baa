use std::{path::PathBuf, time::Duration};

use lb_common::CHUNK;
use toml::Value;

use super::{
    leaf::{self, shown},
    problem::Wrong,
    raw::Table,
};
use crate::model::{Edge, XdpMode};

const LARGEST_TABLE: u32 = 1 << 26;
const ONE_MILLION: u32 = 1 << 20;

/// Reads `[edge]`.
pub(super) fn read(edge: &mut Table<'_>) -> Option<Edge> {
    let name = edge.required("name", "\"fra-1\"", leaf::name);
    let interface = interface(edge);
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
    let grace = leaf::duration(Duration::ZERO..=Duration::from_secs(3600));
    let startup_grace = edge.or("startup_grace", Duration::from_secs(10), grace);
    let flow_entries = edge.or("flow_entries", ONE_MILLION, flow_entries);
    let ring_slots = edge.or("ring_slots", ONE_MILLION, ring_slots);
    let insert_limit = edge.or("insert_limit", 500_000, leaf::within(1000..=u32::MAX));

    let name = name?;
    let under = |dir: &str| PathBuf::from(format!("{dir}/{name}"));
    Some(Edge {
        interface: interface?,
        xdp_mode,
        ring_key,
        packet_log,
        pin_dir: pin_dir.unwrap_or_else(|| under(Edge::PIN_ROOT)),
        state_dir: state_dir.unwrap_or_else(|| under(Edge::STATE_ROOT)),
        control: control.unwrap_or_else(|| format!("{}/{name}.sock", Edge::RUN_ROOT).into()),
        startup_grace,
        flow_entries,
        ring_slots,
        insert_limit,
        name,
    })
}

fn interface(edge: &mut Table<'_>) -> Option<String> {
    edge.require("interfaces", "add `interfaces = [\"eth0\"]`");
    let interfaces = edge.list("interfaces", interface_name)?;
    if interfaces.len() > 1 {
        let message = format!("{} interfaces are given", interfaces.len());
        let wrong = Wrong::new(message, "use one: more than one is not there yet");
        edge.wrong("interfaces", wrong);
    }
    interfaces.into_iter().next()
}

/// What the kernel takes as an interface's name (`dev_valid_name`), without control characters.
fn interface_name(value: &Value) -> Result<String, Wrong> {
    let text = leaf::text(value, "the name of an interface, like \"eth0\"")?;
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':');
    if text.is_empty() || text.len() > 15 || matches!(text, "." | "..") || text.contains(bad) {
        return Err(Wrong::new(
            format!("{} is no interface name", shown(text)),
            "use 1 to 15 letters without space, `/` or `:`",
        ));
    }
    Ok(text.to_owned())
}

fn ring_key(value: &Value) -> Result<String, Wrong> {
    const WANTED: &str = "a text, the same on every edge";
    match leaf::text(value, WANTED)? {
        "" => Err(Wrong::new("is empty", format!("use {WANTED}"))),
        text => Ok(text.to_owned()),
    }
}

/// A path that a unix socket can have: it takes 108 bytes, a zero at the end included (unix(7)).
fn socket(value: &Value) -> Result<PathBuf, Wrong> {
    let path = leaf::path(value)?;
    match path.as_os_str().len() {
        0..=107 => Ok(path),
        length => Err(Wrong::new(
            format!("a socket's path can not be {length} bytes long"),
            "use at most 107",
        )),
    }
}

fn flow_entries(value: &Value) -> Result<u32, Wrong> {
    let wanted = format!("a power of two from 64 to {LARGEST_TABLE}");
    table_size(value, 64, &wanted, u32::is_power_of_two)
}

fn ring_slots(value: &Value) -> Result<u32, Wrong> {
    let wanted = format!("a multiple of {CHUNK} from 16384 to {LARGEST_TABLE}");
    table_size(value, 16_384, &wanted, |size| {
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
        .ok_or_else(|| leaf::out_of_range(number, wanted))?;
    if fits(size) {
        Ok(size)
    } else {
        Err(Wrong::new(
            format!("{size} does not fit"),
            format!("use {wanted}"),
        ))
    }
}
