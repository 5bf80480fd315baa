use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, Ports, TICK_SHIFT, Tuple, abi::abi};

/// Key of the map FRAGMENTS: what the fragments of one packet have in common (RFC 791, 3.2; RFC 8200,
/// 4.5).
#[derive(Clone, Copy, Debug, Eq, FromBytes, Hash, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct FragmentKey {
    /// The sender.
    pub client: Address,
    /// The receiver.
    pub service: Address,
    /// The identification, as it stands in the packet.
    pub id: u32,
    /// Protocol number of what was cut up; that of IPv6's first fragment may differ from the others', so
    /// it is 0 there.
    pub protocol: u32,
}

impl FragmentKey {
    /// The key of fragments that carry a packet of this flow, whose ports do not count.
    #[inline(always)]
    pub const fn new(flow: &Tuple, id: u32) -> Self {
        let protocol = match flow.client.is_v4() {
            true => flow.protocol.0 as u32,
            false => 0,
        };
        Self {
            client: flow.client,
            service: flow.service,
            id,
            protocol,
        }
    }
}

/// Element of the map FRAGMENTS: where the first fragment of a packet went, so that the others, which
/// have no ports, follow it. The packet program alone writes it, word by word.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct FragmentRoute {
    /// [`crate::Target::identity`]; 0 if the packet is for the host itself. Of a packet from a backend the
    /// ports: its sender and receiver tell it from others.
    identity: u64,
    /// From the high bits to the low ones: the tick when the first fragment came (32), id of the
    /// service (16), where the target stood (16).
    place: u64,
}

impl FragmentRoute {
    /// Ticks that a packet may take to be put together again: about 30 seconds, as hosts give it
    /// (RFC 1122, 3.3.2, allows up to 120, RFC 8200 has 60).
    const TICKS: u32 = (30_000_000_000_u64 >> TICK_SHIFT) as u32;

    /// To a target of a service, at the tick `now`.
    #[inline(always)]
    pub const fn new(service: u32, target: u16, identity: u64, now: u32) -> Self {
        let place = (now as u64) << 32 | (service as u64 & 0xffff) << 16 | target as u64;
        Self { identity, place }
    }

    /// To the host.
    #[inline(always)]
    pub const fn to_host(now: u32) -> Self {
        Self::new(0, 0, 0, now)
    }

    /// Back to the client of a translated flow, whose backend's packets have these ports.
    #[inline(always)]
    pub const fn back(ports: Ports, now: u32) -> Self {
        Self::new(0, 0, ports.word() as u64, now)
    }

    /// The ports that [`Self::back`] was given.
    #[inline(always)]
    pub const fn ports(self) -> Ports {
        Ports::of_word(self.identity as u32)
    }

    /// Whether the packet is for the host itself.
    #[inline(always)]
    pub const fn is_to_host(self) -> bool {
        self.identity == 0
    }

    /// The target's identity.
    #[inline(always)]
    pub const fn identity(self) -> u64 {
        self.identity
    }

    /// Id of the target.
    #[inline(always)]
    pub const fn target(self) -> u16 {
        self.place as u16
    }

    /// Id of the service.
    #[inline(always)]
    pub const fn service(self) -> u32 {
        (self.place >> 16) as u32 & 0xffff
    }

    /// Whether others may still follow at the tick `now`. Another CPU may have seen the first at a tick
    /// that this one has not reached.
    #[inline(always)]
    pub fn is_live(self, now: u32) -> bool {
        let age = now.wrapping_sub((self.place >> 32) as u32) as i32;
        age.max(0) < Self::TICKS as i32
    }
}

abi! {
    FragmentKey = 40 align 4,
    FragmentRoute = 16 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick;

    #[test]
    fn a_route_holds_for_half_a_minute() {
        const SECOND: u64 = 1_000_000_000;
        let route = FragmentRoute::new(1023, 4095, u64::MAX, tick(7 * SECOND));
        assert_eq!((route.service(), route.target()), (1023, 4095));
        assert_eq!(route.identity(), u64::MAX);
        assert!(route.is_live(tick(36 * SECOND)) && !route.is_live(tick(38 * SECOND)));
        assert!(route.is_live(tick(7 * SECOND) - 1), "a tick to come");
        let ports = Ports::new(80, 61_000);
        assert_eq!(FragmentRoute::back(ports, 5).ports(), ports);
        assert!(!route.is_to_host() && FragmentRoute::to_host(5).is_to_host());
    }
}
