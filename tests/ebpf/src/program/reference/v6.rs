//! IPv6, as IPv4 beside it.

use aya_ebpf::{
    macros::map,
    maps::{HashMap, LruHashMap},
    programs::XdpContext,
};
use lb_common::Protocol;
use lb_ebpf::{
    cursor::Cursor,
    header::{Ethernet, Tcp},
};
use network_types::ip::Ipv6Hdr;

use super::{super::cursor, Target};

/// Address and (port, protocol) of a service.
#[map]
static REFERENCE_SERVICES_V6: HashMap<[u32; 5], [u32; 2]> = HashMap::with_max_entries(1024, 0);

/// The target of a flow. The loader says how many there are.
#[map]
static REFERENCE_FLOWS_V6: LruHashMap<Flow, u32> = LruHashMap::with_max_entries(1, 0);

/// What names a flow, as in the headers.
#[derive(Clone, Copy)]
#[repr(C)]
struct Flow {
    source: [u32; 4],
    destination: [u32; 4],
    ports: u32,
    protocol: u32,
}

/// The target of a packet of a service.
#[inline(always)]
pub(super) fn target(cursor: &mut Cursor<'_>) -> Option<u32> {
    let flow = parse(cursor)?;
    let service = service(&flow)?;
    // SAFETY: an element that goes to another flow meanwhile still holds a target.
    let known = unsafe { REFERENCE_FLOWS_V6.get(flow) }.copied();
    known.or_else(|| choose(&flow, service))
}

#[inline(always)]
fn parse(cursor: &mut Cursor<'_>) -> Option<Flow> {
    let ip = cursor.take::<Ipv6Hdr>()?;
    if ip.next_hdr != Protocol::TCP.0 {
        return None;
    }
    let tcp = cursor.take::<Tcp>()?;
    Some(Flow {
        source: words(&ip.src_addr),
        destination: words(&ip.dst_addr),
        ports: u32::from_ne_bytes(tcp.ports),
        protocol: ip.next_hdr.into(),
    })
}

#[inline(always)]
fn words(address: &[u8; 16]) -> [u32; 4] {
    let word = |i| u32::from_ne_bytes([address[i], address[i + 1], address[i + 2], address[i + 3]]);
    [word(0), word(4), word(8), word(12)]
}

#[inline(always)]
fn service(flow: &Flow) -> Option<[u32; 2]> {
    let [a, b, c, d] = flow.destination;
    let [_, _, high, low] = flow.ports.to_ne_bytes();
    let last = u32::from_ne_bytes([high, low, flow.protocol as u8, 0]);
    // SAFETY: nobody changes services while the bench runs.
    unsafe { REFERENCE_SERVICES_V6.get([a, b, c, d, last]) }.copied()
}

/// Chooses a target for a new flow and remembers it.
#[inline(always)]
fn choose(flow: &Flow, [first, count]: [u32; 2]) -> Option<u32> {
    let target = first + (flow.source[3] ^ flow.ports).checked_rem(count)?;
    // The packet goes there whether there is room for the flow or not.
    let _ = REFERENCE_FLOWS_V6.insert(flow, target, 0);
    super::count_miss();
    Some(target)
}

/// Puts the packet into one to the target (RFC 2473).
#[inline(always)]
pub(super) fn enclose(context: &mut XdpContext, target: &Target) -> Option<()> {
    super::grow(context, Ipv6Hdr::LEN as i32)?;
    let mut cursor = cursor(context);
    let ethernet = cursor.take::<Ethernet>()?;
    let outer = cursor.take::<Ipv6Hdr>()?;
    let inner = cursor.take::<Ipv6Hdr>()?;
    ethernet.ether_type = Ethernet::IPV6;
    *outer = Ipv6Hdr {
        vcf: inner.vcf,
        payload_len: (u16::from_be_bytes(inner.payload_len) + 40).to_be_bytes(),
        next_hdr: 41,
        hop_limit: 64,
        src_addr: target.edge_address,
        dst_addr: target.outer_destination,
    };
    Some(())
}
