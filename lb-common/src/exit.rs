use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::abi;

/// The VLAN tags of a frame (IEEE 802.1Q, 802.1ad): at most two, the outer one first.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(transparent)]
pub struct Tags([u32; 2]);

impl Tags {
    /// The EtherType of a customer's tag (IEEE 802.1Q).
    pub const CUSTOMER: [u8; 2] = [0x81, 0x00];
    /// The EtherType of a provider's tag, which stands before a customer's (IEEE 802.1ad).
    pub const PROVIDER: [u8; 2] = [0x88, 0xa8];
    /// The largest number of a VLAN.
    pub const LAST_VLAN: u16 = 4094;
    /// Bytes of a tag.
    pub const BYTES: usize = 4;

    /// None.
    pub const NONE: Self = Self([0; 2]);

    /// The tags whose four bytes each stand in memory as these words; a word is 0 where there is none.
    #[inline(always)]
    pub const fn of_words(words: [u32; 2]) -> Self {
        Self(words)
    }

    /// A single tag of this EtherType and VLAN.
    #[must_use]
    pub const fn single(ether_type: [u8; 2], vlan: u16) -> Self {
        Self([tag(ether_type, vlan), 0])
    }

    /// The same with another tag in front of them, if they are no more than one.
    #[must_use]
    pub const fn within(self, outer: Self) -> Option<Self> {
        match (self.0, outer.0) {
            ([inner, 0], [outer, 0]) => Some(Self([outer, inner])),
            _ => None,
        }
    }

    /// The words that [`Self::of_words`] takes.
    #[inline(always)]
    pub const fn words(self) -> [u32; 2] {
        self.0
    }

    /// Number of tags.
    #[inline(always)]
    pub const fn count(self) -> usize {
        match self.0 {
            [0, _] => 0,
            [_, 0] => 1,
            _ => 2,
        }
    }

    /// The VLANs, the outer one first.
    pub fn vlans(self) -> impl Iterator<Item = u16> {
        let words = self.0.into_iter().take(self.count());
        words.map(|word| {
            let [.., high, low] = word.to_ne_bytes();
            u16::from_be_bytes([high, low]) & 0x0fff
        })
    }

    /// These tags with the priority (PCP and DEI, the four bits before the VLAN) of the outer tag of a frame
    /// that had `came`.
    #[inline(always)]
    #[must_use]
    pub const fn with_priority_of(self, came: Self) -> Self {
        const PRIORITY: u32 = u32::from_ne_bytes([0, 0, 0xf0, 0]);
        let [outer, inner] = self.0;
        match outer {
            0 => self,
            _ => Self([outer & !PRIORITY | came.0[0] & PRIORITY, inner]),
        }
    }
}

const fn tag([a, b]: [u8; 2], vlan: u16) -> u32 {
    let [high, low] = vlan.to_be_bytes();
    u32::from_ne_bytes([a, b, high, low])
}

/// How a frame leaves: by which interface, and with which tags.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct Exit {
    /// The tags that it then has, whatever it came with.
    pub tags: Tags,
    /// Index of the interface; 0 for the one that it came by.
    pub interface: u32,
}

impl Exit {
    /// By the interface that it came by, without tags.
    pub const SAME: Self = Self {
        tags: Tags::NONE,
        interface: 0,
    };
}

/// Element of the map TRANSIT, of each CPU: what is to be known of a frame when it leaves.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct Transit {
    /// The tags that it came with and that were taken off.
    pub tags: Tags,
    /// How it leaves, if it goes back to a client.
    pub back: Exit,
}

/// Element of the map STATIONS, by the index of an interface: its MAC address. A frame for another one is
/// another host's.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct Station {
    /// The address.
    pub mac: [u8; 6],
    /// Always 0.
    pub reserved: [u8; 2],
}

impl Station {
    /// The interface with this address.
    pub const fn new(mac: [u8; 6]) -> Self {
        Self {
            mac,
            reserved: [0; 2],
        }
    }
}

abi! {
    Tags = 8 align 4,
    Exit = 12 align 4,
    Transit = 20 align 4,
    Station = 8 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(tags: Tags) -> [u8; 8] {
        zerocopy::transmute!(tags)
    }

    #[test]
    fn tags_stand_in_memory_as_on_the_wire() {
        let single = Tags::single(Tags::CUSTOMER, 100);
        assert_eq!(bytes(single), [0x81, 0, 0, 100, 0, 0, 0, 0]);
        let double = single.within(Tags::single(Tags::PROVIDER, 0x0abc)).unwrap();
        assert_eq!(bytes(double), [0x88, 0xa8, 0x0a, 0xbc, 0x81, 0, 0, 100]);
        assert_eq!(double.within(single), None, "two at most");
        for (tags, count) in [(Tags::NONE, 0), (single, 1), (double, 2)] {
            assert_eq!(tags.count(), count);
            assert_eq!(tags.vlans().count(), count);
        }
        assert!(double.vlans().eq([0x0abc, 100]));
    }

    #[test]
    fn the_priority_of_a_frame_survives_another_vlan() {
        let came = Tags::of_words([u32::from_ne_bytes([0x81, 0, 0xb0, 7]), 0]);
        let leaves = Tags::single(Tags::PROVIDER, 0x0123).with_priority_of(came);
        assert_eq!(bytes(leaves)[..4], [0x88, 0xa8, 0xb1, 0x23]);
        assert_eq!(Tags::NONE.with_priority_of(came), Tags::NONE);
        let untagged = leaves.with_priority_of(Tags::NONE);
        assert_eq!(bytes(untagged)[..4], [0x88, 0xa8, 0x01, 0x23]);
    }
}
