//! What an entry of the flow table is worth: whether it holds, what it becomes, which one gives
//! way.

use lb_common::{Entry, FlowEvent, FlowState, IdleTicks, Protocol, WAYS, Way};

use crate::parse::{Flow, Signal};

#[cfg(test)]
mod tests;

/// Whether an entry was last seen before the target that `way` leads to was flushed.
#[inline(always)]
pub fn is_flushed(entry: Entry, way: &Way<impl Fn(usize) -> u64>) -> bool {
    let epoch = way.epoch();
    epoch != 0 && (entry.last_seen().wrapping_sub(epoch) as i32) < 0
}

/// Whether a packet of `flow` may follow a live entry of its flow to the target that `way` leads to:
/// not if the target takes no new flow and this packet opens one, or is dead and keeps no running flows of
/// this protocol.
///
/// # Errors
/// What is counted, because it may not.
#[inline(always)]
pub fn may_follow(way: &Way<impl Fn(usize) -> u64>, flow: &Flow) -> Result<(), FlowEvent> {
    let state = way.state();
    let stays = match (flow.signal, flow.tuple.protocol) {
        (Signal::Open, _) => state.takes_new(),
        (_, Protocol::UDP) => state.keeps_udp(),
        _ if state.ends_tcp() => return Err(FlowEvent::Ended),
        _ => state.keeps_tcp(),
    };
    if stays { Ok(()) } else { Err(FlowEvent::Left) }
}

/// The state of a flow without an entry after its first packet here.
///
/// One packet proves nothing, be it a datagram or from the middle of a connection: whoever forges
/// senders has as many, and entries of flows that are proven are the last to give way.
#[inline(always)]
pub fn first_state(flow: &Flow) -> FlowState {
    match flow.signal {
        Signal::Open | Signal::Data => FlowState::OPENING,
        Signal::Finish | Signal::Reset => FlowState::CLOSING,
    }
}

/// The state of a flow in `state` after its next packet. A SYN begins a new connection.
#[inline(always)]
pub fn next_state(state: FlowState, flow: &Flow) -> FlowState {
    match (flow.signal, state) {
        (Signal::Data, FlowState::OPENING) => proven(flow.tuple.protocol),
        (Signal::Data, state) => state,
        _ => first_state(flow),
    }
}

/// The `life` of a flow's entry after its next packet, at the tick `now`.
#[inline(always)]
pub fn next_life(entry: Entry, now: u32, flow: &Flow) -> u64 {
    match (flow.signal, entry.state()) {
        // As for most packets, but without taking the state out and putting it in again.
        (Signal::Data, state) if state != FlowState::OPENING => entry.life_at(now),
        (_, state) => Entry::life(now, next_state(state, flow)),
    }
}

#[inline(always)]
fn proven(protocol: Protocol) -> FlowState {
    match protocol {
        Protocol::UDP => FlowState::DATAGRAM,
        _ => FlowState::ESTABLISHED,
    }
}

/// The way of a bucket that a new entry is written to: one without a live entry, else the oldest
/// of those that are only opening or closing, else the oldest.
#[inline(always)]
pub fn victim(way: impl Fn(usize) -> Entry, now: u32, idle: &IdleTicks) -> usize {
    let mut least = u64::MAX;
    for i in 0..WAYS {
        // The way stands in the low bits, so that the least of all is found without a branch that
        // the verifier would have to follow on both sides.
        least = least.min(worth(way(i), now, idle) * WAYS as u64 + i as u64);
    }
    least as usize % WAYS
}

/// How much is lost with an entry; 0 for none.
#[inline(always)]
fn worth(entry: Entry, now: u32, idle: &IdleTicks) -> u64 {
    if !entry.is_live(now, idle) {
        return 0;
    }
    entry.state().proven() << 32 | (u32::MAX - entry.age(now)) as u64
}
