//! The end of a tunnel, on a backend of the lab: within IPv4 (RFC 2003, RFC 4213), within IPv6 (RFC 2473)
//! and within datagrams of both (draft-ietf-intarea-gue-09), packets of both families.
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
use lb_ebpf::{
    cursor::Cursor,
    header::{Bytes, Ethernet, Udp},
    parse::Family,
};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::cursor;

/// Packets that were taken apart: 4in4, 6in4, 4in6, 6in6, and the same by datagrams.
#[map]
static DECAPSULATED: PerCpuArray<u64> = PerCpuArray::with_max_entries(8, 0);

/// The host's own addresses, to which tunnels lead.
#[unsafe(no_mangle)]
static TUNNEL_END_V4: Global<[u8; 4]> = Global::new([0; 4]);
#[unsafe(no_mangle)]
static TUNNEL_END_V6: Global<[u8; 16]> = Global::new([0; 16]);

/// Numbers of the inner protocol: IPv4 and IPv6.
const IPIP: u8 = 4;
const IPV6_IN: u8 = 41;
const UDP: u8 = 17;

/// The port that datagrams of GUE come to.
const GUE_PORT: u16 = 6080;

/// The header of GUE without options: variant, control bit and length; protocol; flags.
type Gue = Bytes<4>;

/// In the third word of an IPv4 header: more fragments follow, and the offset of this one.
const FRAGMENT: u16 = 0x3fff;

/// The kind of tunnel that a packet came by, with what is in there.
#[derive(Clone, Copy)]
struct Tunnel {
    outer: Family,
    inner: Inner,
}

/// What is behind an outer header.
#[derive(Clone, Copy)]
struct Inner {
    family: Family,
    by_datagram: bool,
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

/// What `protocol` announces, if it has a whole header of a packet.
#[inline(always)]
fn inner(packet: &mut Cursor<'_>, protocol: u8) -> Option<Inner> {
    let by_datagram = protocol == UDP;
    let protocol = match by_datagram {
        true => gue(packet)?,
        false => protocol,
    };
    let family = family(packet, protocol)?;
    Some(Inner {
        family,
        by_datagram,
    })
}

/// The protocol that is in a datagram of GUE, variant 0 without options.
#[inline(always)]
fn gue(packet: &mut Cursor<'_>) -> Option<u8> {
    const LENGTH: usize = size_of::<Udp>() + size_of::<Gue>();
    let length = packet.remaining();
    let udp = packet.take::<Udp>()?;
    let [zero, protocol, flags @ ..] = packet.take::<Gue>()?.all;
    let [a, _, c, d] = udp.ports;
    let is_gue = a >= 0xc0
        && u16::from_be_bytes([c, d]) == GUE_PORT
        && usize::from(u16::from_be_bytes(udp.length)) == length
        && length > LENGTH
        && udp.checksum == [0; 2]
        && zero == 0
        && flags == [0; 2];
    is_gue.then_some(protocol)
}

#[inline(always)]
fn family(packet: &mut Cursor<'_>, protocol: u8) -> Option<Family> {
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
    let header = match tunnel.outer {
        Family::V4 => size_of::<Ipv4Hdr>(),
        Family::V6 => size_of::<Ipv6Hdr>(),
    };
    let outer = match tunnel.inner.by_datagram {
        true => header + size_of::<Udp>() + size_of::<Gue>(),
        false => header,
    };
    // SAFETY: no cursor lives, and the next one asks for the packet's place anew.
    if unsafe { bpf_xdp_adjust_head(context.ctx, outer as i32) } != 0 {
        return None;
    }
    let ether_type = match tunnel.inner.family {
        Family::V4 => Ethernet::IPV4,
        Family::V6 => Ethernet::IPV6,
    };
    *cursor(context).take()? = Ethernet {
        ether_type,
        ..ethernet
    };
    let Inner {
        family,
        by_datagram,
    } = tunnel.inner;
    let index = u32::from(by_datagram) * 4 + tunnel.outer as u32 * 2 + family as u32;
    let count = DECAPSULATED.get_ptr_mut(index)?;
    // SAFETY: only this CPU writes it.
    unsafe { *count += 1 };
    Some(())
}
