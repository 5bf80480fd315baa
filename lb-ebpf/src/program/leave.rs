//! How a frame leaves: with which tags, and by which interface.

use aya_ebpf::bindings::{xdp_action, xdp_md};
use lb_common::{Exit, ForwardMode, Tags, Verdict};

use super::{
    count,
    outcome::Outcome,
    packet::{self, Packet},
    tables::{self, Tables},
};

/// Takes the tags off a frame; `None` if it has none.
#[inline(always)]
pub(super) fn take_tags_off(context: *mut xdp_md) -> Option<()> {
    let transit = tables::transit()?;
    transit.tags = Packet::new(context).take_tags_off()?;
    (transit.tags != Tags::NONE).then_some(())
}

/// Lets a frame leave. What goes back to its sender, or up to the host, has the tags that it came with.
#[inline(always)]
pub(super) fn leave(context: *mut xdp_md, outcome: Outcome) -> u32 {
    let Some(transit) = tables::transit() else {
        return xdp_action::XDP_ABORTED;
    };
    let came = transit.tags;
    // The next frame may have none.
    transit.tags = Tags::NONE;
    let as_it_came = Exit {
        tags: came,
        ..Exit::SAME
    };
    let exit = match (outcome.action(), outcome.verdict()) {
        (xdp_action::XDP_DROP, _) => return xdp_action::XDP_DROP,
        (xdp_action::XDP_TX | xdp_action::XDP_REDIRECT, Verdict::Forwarded) => {
            match Tables::open().map(|tables| tables.target(outcome.target())) {
                Some(target) if target.way().forward().mode() != ForwardMode::HOST => target.exit(),
                _ => return send(context, xdp_action::XDP_PASS, as_it_came),
            }
        }
        (xdp_action::XDP_REDIRECT, _) => transit.back,
        (action, _) => return send(context, action, as_it_came),
    };
    let tags = exit.tags.with_priority_of(came);
    send(context, xdp_action::XDP_TX, Exit { tags, ..exit })
}

#[inline(always)]
fn send(context: *mut xdp_md, action: u32, exit: Exit) -> u32 {
    let mut packet = Packet::new(context);
    if packet.put_tags_on(exit.tags).is_none() {
        count::verdict(Verdict::NoHeadroom, packet.length());
        return xdp_action::XDP_DROP;
    }
    match exit.interface {
        0 => action,
        here if here == packet.interface() => action,
        there => packet::redirect(there),
    }
}
