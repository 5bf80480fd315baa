//! The packet program's object, and how the settings of an edge go into it.

use std::{collections::BTreeMap, fmt::Display, fs, num::ParseIntError, path::Path};

use aya::{Ebpf, EbpfLoader, maps::MapType};
use aya_obj::{Map, Object, generated::bpf_map_type};
use lb_common::{CHUNK, TICK_SHIFT, WAYS};

use crate::{
    model::Edge,
    refusal::{
        Refusal,
        program::{broken_object, no_tables},
        reason,
    },
};

/// The packet program, compiled.
pub static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/waggle-xdp"));

/// Name of the program in [`OBJECT`].
pub const PROGRAM: &str = "waggle";

/// What a map is made as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) map_type: Option<MapType>,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
}

/// The names of the maps that outlive the program.
pub(super) fn map_names() -> Result<Vec<String>, Refusal> {
    Ok(lasting_maps()?.map(|(name, _)| name).collect())
}

/// The maps that outlive the program, in the sizes that `edge` asks for.
pub(super) fn shapes(edge: &Edge) -> Result<BTreeMap<String, Shape>, Refusal> {
    let sizes = sizes(edge)?;
    let shapes = lasting_maps()?.map(|(name, map)| {
        let size = sizes.iter().find(|(sized, _)| *sized == name);
        let map_type = bpf_map_type::try_from(map.map_type()).ok();
        let shape = Shape {
            map_type: map_type.and_then(|map_type| map_type.try_into().ok()),
            key_size: map.key_size(),
            value_size: map.value_size(),
            entries: size.map_or(map.max_entries(), |(_, entries)| *entries),
            flags: map.map_flags(),
        };
        (name, shape)
    });
    Ok(shapes.collect())
}

fn lasting_maps() -> Result<impl Iterator<Item = (String, Map)>, Refusal> {
    let object = Object::parse(OBJECT).map_err(|e| broken_object(reason(&e)))?;
    let maps = object.maps.into_iter();
    let of_the_program = ["AYA_LOGS", "CONTENTS", "LOG_LINES", "REPLIES", "TRANSIT"];
    Ok(maps.filter(move |(name, _)| {
        !name.starts_with('.') && !of_the_program.contains(&name.as_str())
    }))
}

/// Loads the object for `edge`. Maps that are pinned in `maps` are used, the others are made and
/// pinned there.
pub(super) fn load<'a>(
    edge: &Edge,
    maps: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<Ebpf, Refusal> {
    load_as(edge, maps, names, false)
}

/// Loads the object for `edge` as a program that only tells how it decides.
pub(super) fn load_prover<'a>(
    edge: &Edge,
    maps: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<Ebpf, Refusal> {
    load_as(edge, maps, names, true)
}

fn load_as<'a>(
    edge: &Edge,
    maps: &Path,
    names: impl Iterator<Item = &'a String>,
    proves: bool,
) -> Result<Ebpf, Refusal> {
    let mut loader = EbpfLoader::new();
    // The object has nothing to relocate, and reading the kernel's types takes a while.
    loader.btf(None);
    for (map, entries) in sizes(edge)? {
        loader.map_max_entries(map, entries);
    }
    for name in names {
        loader.map_pin_path(name.as_str(), maps.join(name));
    }
    let flow_mask = buckets(edge) - 1;
    let insert_limit = per_tick(edge.insert_limit);
    let reply_limit = per_tick(edge.reply_limit);
    let nat_first = u32::from(*edge.nat.ports.start());
    let nat_count = u32::from(*edge.nat.ports.end()) - nat_first + 1;
    let tunnel_hops = u8::from(edge.tunnels.are_hops);
    let tunnel_checksum = u8::from(edge.tunnels.have_checksums);
    let [more_v4, more_v6] = edge.tunnels.more_sources();
    let answer_echo = u8::from(edge.answer_echo);
    let packet_log = u8::from(edge.packet_log && !proves);
    let proof = u8::from(proves);
    loader
        .override_global("ANSWER_ECHO", &answer_echo, true)
        .override_global("FLOW_MASK", &flow_mask, true)
        .override_global("INSERT_LIMIT", &insert_limit, true)
        .override_global("MORE_SOURCES_V4", &more_v4, true)
        .override_global("MORE_SOURCES_V6", &more_v6, true)
        .override_global("NAT_FIRST_PORT", &nat_first, true)
        .override_global("NAT_PORT_COUNT", &nat_count, true)
        .override_global("PACKET_LOG", &packet_log, true)
        .override_global("REPLY_LIMIT", &reply_limit, true)
        .override_global("PROOF", &proof, true)
        .override_global("TUNNEL_CHECKSUM", &tunnel_checksum, true)
        .override_global("TUNNEL_HOPS", &tunnel_hops, true)
        .load(OBJECT)
        .map_err(|error| no_tables(reason(&error)))
}

/// The maps whose size is a setting, or that have an element for each CPU that the host can have.
fn sizes(edge: &Edge) -> Result<[(&'static str, u32); 5], Refusal> {
    let chunks = (edge.ring_slots / CHUNK as u32).max(1);
    Ok([
        ("AFFINITY_PINS", edge.affinity_entries.max(1)),
        ("CPUS", cpus()?),
        ("FLOWS", buckets(edge)),
        ("SLOTS", chunks),
        ("TRANSLATIONS", edge.nat.entries.max(1)),
    ])
}

/// One more than the highest number of a CPU that the host can have: elements of the map CPUS.
///
/// # Errors
/// If the kernel does not say it.
pub fn cpus() -> Result<u32, Refusal> {
    const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
    let failed = |error: &dyn Display| no_tables(format_args!("{POSSIBLE}: {error}"));
    let ranges = fs::read_to_string(POSSIBLE).map_err(|error| failed(&error))?;
    beyond(&ranges).map_err(|error| failed(&error))
}

/// One more than the last number in ranges like `0,2-3`.
fn beyond(ranges: &str) -> Result<u32, ParseIntError> {
    let mut backwards = ranges.trim_end().rsplit([',', '-']);
    let last: u32 = backwards.next().unwrap_or_default().parse()?;
    Ok(last.saturating_add(1))
}

fn buckets(edge: &Edge) -> u32 {
    (edge.flow_entries / WAYS as u32).max(1)
}

fn per_tick(per_second: u32) -> u32 {
    let in_2_to_the_tick = u64::from(per_second) << TICK_SHIFT;
    u32::try_from(in_2_to_the_tick.div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_s_number_is_below_the_last_one_whichever_are_left_out() {
        for (ranges, number) in [("0\n", 1), ("0-127\n", 128), ("0,2-3,8", 9), ("0-1,7", 8)] {
            assert_eq!(beyond(ranges), Ok(number), "{ranges}");
        }
        for ranges in ["", "\n", "0-", "all"] {
            assert!(beyond(ranges).is_err(), "{ranges}");
        }
    }

    #[test]
    fn a_limit_per_second_is_rounded_up_to_ticks() {
        assert_eq!(per_tick(0), 0);
        assert_eq!(per_tick(1), 1);
        assert_eq!(per_tick(100_000), 6711);
        assert_eq!(per_tick(u32::MAX), 288_230_377);
    }
}
