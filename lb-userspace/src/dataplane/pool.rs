use lb_common::{CHUNK, Descriptor, Row};

/// Whole chunks of the ring pool that belong to one ring, or elements of RINGS that belong to one
/// row.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Extent {
    /// The first.
    start: usize,
    /// The one after the last.
    end: usize,
}

impl Extent {
    /// The chunks that a ring stands in, with its head.
    pub(super) fn of(ring: Descriptor) -> Self {
        let end = ring.first_slot() as usize + ring.length() as usize;
        Self {
            start: ring.offset() as usize / CHUNK,
            end: end.div_ceil(CHUNK),
        }
    }

    /// The elements of RINGS that a row has.
    pub(super) fn of_row(row: Row) -> Self {
        let start = row.first() as usize;
        Self {
            start,
            end: start.saturating_add(row.classes() as usize),
        }
    }

    /// The number of chunks or elements.
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }

    /// The first chunk or element.
    pub(super) fn start(self) -> usize {
        self.start
    }

    /// Whether a chunk or element is in it.
    pub(super) fn holds(self, element: usize) -> bool {
        (self.start..self.end).contains(&element)
    }

    /// Its slots in the pool.
    pub(super) fn slots(self) -> std::ops::Range<usize> {
        self.start * CHUNK..self.end * CHUNK
    }
}

/// Finds places in the ring pool, or for rows in RINGS: first fit.
pub(super) struct Pool {
    size: usize,
    /// Slots in a chunk, or 1.
    unit: usize,
    busy: Vec<Extent>,
    /// Units of the shortest ring that found no place: longer ones need not be tried.
    refused: usize,
}

impl Pool {
    /// A pool of `size` slots in which `busy` is taken.
    pub(super) fn new(size: usize, busy: impl IntoIterator<Item = Extent>) -> Self {
        Self::of(CHUNK, size, busy)
    }

    /// `size` elements of RINGS of which `busy` are taken.
    pub(super) fn of_rows(size: usize, busy: impl IntoIterator<Item = Extent>) -> Self {
        Self::of(1, size, busy)
    }

    fn of(unit: usize, size: usize, busy: impl IntoIterator<Item = Extent>) -> Self {
        let mut busy: Vec<_> = busy.into_iter().collect();
        busy.sort_unstable();
        let refused = usize::MAX;
        Self {
            size,
            unit,
            busy,
            refused,
        }
    }

    /// Takes room for `length` slots or elements, if there is any.
    pub(super) fn take(&mut self, length: usize) -> Option<Extent> {
        let units = length.div_ceil(self.unit);
        if units >= self.refused {
            return None;
        }
        let (at, extent) = self.place(units);
        if extent.end * self.unit > self.size {
            self.refused = units;
            return None;
        }
        self.busy.insert(at, extent);
        Some(extent)
    }

    /// Takes room for each of these lengths, if there is room for all.
    pub(super) fn take_all(&mut self, lengths: &[usize]) -> Option<Vec<Extent>> {
        let before = (lengths.len() > 1).then(|| (self.busy.clone(), self.refused));
        let extents = lengths.iter().map(|length| self.take(*length)).collect();
        if let (None, Some((busy, refused))) = (&extents, before) {
            (self.busy, self.refused) = (busy, refused);
        }
        extents
    }

    /// The slots or elements that there would have to be to take these lengths, too.
    pub(super) fn size_with(&self, lengths: &[usize]) -> usize {
        let mut pool = Self {
            size: usize::MAX,
            unit: self.unit,
            busy: self.busy.clone(),
            refused: usize::MAX,
        };
        let extents = pool.take_all(lengths).unwrap_or_default();
        let ends = extents.into_iter().map(|extent| extent.end);
        ends.max().unwrap_or(0) * self.unit
    }

    /// The first gap that is large enough, and where it stands among the others.
    fn place(&self, units: usize) -> (usize, Extent) {
        let mut start = 0;
        let mut at = self.busy.len();
        for (i, taken) in self.busy.iter().enumerate() {
            if start + units <= taken.start {
                at = i;
                break;
            }
            start = start.max(taken.end);
        }
        let end = start + units;
        (at, Extent { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: usize, end: usize) -> Extent {
        Extent { start, end }
    }

    #[test]
    fn the_first_gap_that_is_large_enough_is_taken() {
        let mut pool = Pool::new(10 * CHUNK, [extent(5, 6), extent(0, 2), extent(3, 4)]);
        assert_eq!(pool.take(2 * CHUNK), Some(extent(6, 8)));
        assert_eq!(pool.take(CHUNK), Some(extent(2, 3)));
        assert_eq!(pool.take(1), Some(extent(4, 5)));
        assert_eq!(pool.take(CHUNK + 1), Some(extent(8, 10)));
        assert_eq!(pool.take(1), None);
    }

    #[test]
    fn a_ring_that_finds_no_place_leaves_room_for_shorter_ones() {
        let mut pool = Pool::new(5 * CHUNK, [extent(1, 3)]);
        assert_eq!(pool.take(3 * CHUNK), None);
        assert_eq!(pool.size_with(&[3 * CHUNK]), 6 * CHUNK);
        assert_eq!(pool.size_with(&[1, 3 * CHUNK, 2 * CHUNK]), 8 * CHUNK);
        assert_eq!(pool.take_all(&[1, 3 * CHUNK]), None, "all or none");
        assert_eq!(pool.take(2 * CHUNK), Some(extent(3, 5)));
        assert_eq!(pool.take(1), Some(extent(0, 1)));
    }

    #[test]
    fn an_extent_covers_its_ring_in_whole_chunks() {
        let ring = Descriptor::new(2 * CHUNK as u32, CHUNK as u32 + 1);
        assert_eq!(Extent::of(ring), extent(2, 4));
        assert_eq!(Extent::of(ring).slots(), 128..256);
    }
}
