//! Makes every repetition of a test run another client's packet.
//!
//! BPF_PROG_TEST_RUN repeats a program on one and the same frame. This program takes off what the
//! run before has put around the packet, writes the next client into the frame and then calls the
//! program that is measured, which stays as it is shipped. What it costs is the same for each of
//! them, so it is gone from their differences.

use core::mem::offset_of;

use aya_ebpf::{
    bindings::xdp_action,
    helpers::generated::bpf_xdp_adjust_head,
    macros::{map, xdp},
    maps::ProgramArray,
    programs::XdpContext,
};
use lb_common::Mac;
use lb_ebpf::{
    cursor::Cursor,
    header::{Ethernet, Header, Tcp},
    load, store, word,
};

use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::cursor;

/// The programs that are measured: floor, reference, product.
#[map]
static MEASURED: ProgramArray = ProgramArray::with_max_entries(3, 0);

/// MAC address of the edge's interface, as in the tables that the bench fills.
const STATION: Mac = Mac::of_words(u32::from_ne_bytes([2, 0, 0, 0]), u16::from_ne_bytes([0, 1]));

/// Where an IPv6 packet's source address begins.
const SOURCE_V6: usize = offset_of!(Ipv6Hdr, src_addr);

/// The payload of the frames: which client is next and how many there are, little-endian; an address of
/// which the last word changes with the client, of IPv4 as IPv4-mapped; and what the packets go to.
#[repr(C)]
struct Clients {
    next: [u8; 4],
    count: [u8; 4],
    clients: [u8; 16],
    service: [u8; 16],
    port: [u8; 2],
}

// SAFETY: its fields are arrays of bytes, in `repr(C)`.
unsafe impl Header for Clients {}

#[xdp]
fn generate_for_floor(context: XdpContext) -> u32 {
    generate(context, 0)
}

#[xdp]
fn generate_for_reference(context: XdpContext) -> u32 {
    generate(context, 1)
}

#[xdp]
fn generate_for_product(context: XdpContext) -> u32 {
    generate(context, 2)
}

/// A constant index makes the tail call a direct jump.
#[inline(always)]
fn generate(mut context: XdpContext, index: u32) -> u32 {
    if shrink(&mut context).is_some() && next_client(&mut cursor(&mut context)).is_some() {
        // SAFETY: nothing here waits to be dropped.
        unsafe { MEASURED.tail_call(&context, index) };
    }
    xdp_action::XDP_ABORTED
}

/// Takes off the tunnel's headers. The helper is called when there is none, too: it costs the floor
/// what it costs the others.
#[inline(always)]
fn shrink(context: &mut XdpContext) -> Option<()> {
    let (bytes, ether_type) = outer(&mut cursor(context))?;
    // SAFETY: the helper moves the beginning of the frame and nothing else.
    if unsafe { bpf_xdp_adjust_head(context.ctx, bytes) } != 0 {
        return None;
    }
    let ethernet = cursor(context).take::<Ethernet>()?;
    ethernet.destination.set(STATION);
    store!(Ethernet, ethernet.ether_type as put_u16, ether_type);
    Some(())
}

/// Length of the tunnel's headers, and the type of the packet inside. The packets that are measured are of
/// TCP, so a datagram is a tunnel's.
#[inline(always)]
fn outer(cursor: &mut Cursor<'_>) -> Option<(i32, u16)> {
    const GUE: usize = 12;
    let ethernet = cursor.take::<Ethernet>()?;
    let ip = cursor.take::<Ipv4Hdr>()?;
    // In IPv6 the next header stands where flags and offset begin in IPv4.
    let (length, protocol) = match ip.version() {
        4 => (Ipv4Hdr::LEN, ip.proto),
        _ => (Ipv6Hdr::LEN, ip.frags[0]),
    };
    let (bytes, ether_type) = match protocol {
        4 => (length, Ethernet::IPV4),
        41 => (length, Ethernet::IPV6),
        // No datagram goes into a tunnel of the other family.
        17 => (length + GUE, ethernet.ether_type),
        _ => (0, ethernet.ether_type),
    };
    Some((bytes as i32, u16::from_ne_bytes(ether_type)))
}

/// Puts the next client into a TCP segment without options of any kind; `None` if it is too short.
#[inline(always)]
fn next_client(cursor: &mut Cursor<'_>) -> Option<()> {
    let ethernet = cursor.take::<Ethernet>()?;
    if ethernet.ether_type == Ethernet::IPV6 {
        let ip = cursor.take::<Ipv6Hdr>()?;
        let [client, service] = turn(cursor)?;
        // What the program before has changed.
        ip.hop_limit = 64;
        word::put_words::<SOURCE_V6, 4, _>(ip, &client);
        word::put_words::<{ SOURCE_V6 + 16 }, 4, _>(ip, &service);
    } else {
        let ip = cursor.take::<Ipv4Hdr>()?;
        let [[.., client], [.., service]] = turn(cursor)?;
        ip.ttl = 64;
        store!(Ipv4Hdr, ip.src_addr as put_u32, client);
        store!(Ipv4Hdr, ip.dst_addr as put_u32, service);
    }
    Some(())
}

/// Writes the ports of the client whose turn it is and of the service, and returns their addresses.
#[inline(always)]
fn turn(cursor: &mut Cursor<'_>) -> Option<[[u32; 4]; 2]> {
    let tcp = cursor.take::<Tcp>()?;
    let clients = cursor.take::<Clients>()?;
    let client = u32::from_le_bytes(clients.next);
    let next = client.wrapping_add(1);
    let wraps = next >= u32::from_le_bytes(clients.count);
    clients.next = if wraps { 0 } else { next }.to_le_bytes();
    let port = load!(Clients, clients.port as u16);
    let ports = u32::from(port) << 16 | client & 0xffff;
    store!(Tcp, tcp.ports as put_u32, ports);
    let [a, b, c, _] = load!(Clients, clients.clients as quads);
    let address = [a, b, c, scattered(client)];
    Some([address, load!(Clients, clients.service as quads)])
}

/// One to one, but without an order that a hash could profit from (the last step of MurmurHash3).
#[inline(always)]
fn scattered(client: u32) -> u32 {
    let mut mixed = client;
    mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85eb_ca6b);
    mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 16
}
