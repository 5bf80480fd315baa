//! IPv4.

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
use network_types::ip::Ipv4Hdr;

use super::{super::cursor, Target};

/// Address and (port, protocol) of a service, as in the headers; value: its first target and how
/// many it has.
#[map]
static REFERENCE_SERVICES: HashMap<[u32; 2], [u32; 2]> = HashMap::with_max_entries(1024, 0);

/// The target of a flow. The loader says how many there are.
#[map]
static REFERENCE_FLOWS: LruHashMap<Flow, u32> = LruHashMap::with_max_entries(1, 0);

/// Source and destination address, both ports, protocol.
type Flow = [u32; 4];

/// The target of a packet of a service.
#[inline(always)]
pub(super) fn target(cursor: &mut Cursor<'_>) -> Option<u32> {
    let flow = parse(cursor)?;
    let service = service(&flow)?;
    known(&flow).or_else(|| choose(&flow, service))
}

#[inline(always)]
fn parse(cursor: &mut Cursor<'_>) -> Option<Flow> {
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
    super::count_miss();
    Some(target)
}

/// Puts the packet into one to the target (RFC 2003).
#[inline(always)]
pub(super) fn enclose(context: &mut XdpContext, target: &Target) -> Option<()> {
    super::grow(context, Ipv4Hdr::LEN as i32)?;
    let mut cursor = cursor(context);
    let ethernet = cursor.take::<Ethernet>()?;
    let outer = cursor.take::<Ipv4Hdr>()?;
    let inner = cursor.take::<Ipv4Hdr>()?;
    let [a, b, c, d, ..] = target.edge_address;
    let [e, f, g, h, ..] = target.outer_destination;
    ethernet.ether_type = Ethernet::IPV4;
    *outer = Ipv4Hdr {
        vihl: 0x45,
        tos: inner.tos,
        tot_len: (u16::from_be_bytes(inner.tot_len) + 20).to_be_bytes(),
        id: [0; 2],
        frags: [0x40, 0],
        ttl: 64,
        proto: 4,
        check: [0; 2],
        src_addr: [a, b, c, d],
        dst_addr: [e, f, g, h],
    };
    outer.check = checksum(outer);
    Some(())
}

/// The checksum of a header in which it is 0.
#[inline(always)]
fn checksum(ip: &Ipv4Hdr) -> [u8; 2] {
    let words = [
        [ip.vihl, ip.tos],
        ip.tot_len,
        ip.id,
        ip.frags,
        [ip.ttl, ip.proto],
        [ip.src_addr[0], ip.src_addr[1]],
        [ip.src_addr[2], ip.src_addr[3]],
        [ip.dst_addr[0], ip.dst_addr[1]],
        [ip.dst_addr[2], ip.dst_addr[3]],
    ];
    let mut sum = 0;
    for word in words {
        sum += u32::from(u16::from_be_bytes(word));
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    (!(sum as u16)).to_be_bytes()
}
