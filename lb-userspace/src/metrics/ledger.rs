use std::collections::BTreeMap;

use lb_common::Counter;

/// Counters under the names that an operator gave, which never go backwards.
///
/// The kernel's counters begin anew when a service is withdrawn, or a target's id is given back, and
/// the same name may stand for another one after a reload. What was said once is then added to what
/// the new counter says. What the old one counted after it was last read is lost.
#[derive(Clone, Debug)]
pub struct Ledger<K>(BTreeMap<K, Line>);

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// What earlier counters of this name had counted.
    before: Counter,
    /// What the present one said last.
    last: Counter,
}

impl<K> Default for Ledger<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Ledger<K> {
    /// What to say of `key`, whose counter in the kernel says `now`.
    pub fn total(&mut self, key: K, now: Counter) -> Counter {
        let line = self.0.entry(key).or_default();
        if now.packets < line.last.packets || now.bytes < line.last.bytes {
            line.before += line.last;
        }
        line.last = now;
        let mut total = line.before;
        total += now;
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_begins_anew_goes_on_from_what_was_said() {
        let mut ledger = Ledger::default();
        let mut said = |key, packets| {
            let bytes = packets * 100;
            let total = ledger.total(key, Counter { packets, bytes });
            assert_eq!(total.bytes, total.packets * 100);
            total.packets
        };
        assert_eq!(said("web", 7), 7);
        assert_eq!(said("web", 9), 9);
        assert_eq!(said("web", 0), 9, "withdrawn and published again");
        assert_eq!(said("web", 2), 11);
        assert_eq!(said("web", 1), 12, "and again");
        assert_eq!(said("other", 5), 5);
    }
}
