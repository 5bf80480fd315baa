use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, Tuple, abi::abi};

/// Sets of flows that a CPU keeps in mind; a power of two, at most 2^20.
pub const RECENT_SETS: usize = 1 << 12;

/// Flows in a set, whose tags are one word.
pub const RECENT_WAYS: usize = 4;

/// A stamp holds for this many jiffies, to the power of two: 64 ms where there are 250 in a second.
const PERIOD_SHIFT: u32 = 4;

/// A flow that a CPU has sent a packet of, and where that went: one cache line, in which the flow's next
/// packets find what they otherwise would look up in four tables. Only that CPU reads and writes it.
///
/// It holds for a period of some jiffies, and not beyond a change of what it was looked up in. So every flow
/// goes the long way once in a period, which is what keeps its entry from growing old.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Recent {
    /// When it was written, of what family and protocol the flow is, as [`Self::stamp`]; 0 for never.
    stamp: u64,
    client: Address,
    service: Address,
    ports: u32,
    reserved: u32,
    /// Where its packets went.
    pub course: Course,
}

/// Where the packets of a flow go.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Course {
    /// Id of the service.
    pub service: u32,
    /// Id of the target.
    pub target: u16,
    /// The edge's port at the backend, if packets are translated; else 0.
    pub port: u16,
    /// The station that they come from then, which is where the answers go.
    pub station: u64,
}

impl Course {
    /// Of packets that are not translated.
    #[inline(always)]
    pub const fn straight(service: u32, target: u16) -> Self {
        Self {
            service,
            target,
            port: 0,
            station: 0,
        }
    }
}

impl Recent {
    /// The stamp of what is written now about a flow: `generation` is [`crate::Control::generation`], and wraps.
    #[inline(always)]
    pub const fn stamp(tuple: &Tuple, generation: u64, jiffies: u64) -> u64 {
        let period = (jiffies >> PERIOD_SHIFT) as u32;
        let family = (tuple.client.is_v4() as u64) << 7;
        generation << 40 | (period as u64) << 8 | family | tuple.protocol.0 as u64
    }

    /// The set of a flow: no secret, since whoever takes a flow's place only sends it the long way.
    #[inline(always)]
    pub const fn set(tuple: &Tuple) -> usize {
        tuple.label() as usize >> (Tuple::LABEL_BITS - RECENT_SETS.ilog2())
    }

    /// What stands beside a flow that is written now. Where a CPU keeps many flows in mind, few of which come
    /// again, it looks at the tags alone, which are near: whether one may be of the flow, and which place is
    /// free. If flows took each other's at any time, those that take turns would write all the time.
    #[inline(always)]
    pub const fn tag(tuple: &Tuple, stamp: u64) -> u16 {
        // Of the period and the generation what changes first.
        let when = (stamp >> 8) as u8 ^ (stamp >> 40) as u8;
        (when as u16) << 8 | (tuple.label() as u8) as u16
    }

    /// Whether what has this tag is over at a time with `now` for another flow's.
    #[inline(always)]
    pub const fn is_over(tag: u16, now: u16) -> bool {
        (tag ^ now) >> 8 != 0
    }

    /// A flow that was sent a packet of.
    #[inline(always)]
    pub const fn new(stamp: u64, tuple: &Tuple, course: Course) -> Self {
        Self {
            stamp,
            client: tuple.client,
            service: tuple.service,
            ports: tuple.ports.word(),
            reserved: 0,
            course,
        }
    }

    /// Whether it is this flow, and holds at a time with this stamp.
    #[inline(always)]
    pub const fn is(&self, stamp: u64, tuple: &Tuple) -> bool {
        // A stamp tells the families apart, and of IPv4 addresses differs the last word alone.
        let is_same = match tuple.client.is_v4() {
            true => {
                self.client.words()[3] == tuple.client.words()[3]
                    && self.service.words()[3] == tuple.service.words()[3]
            }
            false => self.client.is(tuple.client) && self.service.is(tuple.service),
        };
        self.stamp == stamp && self.ports == tuple.ports.word() && is_same
    }
}

abi! {
    Recent = 64 align 8,
    Course = 16 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ports, Protocol};

    const COURSE: Course = Course::straight(5, 7);

    fn v4(client: u8, service: u8, ports: Ports) -> Tuple {
        Tuple {
            client: Address::v4([192, 0, 2, client]),
            service: Address::v4([203, 0, 113, service]),
            ports,
            protocol: Protocol::TCP,
        }
    }

    /// An address that ends as an IPv4 address does.
    fn v6(first: u8, last: [u8; 4]) -> Address {
        let [a, b, c, d] = last;
        Address::v6([first, 1, 13, 184, 0, 0, 0, 0, 0, 0, 255, 255, a, b, c, d])
    }

    #[test]
    fn it_is_the_flow_that_it_was_written_for_and_no_other() {
        let ports = Ports::new(4711, 443);
        let flow = v4(1, 10, ports);
        let stamp = |tuple: &Tuple| Recent::stamp(tuple, 3, 1000);
        let recent = Recent::new(stamp(&flow), &flow, COURSE);
        assert!(recent.is(stamp(&flow), &flow));
        let as_v6 = Tuple {
            client: v6(32, [192, 0, 2, 1]),
            service: v6(32, [203, 0, 113, 10]),
            ..flow
        };
        for other in [
            v4(2, 10, ports),
            v4(1, 11, ports),
            v4(1, 10, Ports::new(4712, 443)),
            v4(1, 10, Ports::new(4711, 80)),
            Tuple {
                protocol: Protocol::UDP,
                ..flow
            },
            as_v6,
        ] {
            assert!(!recent.is(stamp(&other), &other), "{other:?}");
        }
        let recent = Recent::new(stamp(&as_v6), &as_v6, COURSE);
        assert!(recent.is(stamp(&as_v6), &as_v6));
        for other in [
            flow,
            Tuple {
                client: v6(33, [192, 0, 2, 1]),
                ..as_v6
            },
            Tuple {
                service: v6(33, [203, 0, 113, 10]),
                ..as_v6
            },
        ] {
            assert!(!recent.is(stamp(&other), &other), "{other:?}");
        }
    }

    #[test]
    fn it_ends_with_its_period_and_with_its_generation() {
        let flow = v4(1, 10, Ports::new(4711, 443));
        let stamp = |generation, jiffies| Recent::stamp(&flow, generation, jiffies);
        let tag = |generation, jiffies| Recent::tag(&flow, stamp(generation, jiffies));
        let recent = Recent::new(stamp(3, 1008), &flow, COURSE);
        for jiffies in 1008..1024 {
            assert!(recent.is(stamp(3, jiffies), &flow));
            assert!(!Recent::is_over(tag(3, jiffies), tag(3, 1008)));
        }
        for (generation, jiffies) in [(3, 1007), (3, 1024), (4, 1008)] {
            assert!(!recent.is(stamp(generation, jiffies), &flow));
            assert!(Recent::is_over(tag(3, 1008), tag(generation, jiffies)));
        }
        // Memory that was never written.
        let never = Recent::new(0, &flow, COURSE);
        assert!(!never.is(stamp(0, 0), &flow));
    }

    #[test]
    fn flows_that_count_up_are_spread() {
        let mut taken = [0; RECENT_SETS];
        for client in 0..100 {
            for port in 0..100 {
                taken[Recent::set(&v4(client, 10, Ports::new(1024 + port, 443)))] += 1;
            }
        }
        let kept: usize = taken
            .map(|flows: usize| flows.min(RECENT_WAYS))
            .iter()
            .sum();
        // Of 10,000 flows, chance alone leaves a place to 9,365.
        assert!(kept > 9_200, "{kept}");
    }
}
