//! Reads and writes elements of the maps.
//!
//! The daemon and the other CPUs write while this program reads, so what they change in place is
//! copied out word by word with volatile accesses. Keys and service ids are read as they are: `keys`
//! and `service_id` say what may happen then.

use core::{mem, ptr};

use aya_ebpf::maps::{PerCpuArray, lpm_trie::Key};
use lb_common::{
    Address, Bucket, CHUNK, Counter, Descriptor, Entry, FLOW_PASSES, HashKey, LONG_NETWORKS, Place,
    Port, Service, ServiceGroup, ServiceKey, Target, Tuple, WAYS,
};
use lb_ebpf::budget::Budget;
use zerocopy::transmute_ref;

use super::maps;

/// The keys of the hashes.
pub(super) struct Keys {
    pub(super) ring: &'static HashKey,
    pub(super) flows: &'static [HashKey; FLOW_PASSES],
}

/// The keys from the control element.
#[inline(always)]
pub(super) fn keys() -> Option<Keys> {
    let control = maps::CONTROL.get_ptr(0)?;
    // SAFETY: an element of an array is never freed. The flow keys are drawn before the program runs
    // and never change. The ring key changes when a daemon takes over with another one: a packet may
    // then meet words of both, and a new flow go by a slot of neither, to some target of its group.
    unsafe {
        Some(Keys {
            ring: &(*control).ring_key,
            flows: &(*control).flow_keys,
        })
    }
}

/// The services that use a port.
#[inline(always)]
pub(super) fn port(port: u16) -> Port {
    let element = maps::PORTS.get_ptr(port.into());
    // SAFETY: an element of an array is never freed.
    element.map_or(Port::default(), |port| unsafe { ptr::read_volatile(port) })
}

/// The service with an id.
#[inline(always)]
pub(super) fn service(id: u32) -> Option<Service> {
    let words = maps::SERVICES.get_ptr(id)?.cast::<u64>();
    // SAFETY: an element of an array is never freed. A service is four aligned words, and any bytes
    // are one.
    unsafe {
        let word = |i| ptr::read_volatile(words.add(i));
        let words: [u64; 4] = [word(0), word(1), word(2), word(3)];
        Some(mem::transmute::<[u64; 4], Service>(words))
    }
}

/// The id of the service that packets of a flow are addressed to.
#[inline(always)]
pub(super) fn service_id(tuple: &Tuple) -> Option<u32> {
    // In words: the compiler writes a key of alignment 1 byte by byte.
    let [a, b, c, d] = tuple.service.words().map(u32::to_be);
    let [high, low] = tuple.service_port;
    let last = u32::from_ne_bytes([high, low, tuple.protocol.0, 0]);
    let words = [a, b, c, d, last];
    let key: &ServiceKey = transmute_ref!(&words);
    // SAFETY: the element is copied at once. The kernel may give an element that is removed in this
    // moment to another key: then the service that it names has another address, or takes one packet
    // too many.
    unsafe { maps::SERVICE_IDS.get(key) }.copied()
}

/// Whether the targets of a group may serve a service.
#[inline(always)]
pub(super) fn serves(group: u32, service: &Service) -> bool {
    let key = ServiceGroup {
        service: service.id,
        group,
    };
    group == service.group || maps::SERVICE_GROUPS.get_ptr(key).is_some()
}

/// Which of the two buffers of client prefixes is in use.
#[inline(always)]
pub(super) fn clients_in_use() -> u32 {
    let control = maps::CONTROL.get_ptr(0);
    // SAFETY: an element of an array is never freed.
    control.map_or(0, |control| unsafe {
        ptr::read_volatile(&raw const (*control).clients)
    })
}

/// What is known of 256 IPv4 addresses.
#[inline(always)]
pub(super) fn network_v4(buffer: u32, network: u32) -> Place {
    let networks = maps::CLIENTS_V4.get_ptr(buffer);
    let network = network as usize % (1 << 24);
    // SAFETY: an element of an array is never freed, and the remainder is inside it.
    networks.map_or(Place::default(), |networks| unsafe {
        ptr::read_volatile(networks.cast::<Place>().add(network))
    })
}

/// The class of one of 256 IPv4 addresses that are told apart.
#[inline(always)]
pub(super) fn long_network_v4(buffer: u32, index: u16, last: u8) -> u16 {
    let index = buffer * LONG_NETWORKS + u32::from(index);
    // SAFETY: an element of an array is never freed, and a byte is inside it.
    maps::CLIENTS_V4_LONG
        .get_ptr(index)
        .map_or(0, |network| unsafe {
            ptr::read_volatile(network.cast::<u16>().add(last.into()))
        })
}

/// The class of an IPv6 client.
#[inline(always)]
pub(super) fn class_v6(buffer: u32, client: Address) -> u32 {
    let key = Key::new(128, client);
    let prefixes = if buffer == 0 {
        &maps::CLIENTS_V6_0
    } else {
        &maps::CLIENTS_V6_1
    };
    prefixes.get(key).copied().unwrap_or(0)
}

/// Whether an address has a service.
#[inline(always)]
pub(super) fn has_service(address: Address) -> bool {
    maps::ADDRESSES.get_ptr(address).is_some()
}

/// The ring of a row.
#[inline(always)]
pub(super) fn ring(row: u32) -> Option<Descriptor> {
    let ring = maps::RINGS.get_ptr(row)?;
    // SAFETY: an element of an array is never freed.
    Some(unsafe { ptr::read_volatile(ring) })
}

/// The target id in a slot of the ring pool.
#[inline(always)]
pub(super) fn slot(slot: u32) -> Option<u16> {
    let chunk = maps::SLOTS.get_ptr(slot / CHUNK as u32)?;
    // SAFETY: an element of an array is never freed, and the remainder is inside the chunk.
    Some(unsafe { ptr::read_volatile(chunk.cast::<u16>().add(slot as usize % CHUNK)) })
}

/// The target of an id.
#[inline(always)]
pub(super) fn target(id: u16) -> Option<Target> {
    let words = maps::TARGETS.get_ptr(id.into())?.cast::<u64>();
    // SAFETY: an element of an array is never freed. A target is eight aligned words, and any
    // bytes are one.
    unsafe {
        let word = |i| ptr::read_volatile(words.add(i));
        let words: [u64; 8] = [
            word(0),
            word(1),
            word(2),
            word(3),
            word(4),
            word(5),
            word(6),
            word(7),
        ];
        Some(mem::transmute::<[u64; 8], Target>(words))
    }
}

/// Adds a packet of `bytes` to a counter of this CPU.
#[inline(always)]
pub(super) fn add(counters: &PerCpuArray<Counter>, index: u32, bytes: u64) {
    if let Some(counter) = counters.get_ptr_mut(index) {
        // SAFETY: only this CPU writes it, and XDP runs there with softirqs off, never within
        // itself.
        let counter = unsafe { &mut *counter };
        counter.packets += 1;
        counter.bytes += bytes;
    }
}

/// This CPU's budget of inserts.
#[inline(always)]
pub(super) fn budget() -> Option<&'static mut Budget> {
    // SAFETY: only this CPU uses it, and the program asks for it once per packet.
    maps::INSERTS
        .get_ptr_mut(0)
        .map(|budget| unsafe { &mut *budget })
}

/// A bucket of the flow table. Several CPUs may write one at the same time, without a lock.
///
/// A word is written whole, so an entry's name always carries the target of its own fingerprint;
/// but its two words may come from two writers. Then an entry has the age and state of another:
/// it is given up, or kept, too early or too late. Its packets still go to the target of its
/// name, and only if that target is of the service's group.
#[derive(Clone, Copy)]
pub(super) struct Ways(*mut Entry);

impl Ways {
    /// The bucket with this index.
    #[inline(always)]
    pub(super) fn of_bucket(index: u32) -> Option<Self> {
        let bucket: *mut Bucket = maps::FLOWS.get_ptr_mut(index)?;
        Some(Self(bucket.cast()))
    }

    /// The entry with this fingerprint, and its way.
    ///
    /// Its name is read once: if it were read again, another flow's could stand there by then.
    #[inline(always)]
    pub(super) fn find(self, fingerprint: u64) -> Option<(usize, Entry)> {
        (0..WAYS).find_map(|way| {
            let name = self.name(way);
            let entry = |life| (way, Entry { name, life });
            Entry::same_flow(name, fingerprint).then(|| entry(self.life(way)))
        })
    }

    /// The entry in a way.
    #[inline(always)]
    pub(super) fn entry(self, way: usize) -> Entry {
        Entry {
            name: self.name(way),
            life: self.life(way),
        }
    }

    /// Changes the age and state of the entry in a way.
    #[inline(always)]
    pub(super) fn set_life(self, way: usize, life: u64) {
        // SAFETY: as for reading the name.
        unsafe { ptr::write_volatile(&raw mut (*self.way(way)).life, life) }
    }

    /// Puts an entry into a way: its life first, lest its name meets a life that is over. Not every
    /// CPU keeps the order (arm64 does not); then a packet may miss the entry once.
    #[inline(always)]
    pub(super) fn set(self, way: usize, entry: Entry) {
        self.set_life(way, entry.life);
        // SAFETY: as for reading it.
        unsafe { ptr::write_volatile(&raw mut (*self.way(way)).name, entry.name) }
    }

    #[inline(always)]
    fn name(self, way: usize) -> u64 {
        // SAFETY: the remainder in `way` is inside the bucket, whose words are aligned and never
        // freed.
        unsafe { ptr::read_volatile(&raw const (*self.way(way)).name) }
    }

    #[inline(always)]
    fn life(self, way: usize) -> u64 {
        // SAFETY: as for the name.
        unsafe { ptr::read_volatile(&raw const (*self.way(way)).life) }
    }

    #[inline(always)]
    fn way(self, way: usize) -> *mut Entry {
        self.0.wrapping_add(way % WAYS)
    }
}
