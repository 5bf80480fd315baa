use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{HashKey, RING_HEAD, Tuple, abi::abi};

/// Slots in one element of the map SLOTS.
pub const CHUNK: usize = 64;

/// Element of the map SLOTS: 64 consecutive slots of the ring pool, each a target id.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C, align(8))]
pub struct Chunk(pub [u16; CHUNK]);

/// What becomes of a packet that no backend gets, by a rule or because the policy has none for it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Answer(u8);

impl Answer {
    /// It is dropped.
    pub const DROP: Self = Self(1);
    /// It goes on to the host.
    pub const PASS: Self = Self(2);
    /// Its sender is told: a TCP reset, or ICMP "administratively prohibited".
    pub const REJECT: Self = Self(3);
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DROP, Self::PASS, Self::REJECT];

    /// The slot that stands for it in a ring, in the place of a target id.
    #[inline(always)]
    pub const fn slot(self) -> u16 {
        u16::MAX - 3 + self.0 as u16
    }

    /// The answer that a slot stands for; none if it names a target.
    #[inline(always)]
    pub const fn of_slot(slot: u16) -> Option<Self> {
        match slot.wrapping_sub(u16::MAX - 3) {
            answer @ 1..=3 => Some(Self(answer as u8)),
            _ => None,
        }
    }
}

/// Element of the map RINGS: where in the pool the ring of one (service, class) stands.
///
/// A ring is `rows` rows of `columns` slots: the hash of the client chooses the row and the hash of
/// the flow the column. With one row flows alone are spread, with one column clients alone; with more
/// of both, all flows of a client stay among the targets of its row.
///
/// It is one word, so that one store points a service to its new ring: the offset (32 bits, high; the
/// lowest of them says whether a [`crate::ring_head`] stands there before the slots), the columns where
/// there is more than one row (11 bits, else 0), the length (21 bits). One of length 0 is no ring but an
/// answer.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    FromBytes,
    Immutable,
    IntoBytes,
    KnownLayout,
    Ord,
    PartialEq,
    PartialOrd,
)]
#[repr(transparent)]
pub struct Descriptor(u64);

impl Descriptor {
    /// Nothing is known for the class: the packet is dropped.
    pub const NO_ANSWER: Self = Self(0);
    /// The packet is dropped.
    pub const DROP: Self = Self::of_answer(Answer::DROP);
    /// The packet goes on to the host.
    pub const PASS: Self = Self::of_answer(Answer::PASS);
    /// The packet is rejected.
    pub const REJECT: Self = Self::of_answer(Answer::REJECT);

    /// Set in a descriptor of a ring with a head: offsets are even.
    const HEAD: u64 = 1 << 32;
    /// Slots that a ring can have, less one.
    const LENGTH: u32 = (1 << 21) - 1;
    /// The most columns of a ring with more than one row.
    pub const MOST_COLUMNS: u32 = (1 << 11) - 1;

    /// A ring of `length` slots in one row that begins at slot `offset` of the pool.
    #[inline(always)]
    pub const fn new(offset: u32, length: u32) -> Self {
        Self((offset as u64) << 32 | (length & Self::LENGTH) as u64)
    }

    /// A ring of `length` slots in rows of `columns`, at most [`Self::MOST_COLUMNS`]. What is left
    /// over behind the last whole row is never chosen.
    #[inline(always)]
    pub const fn in_rows(offset: u32, length: u32, columns: u32) -> Self {
        Self(Self::new(offset, length).0 | ((columns & Self::MOST_COLUMNS) as u64) << 21)
    }

    /// The same ring, with a head where it begins.
    #[must_use]
    pub const fn with_head(self) -> Self {
        Self(self.0 | Self::HEAD)
    }

    /// No ring, but this.
    pub const fn of_answer(answer: Answer) -> Self {
        Self((answer.0 as u64) << 32)
    }

    /// What becomes of the packet where there is no ring; none for [`Self::NO_ANSWER`] too.
    #[inline(always)]
    pub const fn answer(self) -> Option<Answer> {
        match (self.length(), self.0 >> 32) {
            (0, answer @ 1..=3) => Some(Answer(answer as u8)),
            _ => None,
        }
    }

    /// Where in the pool it begins, be it with its head.
    #[inline(always)]
    pub const fn offset(self) -> u32 {
        (self.0 >> 33 << 1) as u32
    }

    /// Whether it has affinity, and so a head.
    #[inline(always)]
    pub const fn has_head(self) -> bool {
        self.0 & Self::HEAD != 0
    }

    /// Its first slot in the pool.
    #[inline(always)]
    pub const fn first_slot(self) -> u32 {
        let head = if self.has_head() { RING_HEAD as u32 } else { 0 };
        self.offset().wrapping_add(head)
    }

    /// Number of slots.
    #[inline(always)]
    pub const fn length(self) -> u32 {
        self.0 as u32 & Self::LENGTH
    }

    /// Slots of a row; 0 where there is but one row.
    #[inline(always)]
    pub const fn columns(self) -> u32 {
        self.0 as u32 >> 21
    }

    /// The slot in the pool for a flow: the hashes of its client and of the whole of it under `key`
    /// choose row and column.
    #[inline(always)]
    pub fn slot(self, flow: &Tuple, key: &HashKey) -> u32 {
        self.place(|| flow.client_hash(key), flow.hash(key))
    }

    /// The high bits of a hash choose, without a division.
    #[inline(always)]
    fn place(self, client: impl FnOnce() -> u32, flow: u32) -> u32 {
        let columns = self.columns();
        if columns == 0 {
            return self.first_slot() + chosen(flow, self.length());
        }
        let row = chosen(client(), self.length() / columns);
        self.first_slot() + row * columns + chosen(flow, columns)
    }
}

/// One of `count` places for a hash.
#[inline(always)]
const fn chosen(hash: u32, count: u32) -> u32 {
    ((hash as u64 * count as u64) >> 32) as u32
}

abi! {
    Chunk = 128 align 8,
    Descriptor = 8 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = u32::MAX;

    #[test]
    fn the_flow_alone_chooses_in_a_ring_of_one_row() {
        let ring = Descriptor::new(64, 10);
        assert_eq!((ring.offset(), ring.length(), ring.columns()), (64, 10, 0));
        let slot = |flow| ring.place(|| unreachable!("no client is hashed"), flow);
        assert_eq!([slot(0), slot(MOST / 2), slot(MOST)], [64, 68, 73]);
    }

    #[test]
    fn the_client_chooses_the_row_and_the_flow_the_column() {
        let ring = Descriptor::in_rows(64, 12, 3);
        assert_eq!((ring.offset(), ring.length(), ring.columns()), (64, 12, 3));
        let slots = |client| [0, MOST / 2, MOST].map(|flow| ring.place(|| client, flow));
        assert_eq!(slots(0), [64, 65, 66]);
        assert_eq!(slots(MOST), [73, 74, 75]);
        let by_client = Descriptor::in_rows(0, 5, 1);
        let slots = [0, MOST].map(|flow| by_client.place(|| MOST, flow));
        assert_eq!(slots, [4, 4], "the flow has no part in it");
    }

    #[test]
    fn the_slots_of_a_ring_with_affinity_stand_behind_its_head() {
        let ring = Descriptor::new(64, 10).with_head();
        let head = RING_HEAD as u32;
        assert_eq!((ring.offset(), ring.first_slot()), (64, 64 + head));
        let slot = |flow| ring.place(|| unreachable!("no client is hashed"), flow);
        assert_eq!([slot(0), slot(MOST)], [64 + head, 73 + head]);
        let rows = Descriptor::in_rows(64, 12, 3).with_head();
        assert_eq!(rows.place(|| MOST, 0), 64 + head + 9);
    }

    #[test]
    fn slots_behind_the_last_whole_row_are_never_chosen() {
        let ring = Descriptor::in_rows(0, 11, 3);
        assert_eq!(ring.place(|| MOST, MOST), 8);
        assert_eq!(
            Descriptor::in_rows(6, 2, 3).place(|| MOST, MOST),
            8,
            "foreign"
        );
    }

    #[test]
    fn the_largest_rings_keep_all_their_parts() {
        let ring = Descriptor::in_rows(MOST - 1, (1 << 21) - 1, Descriptor::MOST_COLUMNS);
        for (ring, has_head) in [(ring, false), (ring.with_head(), true)] {
            let parts = (ring.offset(), ring.length(), ring.columns());
            assert_eq!(parts, (MOST - 1, (1 << 21) - 1, 2047));
            assert_eq!(ring.has_head(), has_head);
        }
    }

    #[test]
    fn an_answer_is_a_descriptor_without_a_ring_and_a_slot_that_names_no_target() {
        for answer in Answer::ALL {
            assert_eq!(Answer::of_slot(answer.slot()), Some(answer));
        }
        assert_eq!(Answer::of_slot(0), None);
        assert_eq!(Answer::of_slot(u16::MAX - 3), None);
        assert_eq!(Answer::REJECT.slot(), u16::MAX);
        assert_eq!(Descriptor::REJECT.answer(), Some(Answer::REJECT));
        assert_eq!(Descriptor::NO_ANSWER.answer(), None);
        assert_eq!(Descriptor::new(3, 5).answer(), None);
    }
}
