//! All that pinned maps hold, byte for byte.

use std::{collections::BTreeMap, fs, mem::offset_of, path::Path};

use aya::{
    Pod,
    maps::{Array, HashMap, Map, MapData, PerCpuArray, lpm_trie::LpmTrie},
};
use lb_common::{
    Address, Bucket, Chunk, Descriptor, FormerRing, FragmentKey, FragmentRoute, HEARTBEAT_OFFSET,
    LongNetwork, Pin, PinKey, ServiceGroup, ServiceKey, Station, Tables, Translation,
    TranslationKey,
};
use lb_userspace::dataplane::{Mapped, TableParts};

/// The bytes of each map in `directory`, but for the heartbeat, which goes on.
///
/// # Panics
/// When a map can not be read, or is none of those that are known here.
pub fn dump(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let pins = fs::read_dir(directory).expect("the directory of the maps");
    let names = pins.map(|pin| {
        pin.expect("a pin")
            .file_name()
            .into_string()
            .expect("a name")
    });
    names
        .map(|name| {
            let path = directory.join(&name);
            let bytes = bytes_of(&name, &path);
            (name, bytes)
        })
        .collect()
}

fn bytes_of(name: &str, path: &Path) -> Vec<u8> {
    match name {
        "TABLES" => {
            let mut bytes = mapped(path);
            bytes[offset_of!(Tables, control) + HEARTBEAT_OFFSET..][..8].fill(0);
            bytes
        }
        "SERVICE_IDS" => hash::<{ size_of::<ServiceKey>() }, 4>(path),
        "SERVICE_GROUPS" => hash::<{ size_of::<ServiceGroup>() }, 4>(path),
        "ADDRESSES" => hash::<{ size_of::<Address>() }, 4>(path),
        "FRAGMENTS" => hash::<{ size_of::<FragmentKey>() }, { size_of::<FragmentRoute>() }>(path),
        "TRANSLATIONS" => {
            hash::<{ size_of::<TranslationKey>() }, { size_of::<Translation>() }>(path)
        }
        "AFFINITY_PINS" => hash::<{ size_of::<PinKey>() }, { size_of::<Pin>() }>(path),
        "CLIENTS_V4" | "CPUS" => mapped(path),
        "CLIENTS_V4_LONG" => array::<{ size_of::<LongNetwork>() }>(path),
        "CLIENTS_V6_0" | "CLIENTS_V6_1" => prefixes(path),
        "RINGS" => array::<{ size_of::<Descriptor>() }>(path),
        "FORMER_RINGS" => array::<{ size_of::<FormerRing>() }>(path),
        "STATIONS" => hash::<4, { size_of::<Station>() }>(path),
        "SLOTS" => array::<{ size_of::<Chunk>() }>(path),
        "FLOWS" => array::<{ size_of::<Bucket>() }>(path),
        "BUDGETS" => per_cpu::<8>(path),
        other => panic!("the map {other} is not known here"),
    }
}

fn data(path: &Path) -> MapData {
    MapData::from_pin(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The pinned map.
pub fn pinned(path: &Path) -> Map {
    Map::from_map_data(data(path)).expect("a kind of map that is known")
}

/// The pinned array of elements of this type.
pub fn pinned_array<T: Pod>(path: &Path) -> Array<MapData, T> {
    Array::try_from(pinned(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The parts of the pinned map TABLES.
pub fn pinned_tables(path: &Path) -> TableParts {
    TableParts::new(&data(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn array<const SIZE: usize>(path: &Path) -> Vec<u8> {
    let array = pinned_array::<[u8; SIZE]>(path);
    let elements = array.iter().map(|element| element.expect("an element"));
    elements.flatten().collect()
}

/// As [`array`], of elements that do not fit on a stack, by way of memory.
fn mapped(path: &Path) -> Vec<u8> {
    let words =
        Mapped::<u64>::flat(&data(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let words = (0..words.len()).map(|index| words.load(index));
    words.flat_map(u64::to_ne_bytes).collect()
}

fn per_cpu<const SIZE: usize>(path: &Path) -> Vec<u8> {
    let array: PerCpuArray<_, [u8; SIZE]> = PerCpuArray::try_from(pinned(path)).expect("per CPU");
    let mut bytes = Vec::new();
    for element in array.iter() {
        let element = element.expect("an element");
        bytes.extend(element.iter().copied().flatten());
    }
    bytes
}

/// Pairs in the order of their bytes.
fn hash<const KEY: usize, const VALUE: usize>(path: &Path) -> Vec<u8> {
    let map: HashMap<_, [u8; KEY], [u8; VALUE]> = HashMap::try_from(pinned(path)).expect("a hash");
    let pairs: BTreeMap<_, _> = map.iter().map(|pair| pair.expect("a pair")).collect();
    let pairs = pairs.into_iter();
    pairs
        .flat_map(|(key, value)| [&key[..], &value].concat())
        .collect()
}

fn prefixes(path: &Path) -> Vec<u8> {
    let trie: LpmTrie<_, [u8; 16], [u8; 4]> = LpmTrie::try_from(pinned(path)).expect("a trie");
    let pairs = trie.iter().map(|pair| pair.expect("a pair"));
    let pairs: BTreeMap<_, _> = pairs
        .map(|(key, value)| ((key.prefix_len(), key.data()), value))
        .collect();
    let pairs = pairs.into_iter();
    pairs
        .flat_map(|((length, data), value)| [&length.to_ne_bytes()[..], &data, &value].concat())
        .collect()
}
