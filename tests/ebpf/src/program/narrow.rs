//! Takes most of the room in front of a frame away, and calls the program that a test runs.

use aya_ebpf::{
    bindings::xdp_action,
    helpers::generated::{bpf_xdp_adjust_head, bpf_xdp_adjust_tail},
    macros::{map, xdp},
    maps::ProgramArray,
    programs::XdpContext,
};
use lb_ebpf::header::Header;

use super::cursor;

/// The program that is to meet the frame.
#[map]
static NARROWED: ProgramArray = ProgramArray::with_max_entries(1, 0);

/// What is left of the room is that of one IPv4 header: the kernel gives 256 bytes
/// (XDP_PACKET_HEADROOM), and keeps 40 of them for itself (`struct xdp_frame`).
const TAKEN: usize = 256 - 40 - 20;

/// Bytes of the frame that are moved to its new beginning; what is behind them is lost.
const KEPT: usize = 128;

#[repr(C)]
struct Bytes<const N: usize>([u8; N]);

// SAFETY: an array of bytes, in `repr(C)`.
unsafe impl<const N: usize> Header for Bytes<N> {}

#[xdp]
fn narrow(mut context: XdpContext) -> u32 {
    if move_to_front(&mut context).is_some() {
        // SAFETY: nothing here waits to be dropped.
        unsafe { NARROWED.tail_call(&context, 0) };
    }
    xdp_action::XDP_ABORTED
}

#[inline(always)]
fn move_to_front(context: &mut XdpContext) -> Option<()> {
    // SAFETY: the helper moves the beginning of the frame and nothing else.
    if unsafe { bpf_xdp_adjust_head(context.ctx, -(TAKEN as i32)) } != 0 {
        return None;
    }
    let mut bytes = cursor(context);
    let Bytes(front) = bytes.take::<Bytes<TAKEN>>()?;
    let Bytes(kept) = bytes.take::<Bytes<KEPT>>()?;
    let mut i = 0;
    while i < KEPT {
        front[i] = kept[i];
        i += 1;
    }
    let behind = TAKEN + bytes.remaining();
    // SAFETY: the helper moves the end of the frame and nothing else.
    (unsafe { bpf_xdp_adjust_tail(context.ctx, -(behind as i32)) } == 0).then_some(())
}
