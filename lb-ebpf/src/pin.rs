//! Whether a new flow of a client follows the client's pin.

use lb_common::{Affinity, Pin, Scope, Way};

/// Whether a new flow may follow `pin` at the tick `now` to the target that `way` leads to, which is
/// the one in the pin's place. `is_eligible` is asked whether the policy would choose that target now.
///
/// Where the scope is [`Scope::Healthy`], a target that drains goes on with its pinned clients, as one
/// does that the policy merely prefers others to; one that is dead does not, so it is none that is
/// unhealthy, disabled or removed. Where it is [`Scope::Eligible`], one that drains is left.
#[inline(always)]
pub fn may_follow(
    pin: Pin,
    affinity: Affinity,
    way: &Way<impl Fn(usize) -> u64>,
    now: u32,
    is_eligible: impl FnOnce() -> bool,
) -> bool {
    let stands = way.is_used() && way.identity() == pin.identity;
    if !stands || !pin.is_live(now, affinity) || way.state().dead() || !way.next_hop().is_known() {
        return false;
    }
    match affinity.scope() {
        Scope::Eligible => is_eligible(),
        Scope::Healthy => true,
    }
}

#[cfg(test)]
mod tests {
    use lb_common::{Target, TargetState};

    use super::*;

    const TARGET: Target = Target {
        next_hop: [2, 0, 0, 0, 0, 9],
        state: TargetState(TargetState::TAKES_NEW),
        identity: 77,
        ..Target::FREE
    };

    fn follows(scope: Scope, target: Target, eligible: bool) -> bool {
        let affinity = Affinity::new(60, 32, 128, scope);
        may_follow(Pin::new(5, 77, 10), affinity, &target.way(), 20, || {
            eligible
        })
    }

    #[test]
    fn only_the_target_that_was_pinned_is_followed() {
        for scope in [Scope::Eligible, Scope::Healthy] {
            assert!(follows(scope, TARGET, true));
            for other in [
                Target::FREE,
                Target {
                    identity: 78,
                    ..TARGET
                },
                Target {
                    next_hop: [0; 6],
                    ..TARGET
                },
            ] {
                assert!(!follows(scope, other, true), "{scope:?} {other:?}");
            }
        }
        let affinity = Affinity::new(60, 32, 128, Scope::Healthy);
        let nobody = Pin::new(5, 0, 10);
        assert!(!may_follow(
            nobody,
            affinity,
            &Target::FREE.way(),
            20,
            || { true }
        ));
    }

    #[test]
    fn a_target_that_takes_no_new_flow_keeps_its_pins_unless_it_is_dead_or_must_be_eligible() {
        for (state, healthy) in [
            (TargetState::TAKES_NEW, true),
            (0, true),
            (TargetState::DEAD, false),
            (TargetState::DEAD | TargetState::TAKES_NEW, false),
        ] {
            let target = Target {
                state: TargetState(state),
                ..TARGET
            };
            assert_eq!(follows(Scope::Healthy, target, false), healthy, "{state}");
            assert_eq!(follows(Scope::Eligible, target, true), healthy, "{state}");
            assert!(!follows(Scope::Eligible, target, false), "{state}");
        }
    }

    #[test]
    fn an_expired_pin_is_not_followed() {
        let affinity = Affinity::new(60, 32, 128, Scope::Healthy);
        let at = |now| may_follow(Pin::new(5, 77, 10), affinity, &TARGET.way(), now, || true);
        assert!(at(10 + affinity.idle_ticks() - 1));
        assert!(!at(10 + affinity.idle_ticks()));
    }
}
