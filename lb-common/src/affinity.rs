use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, CHUNK, ServiceKey, TARGET_COUNT, TICK_SHIFT, abi::abi, tick};

/// Which targets a pin may hold its clients to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// Those in the ring that the clients go by now: a target that leaves the policy's choice loses
    /// its pins (D8 of the rules).
    Eligible,
    /// All that are not dead: a pin outranks the policy, and a draining target goes on with its
    /// pinned clients (D91, D92).
    Healthy,
}

impl Scope {
    /// Its spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eligible => "eligible",
            Self::Healthy => "healthy",
        }
    }
}

/// How long and how closely new flows of a client stay with the target of the last one. All zero, there
/// is no affinity.
///
/// From the high bits to the low ones: idle time in ticks (24), realm (24), bits of an IPv6 prefix
/// (8), bits of an IPv4 prefix (7), whether the scope is [`Scope::Healthy`] (1).
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Affinity(u64);

impl Affinity {
    /// No affinity.
    pub const NONE: Self = Self(0);
    /// The longest idle time, in seconds: some thirteen days.
    pub const LONGEST_IDLE: u32 = 1_000_000;

    const TICKS: u32 = (1 << 24) - 1;

    /// Clients of a prefix of `v4` or `v6` bits, at most 32 and 128, keep their target for `idle`
    /// seconds, at most [`Self::LONGEST_IDLE`], after their last new flow.
    ///
    /// Time is counted in ticks of 67 ms, of which only whole ones count: a pin never holds for
    /// longer than `idle`, and ends up to two ticks before.
    pub const fn new(idle: u32, v4: u8, v6: u8, scope: Scope) -> Self {
        let ticks = (tick(idle as u64 * 1_000_000_000) & Self::TICKS) as u64;
        let healthy = matches!(scope, Scope::Healthy) as u64;
        Self(ticks << 40 | (v6 as u64) << 8 | (v4 as u64 & 0x7f) << 1 | healthy)
    }

    /// What a [`ring_head`] begins with.
    pub const fn of_head(head: &[u16]) -> Self {
        match head {
            [a, b, c, d, ..] => {
                let [[a, b], [c, d], [e, f], [g, h]] = [
                    a.to_ne_bytes(),
                    b.to_ne_bytes(),
                    c.to_ne_bytes(),
                    d.to_ne_bytes(),
                ];
                Self(u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
            }
            _ => Self::NONE,
        }
    }

    /// The same for the clients of a group alone, by the low 24 bits of its number: one service may
    /// send clients of one prefix to different groups, and pins of one are none for another.
    #[must_use]
    pub const fn within(self, group: u32) -> Self {
        Self(self.0 & !(0xff_ffff << 16) | (group as u64 & 0xff_ffff) << 16)
    }

    /// Whether there is any.
    #[inline(always)]
    pub const fn is_some(self) -> bool {
        self.idle_ticks() != 0
    }

    /// Ticks after which a pin has ended.
    #[inline(always)]
    pub const fn idle_ticks(self) -> u32 {
        (self.0 >> 40) as u32
    }

    /// The idle time that [`Self::new`] was given, in seconds.
    pub const fn idle_seconds(self) -> u32 {
        (((self.idle_ticks() as u64) << TICK_SHIFT).div_ceil(1_000_000_000)) as u32
    }

    /// What tells pins of different groups apart.
    #[inline(always)]
    pub const fn realm(self) -> u32 {
        (self.0 >> 16) as u32 & 0xff_ffff
    }

    /// Bits of an IPv6 prefix whose clients share a pin.
    #[inline(always)]
    pub const fn v6(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Bits of an IPv4 prefix whose clients share a pin.
    #[inline(always)]
    pub const fn v4(self) -> u8 {
        (self.0 >> 1) as u8 & 0x7f
    }

    /// Which targets a pin may lead to.
    #[inline(always)]
    pub const fn scope(self) -> Scope {
        match self.0 & 1 {
            0 => Scope::Eligible,
            _ => Scope::Healthy,
        }
    }

    /// The clients that share a pin with this one, as the first of their addresses.
    #[inline(always)]
    pub const fn prefix(self, client: Address) -> Address {
        let [a, b, c, d] = client.words();
        if client.is_v4() {
            return Address::of_v4_word(kept(d, self.v4() as u32, 0));
        }
        let bits = self.v6() as u32;
        Address::of_words([
            kept(a, bits, 0),
            kept(b, bits, 32),
            kept(c, bits, 64),
            kept(d, bits, 96),
        ])
    }
}

/// A word that begins after `before` bits of an address, without what is behind the first `bits`.
#[inline(always)]
const fn kept(word: u32, bits: u32, before: u32) -> u32 {
    let bits = bits.saturating_sub(before);
    if bits >= 32 {
        return word;
    }
    word & !(u32::MAX >> bits).to_be()
}

/// Key of the map AFFINITY_PINS.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Hash, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct PinKey {
    /// [`Affinity::prefix`] of the client.
    pub clients: Address,
    /// The service, by what outlives its id.
    pub service: ServiceKey,
    /// [`Affinity::realm`].
    pub realm: u32,
}

/// Element of the map AFFINITY_PINS: where the clients of a prefix went last. The packet program
/// alone writes it, word by word.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Pin {
    /// [`crate::Target::identity`]. The id alone could have gone to another target.
    pub identity: u64,
    /// Where that target stood, and the tick when a new flow last went there.
    place: u64,
}

impl Pin {
    /// A pin to a target, used at the tick `now`.
    #[inline(always)]
    pub const fn new(target: u16, identity: u64, now: u32) -> Self {
        Self {
            identity,
            place: (now as u64) << 32 | target as u64,
        }
    }

    /// Id of the target.
    #[inline(always)]
    pub const fn target(self) -> u16 {
        self.place as u16
    }

    /// The tick when a new flow last went there.
    #[inline(always)]
    pub const fn last_used(self) -> u32 {
        (self.place >> 32) as u32
    }

    /// Whether it holds at the tick `now`. Another CPU may have used it at a tick that this one has
    /// not reached.
    #[inline(always)]
    pub fn is_live(self, now: u32, affinity: Affinity) -> bool {
        let age = now.wrapping_sub(self.last_used()) as i32;
        age.max(0) < affinity.idle_ticks() as i32
    }
}

/// Slots in front of a ring with affinity: a chunk that begins with the [`Affinity`], and four with a bit
/// for each target id.
pub const RING_HEAD: usize = CHUNK + TARGET_COUNT / u16::BITS as usize;

/// What stands in front of the slots of a ring with affinity: how its clients are pinned, and which
/// targets it has. It is written with them, so that a packet never meets the affinity of another ring.
pub fn ring_head(affinity: Affinity, targets: impl IntoIterator<Item = u16>) -> [u16; RING_HEAD] {
    let mut head = [0; RING_HEAD];
    let bytes = affinity.0.to_ne_bytes();
    for (slot, two) in head.iter_mut().zip(bytes.as_chunks().0) {
        *slot = u16::from_ne_bytes(*two);
    }
    for target in targets {
        if let Some((place, bit)) = member_bit(target) {
            head[place as usize] |= bit;
        }
    }
    head
}

/// Where a head says whether a target stands in its ring: the place in the head, and the bit there.
/// None: no ring has the target.
#[inline(always)]
pub const fn member_bit(target: u16) -> Option<(u32, u16)> {
    if target as usize >= TARGET_COUNT {
        return None;
    }
    let place = CHUNK as u32 + target as u32 / u16::BITS;
    Some((place, 1 << (target as u32 % u16::BITS)))
}

abi! {
    Affinity = 8 align 8,
    PinKey = 40 align 4,
    Pin = 16 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn every_part_is_kept_apart_from_the_others() {
        let affinity = Affinity::new(Affinity::LONGEST_IDLE, 32, 128, Scope::Healthy);
        let affinity = affinity.within(u32::MAX);
        assert_eq!(affinity.idle_ticks(), tick(1_000_000 * SECOND));
        assert_eq!(affinity.realm(), 0xff_ffff);
        assert_eq!((affinity.v4(), affinity.v6()), (32, 128));
        assert_eq!(affinity.scope(), Scope::Healthy);
        let affinity = Affinity::new(120, 0, 0, Scope::Eligible).within(0x7700_0001);
        assert_eq!((affinity.v4(), affinity.v6(), affinity.realm()), (0, 0, 1));
        assert_eq!(affinity.scope(), Scope::Eligible);
        assert!(affinity.is_some() && !Affinity::NONE.is_some());
    }

    #[test]
    fn an_idle_time_is_told_as_it_was_given() {
        for seconds in (1..100_000).chain([86_400, Affinity::LONGEST_IDLE]) {
            let affinity = Affinity::new(seconds, 32, 128, Scope::Healthy);
            assert_eq!(affinity.idle_seconds(), seconds);
        }
    }

    #[test]
    fn t150_and_t151_a_pin_holds_after_119_seconds_and_not_after_120() {
        let affinity = Affinity::new(120, 32, 128, Scope::Eligible);
        // Whatever part of a tick had passed at the last use.
        for begin in (0..1 << 27).step_by(999_983) {
            let pin = Pin::new(1, 2, tick(begin));
            assert!(pin.is_live(tick(begin + 119 * SECOND), affinity), "{begin}");
            assert!(
                !pin.is_live(tick(begin + 120 * SECOND), affinity),
                "{begin}"
            );
        }
    }

    #[test]
    fn a_pin_from_a_tick_to_come_holds() {
        let affinity = Affinity::new(1, 32, 128, Scope::Eligible);
        assert!(Pin::new(1, 2, 5).is_live(4, affinity));
        assert!(Pin::new(1, 2, 0).is_live(u32::MAX, affinity), "wrapped");
    }

    #[test]
    fn clients_of_a_prefix_are_one() {
        let v4 = |bits, last: [u8; 4]| {
            let affinity = Affinity::new(1, bits, 128, Scope::Eligible);
            affinity.prefix(Address::v4(last))
        };
        for (bits, expected) in [
            (32, [198, 51, 100, 207]),
            (31, [198, 51, 100, 206]),
            (25, [198, 51, 100, 128]),
            (24, [198, 51, 100, 0]),
            (15, [198, 50, 0, 0]),
            (0, [0; 4]),
        ] {
            let found = v4(bits, [198, 51, 100, 207]);
            assert_eq!(found, Address::v4(expected), "/{bits}");
        }
        let address = core::array::from_fn(|i| 0xf1 + i as u8 % 15);
        for bits in 0..=128_u8 {
            let affinity = Affinity::new(1, 32, bits, Scope::Eligible);
            let expected = u128::from_be_bytes(address)
                & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            let prefix = affinity.prefix(Address::v6(address));
            assert_eq!(prefix.octets(), expected.to_be_bytes(), "/{bits}");
        }
    }

    #[test]
    fn a_head_tells_the_affinity_and_every_target_of_its_ring() {
        let affinity = Affinity::new(120, 24, 56, Scope::Healthy).within(77);
        let head = ring_head(affinity, [1, 64, 4095, 4096, u16::MAX]);
        assert_eq!(Affinity::of_head(&head), affinity);
        assert_eq!(Affinity::of_head(&head[..3]), Affinity::NONE);
        let has = |target| member_bit(target).is_some_and(|(at, bit)| head[at as usize] & bit != 0);
        assert!((0..=u16::MAX).filter(|it| has(*it)).eq([1, 64, 4095]));
    }
}
