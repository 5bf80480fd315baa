//! How many flow entries a CPU may write.

/// Entries that this CPU has written in one tick. All zero is the state before the first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Budget {
    tick: u32,
    used: u32,
}

impl Budget {
    /// Asks for one more entry at the tick `now`, of which `limit` are allowed per tick.
    ///
    /// A flood of new flows therefore writes at a bounded rate over the entries of others. One
    /// tick after the other is short enough for that, and needs no division.
    #[inline(always)]
    pub fn allows(&mut self, now: u32, limit: u32) -> bool {
        if self.tick != now {
            *self = Self { tick: now, used: 0 };
        }
        if self.used >= limit {
            return false;
        }
        self.used += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tick_allows_the_limit_and_no_more() {
        let mut budget = Budget::default();
        for now in [0, 1, 2, u32::MAX, 0] {
            let allowed = (0..10).filter(|_| budget.allows(now, 3)).count();
            assert_eq!(allowed, 3, "tick {now}");
        }
    }

    #[test]
    fn a_limit_of_zero_allows_nothing() {
        assert!(!Budget::default().allows(5, 0));
    }
}
