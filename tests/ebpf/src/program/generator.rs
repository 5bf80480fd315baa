//! Makes every repetition of a test run another client's packet.
//!
//! BPF_PROG_TEST_RUN repeats a program on one and the same frame, or, with frames that live, on a few that come
//! round again; neither is written anew. So these programs give the frame its length back, write all headers
//! that a program may have changed, with the next client in them, and then call the program that is measured,
//! which stays as it is shipped, or send the frame to it. What they cost is the same for each program, so it
//! is gone from their differences.

use core::hint;

use aya_ebpf::{
    bindings::xdp_action,
    helpers::generated::bpf_xdp_adjust_head,
    macros::{map, xdp},
    maps::{Array, PerCpuArray, ProgramArray},
    programs::XdpContext,
};
use lb_common::Mac;
use lb_ebpf::{
    cursor::Cursor,
    header::{Bytes, Header, Station},
    word,
};

use super::cursor;

/// The programs that are measured: floor, reference, product.
#[map]
static MEASURED: ProgramArray = ProgramArray::with_max_entries(3, 0);

/// The packets that are made now.
#[map]
static STREAM: Array<Stream> = Array::with_max_entries(1, 0);

/// Frames that came back to where they were made.
#[map]
static ABSORBED: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// Packets of clients that take turns. Words of a frame are as they stand there.
#[repr(C)]
struct Stream {
    /// The client that is next, and how many there are.
    next: u32,
    clients: u32,
    /// From one client to the next, less than there are clients.
    step: u32,
    /// Bytes of a frame.
    length: u32,
    /// The MAC addresses of receiver and sender, each as four bytes and two.
    macs: [[u32; 2]; 2],
    /// The VLAN tag; 0 for none.
    tag: u32,
    ether_type: u32,
    /// Source port 0, and the destination's.
    ports: u32,
    /// 0 for IPv4.
    is_v6: u32,
    /// The packet's first bytes.
    packet: [u32; 10],
}

/// The MAC addresses of a frame.
#[repr(C)]
struct Stations {
    destination: Station,
    source: Station,
}

/// The first bytes of a packet: all of an IPv6 header, or that of IPv4 with the one behind it.
#[repr(C)]
struct Beginning([u8; 40]);

// SAFETY: its fields are bytes and arrays of bytes, in `repr(C)`.
unsafe impl Header for Stations {}
// SAFETY: as for stations.
unsafe impl Header for Beginning {}

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
    if make(&mut context).is_some() {
        // SAFETY: nothing here waits to be dropped.
        unsafe { MEASURED.tail_call(&context, index) };
    }
    xdp_action::XDP_ABORTED
}

/// Sends a frame that lives to the other end of the cable, where the program that is measured stands.
#[xdp]
fn generate_live(mut context: XdpContext) -> u32 {
    match make(&mut context) {
        Some(()) => xdp_action::XDP_TX,
        None => xdp_action::XDP_ABORTED,
    }
}

/// Ends the way of frames that live.
#[xdp]
fn absorb(_context: XdpContext) -> u32 {
    if let Some(absorbed) = ABSORBED.get_ptr_mut(0) {
        // SAFETY: only this CPU writes it.
        unsafe { *absorbed += 1 };
    }
    xdp_action::XDP_DROP
}

/// Makes the frame the next client's.
#[inline(always)]
fn make(context: &mut XdpContext) -> Option<()> {
    // SAFETY: the bench writes it between two runs only, and runs on one CPU.
    let stream = unsafe { &mut *STREAM.get_ptr_mut(0)? };
    // Of halves of a difference of two pointers the verifier allows none.
    let length = hint::black_box(cursor(context).remaining());
    let longer = length as i32 - stream.length as i32;
    // SAFETY: the helper moves the beginning of the frame and nothing else. It is called for a frame that has
    // its length, too: so it costs each program the same.
    if unsafe { bpf_xdp_adjust_head(context.ctx, longer) } != 0 {
        return None;
    }
    write(&mut cursor(context), stream)
}

/// Words are written as programs read them, since a processor waits when it reads several at once that it has
/// just written one by one; no network card writes so.
#[inline(always)]
fn write(cursor: &mut Cursor<'_>, stream: &mut Stream) -> Option<()> {
    let client = stream.turn();
    let [destination, source] = stream.macs.map(|[a, b]| Mac::of_words(a, b as u16));
    let stations = cursor.take::<Stations>()?;
    stations.destination.set(destination);
    stations.source.set(source);
    if stream.tag != 0 {
        word::put_u32::<0, _>(cursor.take::<Bytes<4>>()?, stream.tag);
    }
    word::put_u16::<0, _>(cursor.take::<Bytes<2>>()?, stream.ether_type as u16);
    let packet = cursor.take::<Beginning>()?;
    word::put_words::<0, 10, _>(packet, &stream.packet);
    let ports = stream.ports | client & 0xffff;
    if stream.is_v6 == 0 {
        word::put_u32::<12, _>(packet, scattered(client));
        word::put_u32::<20, _>(packet, ports);
    } else {
        word::put_u32::<20, _>(packet, scattered(client));
        word::put_u32::<0, _>(cursor.take::<Bytes<4>>()?, ports);
    }
    Some(())
}

impl Stream {
    /// The client whose turn it is.
    #[inline(always)]
    fn turn(&mut self) -> u32 {
        let client = self.next;
        let left = self.clients.wrapping_sub(client);
        self.next = match self.step < left {
            true => client.wrapping_add(self.step),
            false => self.step.wrapping_sub(left),
        };
        client
    }
}

/// One to one, but without an order that a hash could profit from (the last step of MurmurHash3).
#[inline(always)]
fn scattered(client: u32) -> u32 {
    let mut mixed = client;
    mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85eb_ca6b);
    mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 16
}
