//! The same task written plainly, with the kernel's own maps: IPv4 and TCP, `l2-dsr`.
//!
//! It leaves out what the task as such does not need: counters, health, ages, the MTU, fragments.

use aya_ebpf::{
    bindings::xdp_action,
    macros::{map, xdp},
    maps::{Array, HashMap, LruHashMap, PerCpuArray},
    programs::XdpContext,
};
use lb_common::Protocol;
use lb_ebpf::{
    cursor::Cursor,
    header::{Ethernet, Tcp},
};
use network_types::ip::Ipv4Hdr;

use super::cursor;

/// Address and (port, protocol) of a service, as in the headers; value: its first target and how
/// many it has.
#[map]
static REFERENCE_SERVICES: HashMap<[u32; 2], [u32; 2]> = HashMap::with_max_entries(1024, 0);

/// The target of a flow. The loader says how many there are.
#[map]
static REFERENCE_FLOWS: LruHashMap<Flow, u32> = LruHashMap::with_max_entries(1, 0);

/// Destination and source MAC address of the frames to a target.
#[map]
static REFERENCE_TARGETS: Array<[[u8; 6]; 2]> = Array::with_max_entries(4096, 0);

/// Packets whose flow was not in REFERENCE_FLOWS; packets with a hit pay nothing for it.
#[map]
static REFERENCE_MISSES: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// Source and destination address, both ports, protocol.
type Flow = [u32; 4];

#[xdp]
fn reference(mut context: XdpContext) -> u32 {
    let Some(flow) = parse(&mut cursor(&mut context)) else {
        return xdp_action::XDP_PASS;
    };
    let Some(service) = service(&flow) else {
        return xdp_action::XDP_PASS;
    };
    let target = known(&flow).or_else(|| choose(&flow, service));
    let Some([destination, source]) = target.and_then(|id| REFERENCE_TARGETS.get(id)) else {
        return xdp_action::XDP_DROP;
    };
    let Some(ethernet) = cursor(&mut context).take::<Ethernet>() else {
        return xdp_action::XDP_DROP;
    };
    ethernet.destination = (*destination).into();
    ethernet.source = (*source).into();
    xdp_action::XDP_TX
}

#[inline(always)]
fn parse(cursor: &mut Cursor<'_>) -> Option<Flow> {
    let ethernet = cursor.take::<Ethernet>()?;
    if ethernet.ether_type != Ethernet::IPV4 {
        return None;
    }
    let ip = cursor.take::<Ipv4Hdr>()?;
    if ip.ihl() as usize != Ipv4Hdr::LEN || ip.proto != Protocol::TCP.0 {
        return None;
    }
    let tcp = cursor.take::<Tcp>()?;
    Some([
        u32::from_ne_bytes(ip.src_addr),
        u32::from_ne_bytes(ip.dst_addr),
        u32::from_ne_bytes(tcp.ports),
        ip.proto.into(),
    ])
}

#[inline(always)]
fn service(&[_, address, ports, protocol]: &Flow) -> Option<[u32; 2]> {
    let [_, _, c, d] = ports.to_ne_bytes();
    let key = [address, u32::from_ne_bytes([c, d, protocol as u8, 0])];
    // SAFETY: nobody changes services while the bench runs.
    unsafe { REFERENCE_SERVICES.get(key) }.copied()
}

#[inline(always)]
fn known(flow: &Flow) -> Option<u32> {
    // SAFETY: an element that goes to another flow meanwhile still holds a target.
    unsafe { REFERENCE_FLOWS.get(flow) }.copied()
}

/// Chooses a target for a new flow and remembers it.
#[inline(always)]
fn choose(flow: &Flow, [first, count]: [u32; 2]) -> Option<u32> {
    let [client, _, ports, _] = *flow;
    let target = first + (client ^ ports).checked_rem(count)?;
    // The packet goes there whether there is room for the flow or not.
    let _ = REFERENCE_FLOWS.insert(flow, target, 0);
    if let Some(misses) = REFERENCE_MISSES.get_ptr_mut(0) {
        // SAFETY: only this CPU writes it.
        unsafe { *misses += 1 };
    }
    Some(target)
}
