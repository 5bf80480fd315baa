//! The same task written plainly, with the kernel's own maps: TCP over both versions of IP, `l2-dsr`
//! and `ipip`.
//!
//! It leaves out what the task as such does not need: counters, health, ages, the MTU, fragments,
//! extension headers.

mod v4;
mod v6;

use aya_ebpf::{
    bindings::xdp_action,
    helpers::generated::bpf_xdp_adjust_head,
    macros::{map, xdp},
    maps::{Array, PerCpuArray},
    programs::XdpContext,
};
use lb_ebpf::header::Ethernet;

use super::cursor;

/// The targets.
#[map]
static REFERENCE_TARGETS: Array<Target> = Array::with_max_entries(4096, 0);

/// Packets whose flow was not known; packets with a hit pay nothing for it.
#[map]
static REFERENCE_MISSES: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// How a target is reached.
#[repr(C)]
struct Target {
    /// MAC addresses of the frames.
    destination: [u8; 6],
    source: [u8; 6],
    /// Addresses of the outer header, those of IPv4 in the first four bytes; all zero for `l2-dsr`.
    edge_address: [u8; 16],
    outer_destination: [u8; 16],
}

#[xdp]
fn reference(mut context: XdpContext) -> u32 {
    let mut packet = cursor(&mut context);
    let Some(ethernet) = packet.take::<Ethernet>() else {
        return xdp_action::XDP_PASS;
    };
    match ethernet.ether_type {
        Ethernet::IPV4 => match v4::target(&mut packet) {
            Some(id) => send(&mut context, id, v4::enclose),
            None => xdp_action::XDP_PASS,
        },
        Ethernet::IPV6 => match v6::target(&mut packet) {
            Some(id) => send(&mut context, id, v6::enclose),
            None => xdp_action::XDP_PASS,
        },
        _ => xdp_action::XDP_PASS,
    }
}

/// Sends the packet to a target, through a tunnel if it has one.
#[inline(always)]
fn send(
    context: &mut XdpContext,
    id: u32,
    enclose: impl FnOnce(&mut XdpContext, &Target) -> Option<()>,
) -> u32 {
    let Some(target) = REFERENCE_TARGETS.get(id) else {
        return xdp_action::XDP_DROP;
    };
    if target.edge_address != [0; 16] && enclose(context, target).is_none() {
        return xdp_action::XDP_DROP;
    }
    let Some(ethernet) = cursor(context).take::<Ethernet>() else {
        return xdp_action::XDP_DROP;
    };
    ethernet.destination = target.destination.into();
    ethernet.source = target.source.into();
    xdp_action::XDP_TX
}

/// Makes the frame longer at its beginning.
#[inline(always)]
fn grow(context: &mut XdpContext, bytes: i32) -> Option<()> {
    // SAFETY: the helper moves the beginning of the frame and nothing else.
    let moved = unsafe { bpf_xdp_adjust_head(context.ctx, -bytes) };
    (moved == 0).then_some(())
}

/// Counts a flow that was not known.
#[inline(always)]
fn count_miss() {
    if let Some(misses) = REFERENCE_MISSES.get_ptr_mut(0) {
        // SAFETY: only this CPU writes it.
        unsafe { *misses += 1 };
    }
}
