use lb_common::{CHUNK, Descriptor};

/// Whole chunks of the ring pool that belong to one ring.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Extent {
    /// First chunk.
    start: usize,
    /// The chunk after the last.
    end: usize,
}

impl Extent {
    /// The chunks that a ring stands in.
    pub(super) fn of(ring: Descriptor) -> Self {
        let first = ring.offset() as usize;
        Self {
            start: first / CHUNK,
            end: (first + ring.length() as usize).div_ceil(CHUNK),
        }
    }

    /// Its slots in the pool.
    pub(super) fn slots(self) -> std::ops::Range<usize> {
        self.start * CHUNK..self.end * CHUNK
    }
}

/// Finds places in the ring pool: first fit, as if the pool had no end, so that a pool that is too
/// small still tells how large it would have to be.
pub(super) struct Pool {
    busy: Vec<Extent>,
}

impl Pool {
    /// A pool in which `busy` is taken.
    pub(super) fn new(busy: impl IntoIterator<Item = Extent>) -> Self {
        let mut busy: Vec<_> = busy.into_iter().collect();
        busy.sort_unstable();
        Self { busy }
    }

    /// Takes room for `length` slots.
    pub(super) fn take(&mut self, length: usize) -> Extent {
        let chunks = length.div_ceil(CHUNK);
        let mut start = 0;
        let mut at = self.busy.len();
        for (i, taken) in self.busy.iter().enumerate() {
            if start + chunks <= taken.start {
                at = i;
                break;
            }
            start = start.max(taken.end);
        }
        let extent = Extent {
            start,
            end: start + chunks,
        };
        self.busy.insert(at, extent);
        extent
    }

    /// Slots up to the end of the last ring.
    pub(super) fn size(&self) -> usize {
        self.busy.iter().map(|e| e.end).max().unwrap_or(0) * CHUNK
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
        let mut pool = Pool::new([extent(5, 6), extent(0, 2), extent(3, 4)]);
        assert_eq!(pool.take(2 * CHUNK), extent(6, 8));
        assert_eq!(pool.take(CHUNK), extent(2, 3));
        assert_eq!(pool.take(1), extent(4, 5));
        assert_eq!(pool.take(CHUNK + 1), extent(8, 10));
        assert_eq!(pool.size(), 10 * CHUNK);
    }

    #[test]
    fn an_extent_covers_its_ring_in_whole_chunks() {
        let ring = Descriptor::new(2 * CHUNK as u32, CHUNK as u32 + 1);
        assert_eq!(Extent::of(ring), extent(2, 4));
        assert_eq!(Extent::of(ring).slots(), 128..256);
    }
}
