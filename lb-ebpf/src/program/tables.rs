//! Reads and writes elements of the maps.
//!
//! The daemon and the other CPUs write while this program reads, so what they change in place is
//! copied out word by word with volatile accesses. Keys and service ids are read as they are:
//! `Tables::keys` and `service_id` say what may happen then.

use core::ptr;

use aya_ebpf::{helpers::generated::bpf_get_smp_processor_id, maps::lpm_trie::Key};
use lb_common::{
    Address, Affinity, CHUNK, Cpu, Descriptor, Exit, FormerRing, FragmentKey, FragmentRoute,
    LONG_NETWORKS, Mac, Place, ServiceKey, Tags, Transit, Tuple, member_bit,
};
use lb_ebpf::{budget::Budget, reply::Reply, word};

use super::{maps, pins::Content};

mod flows;
mod known;
mod pins;
mod translations;

pub(super) use self::{
    flows::{Slot, Ways},
    known::{Keys, Service, Tables, Target},
    pins::{PinSlot, put_pin},
    translations::{TranslationSlot, put_translation, remove_translation},
};

/// The MAC address of an interface; that of no frame's receiver if the packet program is not to serve there.
#[inline(always)]
pub(super) fn station(interface: u32) -> Mac {
    let station = maps::STATIONS.get_ptr(interface);
    // SAFETY: an element of a hash that was made in advance is never freed while this runs, and is one
    // aligned word, in which the address stands first.
    let word = station.map_or(u64::MAX, |it| unsafe {
        ptr::read_volatile(it.cast::<u64>())
    });
    // Else the verifier would go the rest once for each of the two.
    Mac::of_number(word::unbounded(word))
}

/// What is kept of the frame that this CPU is at work on.
#[inline(always)]
pub(super) fn transit() -> Option<&'static mut Transit> {
    // SAFETY: only this CPU uses it, and the program asks for it anew each time.
    maps::TRANSIT
        .get_ptr_mut(0)
        .map(|transit| unsafe { &mut *transit })
}

/// What is in it, if it needs a target.
#[inline(always)]
pub(super) fn content() -> Option<&'static mut Content> {
    // SAFETY: as for what is kept of the frame; zeros are one, too.
    maps::CONTENTS
        .get_ptr_mut(0)
        .map(|content| unsafe { &mut *content })
}

/// What its sender is told, if it is.
#[inline(always)]
pub(super) fn reply() -> Option<&'static mut Reply> {
    // SAFETY: as for what is in it.
    maps::REPLIES
        .get_ptr_mut(0)
        .map(|reply| unsafe { &mut *reply })
}

/// The id of the service that packets of a flow are addressed to.
#[inline(always)]
pub(super) fn service_id(tuple: &Tuple) -> Option<u32> {
    let port = tuple.ports.service().to_be_bytes();
    let key = ServiceKey::new(tuple.service, port, tuple.protocol);
    // SAFETY: the element is copied at once. The kernel may give an element that is removed in this
    // moment to another key: then the service that it names has another address, or takes one packet
    // too many.
    unsafe { maps::SERVICE_IDS.get(key) }.copied()
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

/// The ring that a row showed before it changed.
#[inline(always)]
pub(super) fn former_ring(row: u32) -> FormerRing {
    let former = maps::FORMER_RINGS.get_ptr(row);
    // SAFETY: an element of an array is never freed.
    former.map_or(FormerRing::NONE, |former| unsafe {
        ptr::read_volatile(former)
    })
}

/// How the clients of a ring are pinned; none if it has no head.
#[inline(always)]
pub(super) fn affinity(ring: Descriptor) -> Option<Affinity> {
    if !ring.has_head() {
        return None;
    }
    let head = maps::SLOTS.get_ptr(ring.offset() / CHUNK as u32)?;
    // SAFETY: an element of an array is never freed, and begins with an aligned word.
    Some(unsafe { ptr::read_volatile(head.cast()) })
}

/// Whether a target stands in a ring with a head.
#[inline(always)]
pub(super) fn is_member(ring: Descriptor, target: u16) -> bool {
    let place = member_bit(target);
    let found = place.and_then(|(at, bit)| Some(slot(ring.offset() + at)? & bit));
    found.is_some_and(|found| found != 0)
}

/// Where the fragments of a packet go, if it is known.
#[inline(always)]
pub(super) fn fragment_route(key: &FragmentKey) -> Option<FragmentRoute> {
    let route = maps::FRAGMENTS.get_ptr(key)?;
    // SAFETY: an element of a hash that was made in advance is never freed while this runs. If the
    // kernel gives it to another packet meanwhile, the fragment goes where that went.
    Some(unsafe { ptr::read_volatile(route) })
}

/// Says where the fragments of a packet go.
#[inline(always)]
pub(super) fn put_fragment_route(key: &FragmentKey, route: &FragmentRoute) {
    // As for pins.
    let _ = maps::FRAGMENTS.insert(key, route, 0);
}

/// What a slot of the ring pool holds: in a ring the id of a target, or an answer.
#[inline(always)]
pub(super) fn slot(slot: u32) -> Option<u16> {
    let chunk = maps::SLOTS.get_ptr(slot / CHUNK as u32)?;
    // SAFETY: an element of an array is never freed, and the remainder is inside the chunk.
    Some(unsafe { ptr::read_volatile(chunk.cast::<u16>().add(slot as usize % CHUNK)) })
}

/// An exit in an element of a map, where another word stands behind it.
#[inline(always)]
fn exit(words: *const u32) -> Exit {
    let [outer, inner, interface, _] = four_words(words);
    Exit {
        tags: Tags::of_words([outer, inner]),
        interface,
    }
}

/// Four words of an element of a map.
#[inline(always)]
fn four_words(words: *const u32) -> [u32; 4] {
    [0, 1, 2, 3].map(|index| one_word(words, index))
}

/// One of these words.
#[inline(always)]
fn one_word(words: *const u32, index: usize) -> u32 {
    // SAFETY: such an element is not freed while this runs.
    unsafe { ptr::read_volatile(words.add(index)) }
}

/// What this CPU has for itself.
#[inline(always)]
pub(super) fn cpu() -> Option<&'static mut Cpu> {
    // SAFETY: the helper takes nothing and always succeeds.
    let number = unsafe { bpf_get_smp_processor_id() };
    let cpu = maps::CPUS.get_ptr_mut(number)?;
    // SAFETY: only this CPU writes it, and XDP runs there with softirqs off, never within itself. (The
    // daemon writes counters when a service or target ends, which may be lost on either side.)
    Some(unsafe { &mut *cpu })
}

/// Where the log notes the packet that this CPU is at work on.
#[inline(always)]
pub(super) fn log_line() -> Option<&'static mut Tuple> {
    // SAFETY: only this CPU uses it, and the program asks for it anew each time.
    maps::LOG_LINES
        .get_ptr_mut(0)
        .map(|line| unsafe { &mut *line })
}

/// One of this CPU's budgets.
#[inline(always)]
pub(super) fn budget(index: u32) -> Option<&'static mut Budget> {
    // SAFETY: only this CPU uses it, and the program asks for it anew each time.
    maps::BUDGETS
        .get_ptr_mut(index)
        .map(|budget| unsafe { &mut *budget })
}
