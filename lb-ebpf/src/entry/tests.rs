use lb_common::{Address, Ports, Target, TargetState, Tuple};

use super::*;

const IDLE: IdleTicks = [10, 1000, 20, 40];

fn entry(last_seen: u32, state: FlowState) -> Entry {
    Entry {
        name: Entry::name(0x1234_5678, 0x9abc_def0, 3),
        life: Entry::life(last_seen, state),
    }
}

fn flow(signal: Signal, protocol: Protocol) -> Flow {
    Flow {
        tuple: Tuple {
            client: Address::v4([192, 0, 2, 1]),
            service: Address::v4([203, 0, 113, 10]),
            ports: Ports::new(1024, 80),
            protocol,
        },
        signal,
        ip_length: 40,
    }
}

fn target(state: u8) -> Target {
    Target {
        group: 7,
        identity: 1,
        state: TargetState(state),
        ..Target::FREE
    }
}

#[test]
fn an_entry_lives_through_the_idle_time_of_its_state_and_not_a_tick_longer() {
    for (state, idle) in [
        (FlowState::OPENING, 10),
        (FlowState::ESTABLISHED, 1000),
        (FlowState::CLOSING, 20),
        (FlowState::DATAGRAM, 40),
    ] {
        for last_seen in [1, 77, u32::MAX - 3] {
            let entry = entry(last_seen, state);
            let live = |age: u32| entry.is_live(last_seen.wrapping_add(age), &IDLE);
            assert!(live(0) && live(idle), "{state:?} seen at {last_seen}");
            assert!(!live(idle + 1), "{state:?} seen at {last_seen}");
        }
    }
}

#[test]
fn an_entry_seen_by_a_cpu_whose_clock_is_ahead_is_live() {
    assert!(entry(101, FlowState::OPENING).is_live(100, &IDLE));
    assert!(entry(0, FlowState::OPENING).is_live(u32::MAX, &IDLE));
}

#[test]
fn an_empty_entry_is_never_live() {
    assert!(!Entry::default().is_live(0, &IDLE));
}

#[test]
fn every_state_byte_has_an_idle_time() {
    for state in 0..=u8::MAX {
        assert!(entry(5, FlowState(state)).is_live(5, &IDLE));
    }
}

#[test]
fn only_packets_that_can_move_leave_a_target() {
    let (takes_new, dead) = (TargetState::TAKES_NEW, TargetState::DEAD);
    let [moves, ends] = [TargetState::TCP_MOVES, TargetState::TCP_ENDS].map(|tcp| dead | tcp);
    let udp_stays = dead | TargetState::UDP_STAYS;
    let (stays, left, ended) = (Ok(()), Err(FlowEvent::Left), Err(FlowEvent::Ended));
    for (signal, protocol, state, expected) in [
        (Signal::Open, Protocol::TCP, takes_new, stays),
        (Signal::Open, Protocol::TCP, takes_new | dead, stays),
        (Signal::Open, Protocol::TCP, 0, left),
        (Signal::Open, Protocol::TCP, dead, left),
        (Signal::Open, Protocol::TCP, ends, left),
        (Signal::Data, Protocol::TCP, 0, stays),
        (Signal::Data, Protocol::TCP, dead, stays),
        (Signal::Data, Protocol::TCP, udp_stays, stays),
        (Signal::Data, Protocol::TCP, moves, left),
        (Signal::Data, Protocol::TCP, ends, ended),
        (Signal::Finish, Protocol::TCP, dead, stays),
        (Signal::Finish, Protocol::TCP, ends, ended),
        (Signal::Reset, Protocol::TCP, dead, stays),
        (Signal::Reset, Protocol::TCP, moves, left),
        (Signal::Data, Protocol::UDP, 0, stays),
        (Signal::Data, Protocol::UDP, takes_new, stays),
        (Signal::Data, Protocol::UDP, dead, left),
        (Signal::Data, Protocol::UDP, ends, left),
        (Signal::Data, Protocol::UDP, udp_stays, stays),
    ] {
        let follows = may_follow(&target(state).way(), &flow(signal, protocol));
        assert_eq!(follows, expected, "{signal:?} {protocol} {state}");
    }
}

#[test]
fn an_epoch_flushes_what_was_last_seen_before_it() {
    for (epoch, last_seen, stays) in [
        (0, 1, true),
        (0, u32::MAX, true),
        (100, 99, false),
        (100, 100, true),
        (100, 101, true),
        (2, u32::MAX, false),
        (u32::MAX, 2, true),
    ] {
        let target = Target {
            epoch,
            ..target(TargetState::TAKES_NEW)
        };
        let entry = entry(last_seen, FlowState::ESTABLISHED);
        let flushed = is_flushed(entry, &target.way());
        assert_eq!(!flushed, stays, "epoch {epoch}, seen {last_seen}");
        let plain = target.way().is_unflushed_of(target.group);
        assert_eq!(plain, epoch == 0, "epoch {epoch}");
        assert!(!target.way().is_unflushed_of(target.group + 1));
    }
}

#[test]
fn states_follow_the_connection() {
    const OPENING: FlowState = FlowState::OPENING;
    const ESTABLISHED: FlowState = FlowState::ESTABLISHED;
    const CLOSING: FlowState = FlowState::CLOSING;
    for (signal, first, next) in [
        (Signal::Open, OPENING, [OPENING, OPENING, OPENING]),
        (Signal::Data, OPENING, [ESTABLISHED, ESTABLISHED, CLOSING]),
        (Signal::Finish, CLOSING, [CLOSING, CLOSING, CLOSING]),
        (Signal::Reset, CLOSING, [CLOSING, CLOSING, CLOSING]),
    ] {
        let flow = flow(signal, Protocol::TCP);
        assert_eq!(first_state(&flow), first, "{signal:?}");
        let after = [OPENING, ESTABLISHED, CLOSING].map(|state| next_state(state, &flow));
        assert_eq!(after, next, "{signal:?}");
        for state in (0..=u8::MAX).map(FlowState) {
            let life = next_life(entry(7, state), 9, &flow);
            let expected = Entry::life(9, next_state(state, &flow));
            assert_eq!(life, expected, "{signal:?} {state:?}");
        }
    }
    let datagram = flow(Signal::Data, Protocol::UDP);
    assert_eq!(first_state(&datagram), OPENING);
    for state in [OPENING, FlowState::DATAGRAM] {
        assert_eq!(next_state(state, &datagram), FlowState::DATAGRAM);
    }
}

#[test]
fn what_is_lost_least_gives_way() {
    const NOW: u32 = 5000;
    let established = |age| entry(NOW - age, FlowState::ESTABLISHED);
    let opening = |age| entry(NOW - age, FlowState::OPENING);
    let ahead = entry(NOW + 1, FlowState::ESTABLISHED);
    let full = [7, 6, 5, 4, 3, 9, 2, 1].map(established);
    let with = |changes: &[(usize, Entry)]| {
        let mut ways = full;
        for (way, entry) in changes {
            ways[*way] = *entry;
        }
        ways
    };
    for (name, ways, expected) in [
        ("the oldest", full, 5),
        ("an empty one", with(&[(3, Entry::default())]), 3),
        ("an expired one", with(&[(6, established(1001))]), 6),
        ("an expired opening one", with(&[(1, opening(11))]), 1),
        ("an opening one, though young", with(&[(7, opening(0))]), 7),
        (
            "a closing one, though young",
            with(&[(7, entry(NOW, FlowState::CLOSING))]),
            7,
        ),
        (
            "the oldest opening one",
            with(&[(2, opening(3)), (4, opening(8))]),
            4,
        ),
        (
            "empty before opening",
            with(&[(0, opening(9)), (7, Entry::default())]),
            7,
        ),
        ("the first of equals", [established(4); WAYS], 0),
        ("not one from the tick ahead", with(&[(5, ahead)]), 0),
        ("the first in an empty bucket", [Entry::default(); WAYS], 0),
    ] {
        assert_eq!(victim(|way| ways[way], NOW, &IDLE), expected, "{name}");
    }
}
