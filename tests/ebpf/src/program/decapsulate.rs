//! The end of a tunnel, on a backend of the lab: within IPv4 (RFC 2003, RFC 4213) and within IPv6 (RFC
//! 2473), packets of both families.
//!
//! It is strict, because no kernel looks at the outer header after it: a packet whose outer header
//! is wrong keeps it, and the kernel has no use for that.

use core::mem;

use aya_ebpf::{
    Global,
    bindings::xdp_action,
    helpers::bpf_xdp_adjust_head,
    macros::{map, xdp},
    maps::PerCpuArray,
    programs::XdpContext,
};
use lb_ebpf::{cursor::Cursor, header::Ethernet, parse::Family};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::cursor;

/// Packets that were taken apart: 4in4, 6in4, 4in6, 6in6.
#[map]
static DECAPSULATED: PerCpuArray<u64> = PerCpuArray::with_max_entries(4, 0);

/// The host's own addresses, to which tunnels lead.
#[unsafe(no_mangle)]
static TUNNEL_END_V4: Global<[u8; 4]> = Global::new([0; 4]);
#[unsafe(no_mangle)]
static TUNNEL_END_V6: Global<[u8; 16]> = Global::new([0; 16]);

/// Numbers of the inner protocol: IPv4 and IPv6.
const IPIP: u8 = 4;
const IPV6_IN: u8 = 41;

/// In the third word of an IPv4 header: more fragments follow, and the offset of this one.
const FRAGMENT: u16 = 0x3fff;

/// The kind of tunnel that a packet came by, with what is in there.
#[derive(Clone, Copy)]
struct Tunnel {
    outer: Family,
    inner: Family,
}

#[xdp]
fn decapsulate(mut context: XdpContext) -> u32 {
    let mut packet = cursor(&mut context);
    let Some(ethernet) = packet.take::<Ethernet>() else {
        return xdp_action::XDP_PASS;
    };
    let ethernet = *ethernet;
    let tunnel = match ethernet.ether_type {
        Ethernet::IPV4 => outer_v4(&mut packet),
        Ethernet::IPV6 => outer_v6(&mut packet),
        _ => None,
    };
    let Some(tunnel) = tunnel else {
        return xdp_action::XDP_PASS;
    };
    match unwrap(&mut context, tunnel, ethernet) {
        Some(()) => xdp_action::XDP_PASS,
        None => xdp_action::XDP_ABORTED,
    }
}

#[inline(always)]
fn outer_v4(packet: &mut Cursor<'_>) -> Option<Tunnel> {
    let length = packet.remaining();
    let ip = packet.take::<Ipv4Hdr>()?;
    let is_tunnel = ip.vihl == 0x45
        && ip.dst_addr == TUNNEL_END_V4.load()
        && u16::from_be_bytes(ip.frags) & FRAGMENT == 0
        && usize::from(u16::from_be_bytes(ip.tot_len)) == length
        && sums_up(ip);
    let (outer, inner) = (Family::V4, inner(packet, ip.proto)?);
    is_tunnel.then_some(Tunnel { outer, inner })
}

#[inline(always)]
fn outer_v6(packet: &mut Cursor<'_>) -> Option<Tunnel> {
    let ip = packet.take::<Ipv6Hdr>()?;
    let is_tunnel = ip.version() == 6
        && ip.dst_addr == TUNNEL_END_V6.load()
        && usize::from(u16::from_be_bytes(ip.payload_len)) == packet.remaining();
    let (outer, inner) = (Family::V6, inner(packet, ip.next_hdr)?);
    is_tunnel.then_some(Tunnel { outer, inner })
}

/// The family of a packet that `protocol` announces, if it has a whole header of it.
#[inline(always)]
fn inner(packet: &mut Cursor<'_>, protocol: u8) -> Option<Family> {
    let (family, version) = match protocol {
        IPIP => (Family::V4, packet.take::<Ipv4Hdr>()?.version()),
        IPV6_IN => (Family::V6, packet.take::<Ipv6Hdr>()?.version()),
        _ => return None,
    };
    let expected = match family {
        Family::V4 => 4,
        Family::V6 => 6,
    };
    (version == expected).then_some(family)
}

/// Whether the checksum of a header is right: the sum of all its words is then all ones (RFC 1071).
#[inline(always)]
fn sums_up(ip: &Ipv4Hdr) -> bool {
    // SAFETY: both are 20 bytes, and all bytes are a value of the array.
    let words: [[u8; 2]; 10] = unsafe { mem::transmute(*ip) };
    let mut sum = 0;
    for word in words {
        sum += u32::from(u16::from_be_bytes(word));
    }
    sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// Takes the outer header away and puts the Ethernet header before the inner one.
#[inline(always)]
fn unwrap(context: &mut XdpContext, tunnel: Tunnel, ethernet: Ethernet) -> Option<()> {
    let outer = match tunnel.outer {
        Family::V4 => size_of::<Ipv4Hdr>(),
        Family::V6 => size_of::<Ipv6Hdr>(),
    };
    // SAFETY: no cursor lives, and the next one asks for the packet's place anew.
    if unsafe { bpf_xdp_adjust_head(context.ctx, outer as i32) } != 0 {
        return None;
    }
    let ether_type = match tunnel.inner {
        Family::V4 => Ethernet::IPV4,
        Family::V6 => Ethernet::IPV6,
    };
    *cursor(context).take()? = Ethernet {
        ether_type,
        ..ethernet
    };
    let count = DECAPSULATED.get_ptr_mut(tunnel.outer as u32 * 2 + tunnel.inner as u32)?;
    // SAFETY: only this CPU writes it.
    unsafe { *count += 1 };
    Some(())
}
