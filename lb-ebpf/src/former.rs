//! Whether a packet without an entry goes by the ring that stood before a change.

use lb_common::{Protocol, Way};

use crate::parse::{Flow, Signal};

/// Whether a packet of `flow`, which has no entry, is of a connection that may have begun before the
/// change: TCP, and no SYN. Of UDP nothing says so, and what is new must not go where the present ring sends
/// nothing.
#[inline(always)]
pub fn may_be_older(flow: &Flow) -> bool {
    (flow.tuple.protocol == Protocol::TCP) & (flow.signal != Signal::Open)
}

/// Whether the target that `way` leads to may go on with what it had then: whether it takes new flows does
/// not matter, so one that drains does. One that is dead, was flushed or can not be reached does not.
#[inline(always)]
pub fn may_go_on(way: &Way<impl Fn(usize) -> u64>) -> bool {
    way.is_used() & !way.state().dead() & (way.epoch() == 0) & way.next_hop().is_known()
}

#[cfg(test)]
mod tests {
    use lb_common::{Address, Ports, Target, TargetState, Tuple};

    use super::*;

    #[test]
    fn only_tcp_that_opens_nothing_may_be_older_than_a_change() {
        let is_older = |protocol, signal| {
            let tuple = Tuple {
                client: Address::v4([198, 51, 100, 1]),
                service: Address::v4([203, 0, 113, 10]),
                ports: Ports::new(4000, 80),
                protocol,
            };
            let ip_length = 40;
            may_be_older(&Flow {
                tuple,
                signal,
                ip_length,
            })
        };
        for signal in [Signal::Data, Signal::Finish, Signal::Reset] {
            assert!(is_older(Protocol::TCP, signal), "{signal:?}");
        }
        assert!(!is_older(Protocol::TCP, Signal::Open));
        assert!(!is_older(Protocol::UDP, Signal::Data));
    }

    #[test]
    fn only_a_target_that_lives_and_is_reached_goes_on() {
        let target = Target {
            next_hop: [2, 0, 0, 0, 0, 9],
            identity: 77,
            ..Target::FREE
        };
        let goes_on = |target: Target| may_go_on(&target.way());
        assert!(goes_on(target), "draining");
        for other in [
            Target::FREE,
            Target {
                next_hop: [0; 6],
                ..target
            },
            Target { epoch: 1, ..target },
            Target {
                state: TargetState(TargetState::DEAD),
                ..target
            },
        ] {
            assert!(!goes_on(other), "{other:?}");
        }
    }
}
