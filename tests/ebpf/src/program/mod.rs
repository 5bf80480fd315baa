//! For the bench: the generator, which it runs, and two of the programs that it measures, the floor
//! and the reference. The third of these is the product's own. For the lab: the end of a tunnel, and a trunk
//! of VLANs. For datapath tests: what leaves a frame little room.

mod decapsulate;
mod generator;
mod narrow;
mod reference;
mod trunk;

use core::{mem, ptr};

use aya_ebpf::{bindings::xdp_action, macros::xdp, programs::XdpContext};
use lb_ebpf::{cursor::Cursor, header::Ethernet};

/// The least that a forwarding program can do: it swaps the MAC addresses and sends the frame back.
#[xdp]
fn floor(mut context: XdpContext) -> u32 {
    let Some(ethernet) = cursor(&mut context).take::<Ethernet>() else {
        return xdp_action::XDP_PASS;
    };
    mem::swap(&mut ethernet.destination, &mut ethernet.source);
    xdp_action::XDP_TX
}

/// A cursor at the first byte of the packet.
#[expect(
    clippy::needless_pass_by_ref_mut,
    reason = "the borrow is what makes a second cursor impossible"
)]
#[inline(always)]
fn cursor(context: &mut XdpContext) -> Cursor<'_> {
    let start = ptr::with_exposed_provenance_mut(context.data());
    let end = ptr::with_exposed_provenance_mut(context.data_end());
    // SAFETY: the kernel lets the program alone read and write between the two, and the cursor
    // borrows the context.
    unsafe { Cursor::new(start, end) }
}

/// Never reached: the verifier refuses a program in which it could be, because the loop has no
/// end.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
