use std::{fmt, time::Duration};

/// How much of its weight counts for a member, in sixteenths: 1 to 16, which is all.
///
/// Few steps, so that a group's ring changes at most 15 times while a member starts slowly.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Ramp(u8);

impl Ramp {
    /// All of it.
    pub const FULL: Self = Self(16);

    /// What counts when a slow start of `length` has gone on for `elapsed`: the part of the time that is
    /// over, rounded down to sixteenths, and one sixteenth at the start.
    pub fn at(elapsed: Duration, length: Duration) -> Self {
        if elapsed >= length {
            return Self::FULL;
        }
        let sixteenths = elapsed.as_nanos().saturating_mul(16) / length.as_nanos();
        Self(u8::try_from(sixteenths).map_or(16, |it| it.clamp(1, 16)))
    }

    /// The number of sixteenths.
    pub fn sixteenths(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/16", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_by_sixteenths_in_step_with_the_time() {
        let length = Duration::from_secs(32);
        let at = |seconds| Ramp::at(Duration::from_secs(seconds), length).sixteenths();
        assert_eq!([0, 1, 2, 3, 4, 5].map(at), [1, 1, 1, 1, 2, 2]);
        assert_eq!([16, 30, 31, 32, 33].map(at), [8, 15, 15, 16, 16]);
    }

    #[test]
    fn no_length_takes_no_time_and_the_longest_takes_its_time() {
        assert_eq!(Ramp::at(Duration::ZERO, Duration::ZERO), Ramp::FULL);
        let half = Ramp::at(Duration::MAX / 2, Duration::MAX);
        assert!([7, 8].contains(&half.sixteenths()), "{half:?}");
    }
}
