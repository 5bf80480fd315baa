//! The maps. The loader gives them other sizes where there is a setting for it.

use aya_ebpf::{
    bindings::{BPF_F_MMAPABLE, BPF_F_NO_PREALLOC},
    macros::map,
    maps::{Array, HashMap, LpmTrie, LruHashMap, PerCpuArray},
};
use lb_common::{
    Address, Bucket, CHUNK, CLIENT_BUFFERS, Chunk, Cpu, Descriptor, FormerRing, FragmentKey,
    FragmentRoute, LONG_NETWORKS, LongNetwork, Networks, Pin, PinKey, ServiceGroup, ServiceKey,
    Station, Tables, Transit, Translation, TranslationKey, Tuple, V6_PREFIXES,
};
use lb_ebpf::{budget::Budget, reply::Reply};

use super::pins::Content;

/// Buckets of the map FLOWS unless the loader says otherwise: a million entries, 16 MiB.
pub(super) const DEFAULT_BUCKETS: u32 = 1 << 17;

const SERVICE_COUNT: u32 = lb_common::SERVICE_COUNT as u32;
const ROW_COUNT: u32 = 1 << 17;
const RING_SLOTS: u32 = 1 << 20;
const PIN_COUNT: u32 = 1 << 16;
const TRANSLATED_FLOWS: u32 = 1 << 16;
const FRAGMENTED_PACKETS: u32 = 1 << 14;
const INTERFACE_COUNT: u32 = 64;

/// What packets of known flows are looked up in.
#[map]
pub(super) static TABLES: Array<Tables> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// The ids of the published services.
#[map]
pub(super) static SERVICE_IDS: HashMap<ServiceKey, u32> =
    HashMap::with_max_entries(SERVICE_COUNT, 0);

/// Which groups may serve a service besides its own; the values mean nothing.
#[map]
pub(super) static SERVICE_GROUPS: HashMap<ServiceGroup, u32> =
    HashMap::with_max_entries(16 * SERVICE_COUNT, 0);

/// The addresses that have a service; the values mean nothing here.
#[map]
pub(super) static ADDRESSES: HashMap<Address, u32> = HashMap::with_max_entries(SERVICE_COUNT, 0);

/// The classes of IPv4 clients by the first 24 bits of their address, one element per buffer.
#[map]
pub(super) static CLIENTS_V4: Array<Networks> =
    Array::with_max_entries(CLIENT_BUFFERS, BPF_F_MMAPABLE);

/// The classes of those whose first 24 bits do not tell, first those of buffer 0.
#[map]
pub(super) static CLIENTS_V4_LONG: Array<LongNetwork> =
    Array::with_max_entries(CLIENT_BUFFERS * LONG_NETWORKS, BPF_F_MMAPABLE);

/// The classes of IPv6 clients in buffer 0.
#[map]
pub(super) static CLIENTS_V6_0: LpmTrie<Address, u32> =
    LpmTrie::with_max_entries(V6_PREFIXES, BPF_F_NO_PREALLOC);

/// The classes of IPv6 clients in buffer 1.
#[map]
pub(super) static CLIENTS_V6_1: LpmTrie<Address, u32> =
    LpmTrie::with_max_entries(V6_PREFIXES, BPF_F_NO_PREALLOC);

/// Where in SLOTS each ring stands, by row and class.
#[map]
pub(super) static RINGS: Array<Descriptor> = Array::with_max_entries(ROW_COUNT, BPF_F_MMAPABLE);

/// What rows of RINGS showed before they changed, for as long as that counts.
#[map]
pub(super) static FORMER_RINGS: Array<FormerRing> =
    Array::with_max_entries(ROW_COUNT, BPF_F_MMAPABLE);

/// The ring pool, in which a ring of groups with affinity has a head.
#[map]
pub(super) static SLOTS: Array<Chunk> =
    Array::with_max_entries(RING_SLOTS / CHUNK as u32, BPF_F_MMAPABLE);

/// Where the clients of services with affinity went last. The kernel gives up, more or less, what was
/// not used for the longest time.
#[map]
pub(super) static AFFINITY_PINS: LruHashMap<PinKey, Pin> =
    LruHashMap::with_max_entries(PIN_COUNT, 0);

/// Where the first fragments of packets went. The kernel gives up, more or less, what is oldest.
#[map]
pub(super) static FRAGMENTS: LruHashMap<FragmentKey, FragmentRoute> =
    LruHashMap::with_max_entries(FRAGMENTED_PACKETS, 0);

/// The flows of `full-nat` backends. The kernel gives up, more or less, what was not used for the longest
/// time.
#[map]
pub(super) static TRANSLATIONS: LruHashMap<TranslationKey, Translation> =
    LruHashMap::with_max_entries(TRANSLATED_FLOWS, 0);

/// The flow table.
#[map]
pub(super) static FLOWS: Array<Bucket> = Array::with_max_entries(DEFAULT_BUCKETS, BPF_F_MMAPABLE);

/// What each CPU has for itself, by CPU. The loader makes it for all that the host can have.
#[map]
pub(super) static CPUS: Array<Cpu> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// The interfaces that packets are served on, by index.
#[map]
pub(super) static STATIONS: HashMap<u32, Station> = HashMap::with_max_entries(INTERFACE_COUNT, 0);

/// The frame that each CPU is at work on.
#[map]
pub(super) static TRANSIT: PerCpuArray<Transit> = PerCpuArray::with_max_entries(1, 0);

/// What is in that frame, if it needs a target.
#[map]
pub(super) static CONTENTS: PerCpuArray<Content> = PerCpuArray::with_max_entries(1, 0);

/// What its sender is told, if it is.
#[map]
pub(super) static REPLIES: PerCpuArray<Reply> = PerCpuArray::with_max_entries(1, 0);

/// The packet that each CPU is at work on, for the log.
#[map]
pub(super) static LOG_LINES: PerCpuArray<Tuple> = PerCpuArray::with_max_entries(1, 0);

/// What each CPU has done of what is limited per tick.
#[map]
pub(super) static BUDGETS: PerCpuArray<Budget> = PerCpuArray::with_max_entries(2, 0);

/// Element of BUDGETS for what is written to FLOWS, AFFINITY_PINS, TRANSLATIONS and
/// FRAGMENTS.
pub(super) const INSERT_BUDGET: u32 = 0;

/// Element of BUDGETS for packets that are sent back as replies.
pub(super) const REPLY_BUDGET: u32 = 1;
