//! A trunk of VLANs between the lab's switch, which knows none, and an edge: whole packets of TCP and UDP to
//! the edge get a tag where they enter the switch, and frames from it lose theirs.

use aya_ebpf::{
    Global,
    bindings::xdp_action,
    helpers::bpf_xdp_adjust_head,
    macros::{map, xdp},
    maps::PerCpuArray,
    programs::XdpContext,
};
use lb_common::Tags;
use lb_ebpf::{parse, vlan};

use super::cursor;

/// MAC address of the edge.
#[unsafe(no_mangle)]
static TRUNK_EDGE: Global<[u8; 6]> = Global::new([0; 6]);

/// The VLAN that packets to it are in.
#[unsafe(no_mangle)]
static TRUNK_VLAN: Global<u16> = Global::new(0);

/// Packets of TCP and UDP from the edge by their VLAN; 0 is for those without.
#[map]
static TRUNK_PACKETS: PerCpuArray<u64> = PerCpuArray::with_max_entries(1 << 12, 0);

#[xdp]
fn trunk_in(mut context: XdpContext) -> u32 {
    if is_packet_to_edge(&mut context) && put_on(&mut context).is_none() {
        return xdp_action::XDP_ABORTED;
    }
    xdp_action::XDP_PASS
}

#[inline(always)]
fn is_packet_to_edge(context: &mut XdpContext) -> bool {
    let mut read = cursor(context);
    let packet = parse::family(&mut read)
        .and_then(|family| parse::packet(&mut cursor(context), family).ok());
    packet.is_some_and(|mut packet| {
        let [a, b, c, d, e, f] = TRUNK_EDGE.load();
        let edge =
            lb_common::Mac::of_words(u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]));
        packet.frame.ethernet().destination.mac() == edge
    })
}

#[inline(always)]
fn put_on(context: &mut XdpContext) -> Option<()> {
    let vlan = TRUNK_VLAN.load().to_be_bytes();
    let [a, b] = Tags::CUSTOMER;
    let tags = Tags::of_words([u32::from_ne_bytes([a, b, vlan[0], vlan[1]]), 0]);
    adjust(context, -(Tags::BYTES as i32))?;
    vlan::put_on(&mut cursor(context), tags)
}

#[xdp]
fn trunk_out(mut context: XdpContext) -> u32 {
    match take_off(&mut context) {
        Some(()) => xdp_action::XDP_PASS,
        None => xdp_action::XDP_ABORTED,
    }
}

#[inline(always)]
fn take_off(context: &mut XdpContext) -> Option<()> {
    let [outer, inner] = vlan::tags(&mut cursor(context)).words();
    // No test has two tags here.
    if inner != 0 {
        return None;
    }
    let [.., high, low] = outer.to_ne_bytes();
    let vlan = u16::from_be_bytes([high, low]) & 0x0fff;
    if outer != 0 {
        vlan::take_off(&mut cursor(context), 1)?;
        adjust(context, Tags::BYTES as i32)?;
    }
    let family = parse::family(&mut cursor(context));
    let packet = family.and_then(|family| parse::packet(&mut cursor(context), family).ok());
    if packet.is_some() {
        let count = TRUNK_PACKETS.get_ptr_mut(vlan.into())?;
        // SAFETY: only this CPU writes it, and XDP runs there with softirqs off.
        unsafe { *count += 1 };
    }
    Some(())
}

#[inline(always)]
fn adjust(context: &mut XdpContext, bytes: i32) -> Option<()> {
    // SAFETY: the helper moves the beginning of the frame and nothing else.
    let moved = unsafe { bpf_xdp_adjust_head(context.ctx, bytes) };
    (moved == 0).then_some(())
}
